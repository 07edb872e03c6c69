"""What every call passes first: a token with the scope, within its limit, and a body that is one JSON document."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, NoReturn

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponseBase, UnreadablePostError
from ninja.security import HttpBearer

from notifications.api import limits, tokens
from notifications.api.problems import Problem, of_status
from notifications.models import ApiToken

logger = logging.getLogger(__name__)

# Of one process: each request needs a connection of its own, and a server has about a hundred for everybody.
ROOM: Final = threading.BoundedSemaphore(16)
WAIT_S: Final = 10.0
# Every name that any call takes in its address: a misspelt `after` must not begin the feed anew.
NAMES: Final = frozenset({"after", "limit", "notification_id", "report_id", "workspace"})


class Gate(HttpBearer):
    """Let in who has the scope. The token becomes `request.auth`."""

    def __init__(self, scope: str) -> None:
        super().__init__()
        self.scope = scope

    def __call__(self, request: HttpRequest) -> ApiToken:
        """Give the token, or raise the Problem that says what is in the way; cheap checks first."""
        kind, _, text = request.headers.get("Authorization", "").partition(" ")
        try:
            if kind.lower() != "bearer" or not text:
                raise Problem("unauthenticated", "The request carries no bearer token.")
            token = self.authenticate(request, text.strip())
            request.rate_headers = limits.take(token)  # type: ignore[attr-defined]
            _check_names(request)
            if request.method == "POST":
                request.document = document_of(request)  # type: ignore[attr-defined]
        except Problem as problem:
            _note(request, problem, text)
            raise
        return token

    def authenticate(self, _request: HttpRequest, token: str) -> ApiToken:
        """Give the token's row if it counts and has the scope. Raises Problem."""
        row = tokens.authenticate(token)
        if self.scope not in row.scopes:
            raise Problem("missing_scope", f"The token has no scope {self.scope}.", hint=f"It needs: {self.scope}.")
        return row


def _check_names(request: HttpRequest) -> None:
    for name, values in request.GET.lists():
        if name not in NAMES:
            raise Problem("invalid", "The address has an unknown parameter.", f"Known: {', '.join(sorted(NAMES))}.")
        if len(values) > 1:
            raise Problem("invalid", f"{name} stands twice in the address.", field_=name)


def _note(request: HttpRequest, problem: Problem, text: str) -> None:
    shape = tokens.SHAPE.fullmatch(text.strip())
    said = {"action": "api_refused", "code": problem.code, "path": request.path, "token": shape[1] if shape else ""}
    logger.warning("api: refused %s", problem.code, extra=said)


def document_of(request: HttpRequest) -> Any:
    """Give the body as JSON. Raises Problem for what is too large, not JSON, or means two things at once."""
    if request.content_type != "application/json":
        raise Problem("unsupported_media_type", "The body's type is not application/json.")
    try:
        return json.loads(_body(request), object_pairs_hook=_without_twins, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Problem("malformed", "The body is not one JSON document in UTF-8, or has a key twice.") from None


def _body(request: HttpRequest) -> str:
    try:
        return request.body.decode("utf-8")
    except RequestDataTooBig:
        raise Problem("too_large", f"The body has more than {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes.") from None
    except UnreadablePostError:  # the sender went away: nobody hears the answer
        raise Problem("malformed", "The body ended early.") from None


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _no_number(_name: str) -> NoReturn:
    raise ValueError("not a number of JSON")


def workspace_of(token: ApiToken, wanted: str | None) -> str:
    """Give the workspace that a request is about. Raises Problem where the token is not bound to it."""
    if wanted is None:
        wanted = token.workspaces[0] if len(token.workspaces) == 1 and token.workspaces != ["*"] else ""
    if not token.reaches(wanted):
        named = f"workspace {wanted}" if wanted else "the default workspace"
        raise Problem("workspace_refused", f"The token is not bound to {named}.", field_="options.workspace")
    return wanted


def workspaces_of(token: ApiToken) -> list[str] | None:
    """Give the workspaces that a token may read; None means all."""
    return None if "*" in token.workspaces else list(token.workspaces)


def roomed(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Give the view with the limit's headers, and no more of it at once than the database has connections for."""

    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not ROOM.acquire(timeout=WAIT_S):
            return Problem("unavailable", "All places are taken.", headers={"Retry-After": "2"}).response()
        try:
            answer = view(request, *args, **kwargs)
        finally:
            ROOM.release()
        if answer.status_code == 405:
            allowed = answer["Allow"]
            answer = of_status(405).response()
            answer["Allow"] = allowed
        for name, value in getattr(request, "rate_headers", {}).items():
            answer[name] = value
        answer["Cache-Control"] = "no-store"
        return answer

    return inner
