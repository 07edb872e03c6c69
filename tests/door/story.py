"""One intent and its log, written through the door on one connection, as the tests of door and doctor need it."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from notifications.door import Entry, append_call
from notifications.states import EntryKind, State

BODY = b'{"subject": "Q3"}'
_numbers = itertools.count(1)
# Every login of the site with what it may write, as grants.sql states it.
DOOR_ROLES = {
    "owner": ("worker", "person", "receipt", "intake"),
    "worker": ("worker", "receipt", "intake"),
    "web": ("person", "intake"),
    "writer": ("intake",),
}


def state_rights(connection: psycopg.Connection[Any]) -> None:
    """Write the door's roles as the owner; a flushed test database has lost them."""
    for role, writers in DOOR_ROLES.items():
        for who in writers:
            connection.execute(
                "INSERT INTO notifyops_private.notifications_doorrole (role, who) VALUES (%s, %s) "
                "ON CONFLICT DO NOTHING",
                (f"notifyops_test_{role}", who),
            )
        if role != "writer":
            connection.execute(
                "INSERT INTO notifyops_private.notifications_workspacegrant (role, workspace) VALUES (%s, '*') "
                "ON CONFLICT DO NOTHING",
                (f"notifyops_test_{role}",),
            )


@dataclass(slots=True)
class Story:
    """One intent. `attempts` counts the claims of `claim`, and so is the fence of the last one."""

    connection: psycopg.Connection[Any]
    kind: str = "report_ready"
    id: int = 0
    name: str = field(default_factory=lambda: f"story-{next(_numbers)}")
    attempts: int = 0

    def enqueue(self, **options: str) -> Story:
        """Owe the notification."""
        row = self.connection.execute(
            "SELECT id FROM notifyops.enqueue(%s, %s, 'ana@example.com', %s, %s)",
            (self.kind, self.name, Jsonb({"title": "Q3"}), Jsonb(options)),
        ).fetchone()
        assert row is not None
        self.id = row[0]
        return self

    def append(
        self, kind: EntryKind, to: State | None = None, *, actor: str | None = None, **columns: Any
    ) -> str | None:
        """Append any entry; give the word of refusal, or None where it was written."""
        query, values = append_call(kind, [Entry(id=self.id, to_state=to, **columns)], worker="w1", actor=actor)
        row = self.connection.execute(query.encode(), values).fetchone()
        assert row is not None
        return None if row[-1] is None else str(row[-1])

    def column(self, name: str) -> Any:
        """Give one column of the intent."""
        row = self.connection.execute(
            f"SELECT {name} FROM notifyops_private.notifications_intent WHERE id = %s".encode(), (self.id,)
        ).fetchone()
        assert row is not None
        return row[0]

    @property
    def seq(self) -> int:
        """The number of the last entry."""
        return int(self.column("seq"))

    def claim(self, *, lease_s: float = 60) -> Story:
        """Begin an attempt."""
        frozen: dict[str, Any] = {}
        if not self.attempts:
            frozen = {
                "body": BODY,
                "detail": {"sha256": hashlib.sha256(BODY).hexdigest()},
                "subject": "Q3",
                "template_version": "1",
                "site_mode": "sandbox",
            }
        assert self.append(EntryKind.CLAIMED, State.SENDING, delay_s=lease_s, **frozen) is None
        self.attempts += 1
        return self

    def result(self, outcome: str, to: State, **columns: Any) -> Story:
        """End the attempt."""
        given: dict[str, Any] = {"known": outcome, "fence": self.attempts, "code": "unknown.deadline", **columns}
        if to is State.NEEDS_REVIEW:
            given = {"next_action": "query_provider", **given}
        assert self.append(EntryKind.RESULT, to, outcome=outcome, phase="request_written", **given) is None
        return self

    def accepted(self, message_id: str | None = None, **columns: Any) -> Story:
        """Claim, and get the provider's word."""
        self.claim()
        given = {"provider_message_id": message_id or f"pm-{self.name}", "code": None, **columns}
        return self.result("accepted", State.ACCEPTED, **given)

    def evidence(self, answer: str = "not_found", *ids: str, **columns: Any) -> Story:
        """Keep what the provider answered."""
        detail = {"method": "scan", "ids": list(ids)}
        assert self.append(EntryKind.EVIDENCE, outcome=answer, detail=detail, **columns) is None
        return self

    def unknown(self, to: State = State.RETRY, *, window_s: float = 3600) -> Story:
        """Claim, and lose the answer."""
        self.claim()
        return self.result("unknown", to, ambiguous=True, window_s=window_s, delay_s=0, failure=True)
