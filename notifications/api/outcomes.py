"""`/outcomes`: what became of the token's notifications, in order."""

from __future__ import annotations

from typing import Any, Final

from django.db import connection
from ninja import Query, Router

from notifications.api.gate import Gate, workspaces_of
from notifications.api.intents import Asker
from notifications.api.reading import Page, rows
from notifications.api.schemas import Outcomes

router = Router(tags=["outcomes"])
# Entries that one call looks at: some ten milliseconds, however few of them are the token's.
WINDOW: Final = 20_000
_WINDOW: Final = "SELECT notifyops_private.feed_window_v1(%s, %s), f.horizon FROM notifyops_private.feed_horizon f"


@router.get("", response=Outcomes, auth=Gate("read"), summary="What became of them")
def outcomes(request: Asker, page: Query[Page]) -> dict[str, Any]:
    """Give what became of the notifications of the token's workspaces since `after`, oldest first.

    Nothing is skipped and nothing comes twice to one who goes on from `next_after`: an entry appears only once no
    transaction can commit one before it any more, usually within a second.
    """
    with connection.cursor() as cursor:
        cursor.execute(_WINDOW, [page.after, WINDOW])
        row = cursor.fetchone()
    assert row is not None
    upto, horizon = row
    if upto is None:
        return {"items": [], "next_after": page.after, "has_more": False}
    query = "SELECT * FROM notifyops_private.outcomes_v1(%(after)s, %(upto)s, %(limit)s, %(spaces)s::text[])"
    named = {"after": page.after, "upto": upto, "limit": page.limit, "spaces": workspaces_of(request.auth)}
    items = rows(query, named)
    is_full = len(items) == page.limit
    next_after = items[-1]["position"] if is_full else upto
    return {"items": items, "next_after": next_after, "has_more": next_after < horizon}
