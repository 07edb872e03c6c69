"""What the API reads: the public views, within the token's workspaces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final

from django.db import DatabaseError, connection
from ninja import Schema
from pydantic import Field

from notifications.api.gate import workspaces_of
from notifications.api.problems import Problem
from notifications.api.refusals import problem_of
from notifications.api.schemas import AnyKey, Links, Report, Workspace
from notifications.models import ApiToken
from notifications.outbox_errors import refusal_of

_INTENT: Final = """
    SELECT v.intent_id AS id, v.id AS notification_id, v.report_id, v.type, v.workspace, v.channel, v.status AS state,
        v.delivery_status, v.known, v.last_error_code AS error_code, v.next_action, v.attempts, v.generation,
        v.next_attempt_at, v.provider_message_id, v.expires_at, v.supersedes, v.seq, v.created_at
    FROM notifyops.intents v WHERE (%(spaces)s::text[] IS NULL OR v.workspace = ANY (%(spaces)s))
"""
_BY_KEY: Final = """
    AND v.intent_id = ANY (ARRAY(SELECT k.intent_id FROM notifyops_private.notifications_intentkey k
        WHERE k.{column} = %(wanted)s AND (%(space)s::text IS NULL OR k.workspace = %(space)s)))
    AND v.intent_id > %(after)s ORDER BY v.intent_id LIMIT %(limit)s
"""
_LOG: Final = """
    SELECT l.seq, l.at, l.kind, l.from_state, l.to_state, l.attempt, l.generation, l.trigger, l.outcome, l.code,
        l.phase, l.http_status, l.duration_ms, l.provider_message_id, l.reason_code, encode(l.hash, 'hex') AS hash
    FROM notifyops_private.notifications_logentry l JOIN notifyops_private.notifications_intent i
        ON i.id = l.intent_id AND i.month = l.month
    WHERE i.id = %(intent)s AND l.seq > %(after)s ORDER BY l.seq LIMIT %(limit)s
"""
_ATTACHED: Final = """
    SELECT place, media_type, size, sha256, is_here FROM notifyops.attachments
    WHERE intent_id = %(intent)s ORDER BY place
"""
Linked = Callable[[int], Links]
# bigint's own end.
LARGEST: Final = 9_223_372_036_854_775_807
After = Annotated[int, Field(ge=0, le=LARGEST)]


class Page(Schema):
    """A part of a list."""

    after: After = Field(0, description="`next_after` of the part before; 0 begins at the beginning.")
    limit: int = Field(100, ge=1, le=1000)


class Asked(Page):
    """By what a notification is looked for."""

    notification_id: AnyKey | None = None
    report_id: Report | None = None
    workspace: Workspace | None = Field(default=None, description="Only in this one; default: all of the token's.")


def found(token: ApiToken, asked: Asked, linked: Linked) -> dict[str, Any]:
    """Give the notifications of a key or a report. Raises Problem where neither or both are named."""
    if (asked.notification_id is None) == (asked.report_id is None):
        raise Problem("invalid", "Name either notification_id or report_id.", field_="notification_id")
    if asked.workspace is not None and not token.reaches(asked.workspace):
        raise Problem("workspace_refused", "The token is not bound to that workspace.", field_="workspace")
    column, wanted = ("key", asked.notification_id) if asked.notification_id else ("report_id", asked.report_id)
    named = {"wanted": wanted, "space": asked.workspace, "after": asked.after, "limit": asked.limit + 1}
    found_rows = rows(_INTENT + _BY_KEY.format(column=column), named | {"spaces": workspaces_of(token)})
    items = [row | {"links": linked(row["id"])} for row in found_rows[: asked.limit]]
    return {"items": items, "next_after": items[-1]["id"] if len(found_rows) > asked.limit else None}


def one(token: ApiToken, intent: int, linked: Linked) -> dict[str, Any]:
    """Give one notification. Raises Problem where it is none of the token's: nobody learns that it exists."""
    found_rows = [] if intent > LARGEST else rows(f"{_INTENT} AND v.intent_id = %(intent)s", _named(token, intent))
    if not found_rows:
        raise Problem("unknown_intent", f"There is no notification {intent} in the token's workspaces.")
    return found_rows[0] | {"links": linked(intent)}


def whole(token: ApiToken, intent: int, linked: Linked) -> dict[str, Any]:
    """Give one notification with what is attached to it. Raises Problem as `one` does."""
    return one(token, intent, linked) | {"attachments": rows(_ATTACHED, {"intent": intent})}


def key_of(token: ApiToken, intent: int) -> tuple[str, str]:
    """Give workspace and key of one notification. Raises Problem as `one` does."""
    row = one(token, intent, lambda _intent: Links(self="", log="", cancel="", case=""))
    return row["workspace"], row["notification_id"]


def story(token: ApiToken, intent: int, page: Page) -> dict[str, Any]:
    """Give a part of one notification's log. Raises Problem as `one` does."""
    key_of(token, intent)
    named = {"intent": intent, "after": min(page.after, 2_147_483_647), "limit": page.limit + 1}
    found_rows = rows(_LOG, named)
    items = found_rows[: page.limit]
    return {"items": items, "next_after": items[-1]["seq"] if len(found_rows) > page.limit else None}


def _named(token: ApiToken, intent: int) -> dict[str, Any]:
    return {"spaces": workspaces_of(token), "intent": intent}


def rows(query: str, named: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the rows of a query by column name."""
    with connection.cursor() as cursor:
        cursor.execute(query, named)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@contextmanager
def refusing() -> Iterator[None]:
    """Turn the database's own refusals into problems."""
    try:
        yield
    except DatabaseError as error:
        refusal = refusal_of(error)
        if refusal is None:
            raise
        raise problem_of(refusal) from None
