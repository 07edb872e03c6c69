"""Keep verified events: each once, parked for applying where it may concern a message of this site."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from django.db import connection

from notifications.receipts.parse import Told

Source = Literal["webhook", "catch_up"]
_RECEIVE: Final = "SELECT notifyops_private.receive_v1(%s, %s::jsonb, %s)"


_SENDER: Final = """
SELECT id, name, kind, webhook_secret_refs FROM notifyops_private.notifications_provideraccount WHERE name = %s
"""


class Sender(NamedTuple):
    """An account as far as its events need it: its secrets are still references."""

    id: int
    name: str
    kind: str
    webhook_secret_refs: str


def sender(name: str) -> Sender | None:
    """Give the account of that name, without its model, which costs as much as all the rest. Raises DatabaseError."""
    with connection.cursor() as cursor:
        cursor.execute(_SENDER, [name])
        row = cursor.fetchone()
    return None if row is None else Sender(*row)


class Verified(NamedTuple):
    """One event with its id and the bytes that were verified; the bytes are hashed and go no further."""

    event_id: str
    body: bytes
    told: Told


def receive(account_id: int, events: Sequence[Verified], *, site: str, source: Source) -> int:
    """Keep these events of one account in one statement; give how many were new. Raises DatabaseError."""
    if not events:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(_RECEIVE, [account_id, json.dumps([_row(event, site) for event in events]), source])
        new: int = cursor.fetchone()[0]
    return new


def _row(event: Verified, site: str) -> dict[str, Any]:
    told = event.told
    return {
        "event_id": event.event_id,
        "type": told.type,
        "occurred_at": told.occurred_at.isoformat() if told.occurred_at else None,
        "provider_message_id": told.provider_message_id,
        "tag_site": told.tag_site,
        "tag_intent": told.tag_intent,
        "tag_generation": told.tag_generation,
        "tag_root": told.tag_root,
        "bounce_class": told.bounce_class,
        "code": told.code,
        "sha256": hashlib.sha256(event.body).hexdigest(),
        # Another site on the same account is no business of ours; without a tag the id may still be known here.
        "parked": told.says is not None and told.tag_site in (None, site),
    }
