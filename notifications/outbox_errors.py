"""Why an enqueue or a cancel was refused, as exceptions named by what happened.

The database refuses with an SQLSTATE of its own class `NO` and says in DETAIL which field is at fault; Python's own
checks raise the same exceptions before anything is sent.
"""

from __future__ import annotations

import re
from typing import Final, Self

import psycopg
from django.db import DatabaseError


class EnqueueError(Exception):
    """Nothing was written, and the caller's transaction is still usable.

    `sentence` says what is wrong, `hint` how to mend it, `field` which argument it concerns (as `data.title` or
    `options.locale`), all without repeating addresses or content.
    """

    def __init__(self, sentence: str, *, hint: str, field: str = "") -> None:
        super().__init__(f"{sentence}. {hint}" if hint else f"{sentence}.")
        self.sentence = sentence
        self.hint = hint
        self.field = field
        self.existing = ""


class KeyReused(EnqueueError):
    """The key, or the report and type, belong to a notification with other content; `existing` is its id."""

    @classmethod
    def of(cls, sentence: str, *, hint: str, existing: str) -> Self:
        """Give the refusal with the id of the notification that stands in the way."""
        refusal = cls(sentence, hint=hint)
        refusal.existing = existing
        return refusal


class UnknownType(EnqueueError):
    """This installation declares no such type, or has retired it."""


class UnknownNotification(EnqueueError):
    """The workspace has no notification of that key."""


class InvalidRecipient(EnqueueError):
    """The recipient is not one plain address that can be sent to."""


class PayloadTooLarge(EnqueueError):
    """The data, or the list of items, is larger than one call may carry."""


class SchemaError(EnqueueError):
    """An argument, an option or a part of `data` does not have the form it must have."""


class WorkspaceRefused(EnqueueError):
    """The database role of this connection has no grant for the workspace."""


class NotInTransaction(EnqueueError):
    """The enqueue would commit by itself, beside a business change that may still fail."""


_FIELD: Final = re.compile(r"field: ([^,]+)")
_EXISTING: Final = re.compile(r"existing: (\S+)")


def refusal_of(error: DatabaseError) -> EnqueueError | None:
    """Give the refusal that a database error stands for; None where it is any other error (a lock, a lost server)."""
    cause = error.__cause__
    state = cause.sqlstate if isinstance(cause, psycopg.Error) else None
    if not isinstance(cause, psycopg.Error) or state is None or not state.startswith("NO"):
        return None
    sentence, hint = cause.diag.message_primary or "refused", cause.diag.message_hint or ""
    detail = cause.diag.message_detail or ""
    if state == "NO422":
        found = _EXISTING.search(detail)
        return KeyReused.of(sentence, hint=hint, existing=found[1] if found else "")
    named = _FIELD.search(detail)
    field = named[1] if named else ""
    return _class_of(state, field)(sentence, hint=hint, field=field)


def _class_of(state: str, field: str) -> type[EnqueueError]:
    match state:
        case "NO403":
            return WorkspaceRefused
        case "NO404":
            return UnknownNotification if field == "key" else UnknownType
        case "NO413":
            return PayloadTooLarge
        case _:
            return InvalidRecipient if field == "recipient" else SchemaError
