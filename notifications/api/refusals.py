"""From what went wrong to the problem that the caller gets."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any, Final

from django.db import DatabaseError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from notifications.api.problems import Problem, of_status
from notifications.outbox_errors import (
    EnqueueError,
    InvalidRecipient,
    KeyReused,
    PayloadTooLarge,
    UnknownNotification,
    UnknownType,
    WorkspaceRefused,
)

logger = logging.getLogger(__name__)

_CODES: Final[Mapping[type[EnqueueError], str]] = {
    KeyReused: "key_reused",
    UnknownType: "unknown_type",
    UnknownNotification: "unknown_intent",
    InvalidRecipient: "invalid_recipient",
    PayloadTooLarge: "too_large",
    WorkspaceRefused: "workspace_refused",
}
# A conflict with another transaction: serialization, deadlock, a lock that did not come, a server that stops.
_PASSING: Final = ("40001", "40P01", "55P03", "57P01", "57P03", "57014", "53300")
MOST_ERRORS: Final = 20
_PLAIN: Final = re.compile(r"[A-Za-z0-9_]{1,40}", re.ASCII)


def problem_of(refusal: EnqueueError) -> Problem:
    """Give the problem that a refusal of the intake stands for."""
    more = {"existing": refusal.existing} if refusal.existing else {}
    code = _CODES.get(type(refusal), "invalid")
    return Problem(code, f"{refusal.sentence}.", _for_callers(refusal.hint), refusal.field, more)


def _for_callers(hint: str) -> str:
    """Name the call in the place of the command: who asks over HTTP has no terminal on the host."""
    return hint.replace("manage.py notify types", "GET /api/v1/types")


def problem_of_fields(error: ValidationError) -> Problem:
    """Say which fields are not as they must be; what was given is not repeated."""
    found = [_error(one) for one in error.errors[:MOST_ERRORS]]
    first = found[0]
    detail = f"{first['field']}: {first['message']}" if first["field"] else first["message"]
    hint = "" if first["field"] else "Leave out what is not known here: /api/v1/docs has the fields of each call."
    return Problem("invalid", f"{detail}.", hint, field_=first["field"], more={"errors": found})


def _error(one: Mapping[str, Any]) -> dict[str, str]:
    # First where it was found (body, query, path), and in a body the name of our own function's argument.
    place = [str(part) for part in one["loc"][2 if one["loc"][0] == "body" else 1 :]]
    message = str(one["msg"])
    if one["type"] == "extra_forbidden":
        # The name is the caller's own word, and might be anything: one that cannot be an address is told.
        if _PLAIN.fullmatch(place[-1]):
            message = "an unknown field"
        else:
            place, message = place[:-1], f"an unknown field of {len(place[-1])} characters"
    return {"field": ".".join(place)[:120], "message": message}


def problem_of_database(error: DatabaseError) -> Problem | None:
    """Give the problem where trying again may help; None for a fault."""
    state = getattr(error.__cause__, "sqlstate", None)
    if state == "55P03":
        detail = "Another transaction is writing the same and has not ended: nothing was done. Try again."
        return Problem("unavailable", detail, headers={"Retry-After": "2"})
    if isinstance(error, OperationalError) or state in _PASSING:
        return Problem("unavailable", "The database could not do it just now.", headers={"Retry-After": "2"})
    return None


def install(api: NinjaAPI) -> None:
    """Give the API its answers to everything that may be raised."""

    def answer(_request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
        assert isinstance(error, Exception)
        problem = _problem(error)
        if problem.status >= 500:
            logger.error("api: failed", exc_info=error, extra={"action": "api_failed", "code": problem.code})
        return problem.response()

    for kind in (Problem, EnqueueError, ValidationError, Http404, HttpError, DatabaseError, Exception):
        api.add_exception_handler(kind, answer)


def _problem(error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case EnqueueError():
            return problem_of(error)
        case ValidationError():
            return problem_of_fields(error)
        case Http404():
            return Problem("not_found")
        case HttpError():
            return of_status(error.status_code)
        case DatabaseError():
            return problem_of_database(error) or Problem("internal")
        case _:
            return Problem("internal")
