"""An account whose circuit is open, and another one that was named to take over from it."""

from __future__ import annotations

from typing import Any

from tests.door.conftest import Owner
from tests.door.story import Story

_SPARE = """
INSERT INTO notifyops_private.notifications_provideraccount AS a (name, kind, channel, sender, api_key_ref)
VALUES ('spare', 'resend', 'email', 'Acme <reports@example.com>', '') ON CONFLICT (name) DO UPDATE SET kind = a.kind
RETURNING id
"""
_NAMED = """
UPDATE notifyops_private.notifications_provideraccount SET fallback_id = %s, fallback_after_s = %s WHERE id = %s
"""
_OPEN = """
INSERT INTO notifyops_private.notifications_circuit (account_id, open_until, reason)
VALUES (%s, notifyops_private.clock_v1() + interval '1 hour', 'outage')
ON CONFLICT (account_id) DO UPDATE SET open_until = excluded.open_until, reason = excluded.reason
"""


def down(owner: Owner, story: Story, *, after_s: float = 0.0) -> Story:
    """Name a fallback for the story's account, and open its circuit."""
    account = story.column("account_id")
    row = owner.execute(_SPARE).fetchone()
    assert row is not None
    owner.execute(_NAMED, (row[0], after_s, account))
    owner.execute(_OPEN, (account,))
    return story


def told(story: Story) -> dict[str, Any]:
    """Give what the entry of its failover says."""
    row = story.connection.execute(
        "SELECT a.id, f.id, a.name, f.name FROM notifyops_private.notifications_provideraccount a "
        "LEFT JOIN notifyops_private.notifications_provideraccount f ON f.id = a.fallback_id WHERE a.id = %s",
        (story.column("account_id"),),
    ).fetchone()
    assert row is not None
    return {"from_id": row[0], "to_id": row[1], "from": row[2], "to": row[3], "why": "outage"}
