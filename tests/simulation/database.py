"""The real connections behind a simulation: kept from schedule to schedule, lent to one process after the other."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import psycopg
from psycopg.types.json import Jsonb

from notifications import door
from notifications.delivery.link import PINNED
from notifications.states import EntryKind, State

Session = psycopg.Connection[Any]

# Every schedule plays within two months from here; the log has partitions for them.
EPOCH: Final = datetime(2026, 3, 1, 6, tzinfo=UTC)
# Who would wait for a row's lock hears so at once, and comes again at a later turn. Idle transactions are ended by the
# world's clock, not by ours.
SETTINGS: Final = (
    "SELECT set_config('lock_timeout', '4ms', false), set_config('idle_in_transaction_session_timeout', '0', false)"
)
_CLOCK: Final = "SELECT set_config('notifyops_test.now', %s, false)"
_ACCOUNT: Final = """
INSERT INTO notifyops_private.notifications_provideraccount
    (name, kind, channel, sender, api_key_ref, declares_receipts)
VALUES (%(name)s, 'simulated', %(channel)s, 'Acme <reports@example.com>', '', true) RETURNING id
"""
_FALLBACK: Final = (
    "UPDATE notifyops_private.notifications_provideraccount SET fallback_id = %s, fallback_after_s = %s WHERE id = %s"
)
# The chores ask about every account's messages, and must not find another world's.
_OPEN: Final = """
SELECT id, seq FROM notifyops_private.notifications_intent
WHERE account_id = ANY (%s) AND (state = 'needs_review' OR confirm_at IS NOT NULL
    OR (state = 'accepted' AND delivery_status IN ('none', 'deferred')))
"""


class Database:
    """Sessions of each role, and what the simulation itself does as the owner."""

    def __init__(self, url: Callable[[str], str]) -> None:
        self._url = url
        self._free: dict[str, list[Session]] = defaultdict(list)
        self._all: list[Session] = []
        self.owner = self._opened("owner")
        self.owner.execute("SET notifyops_test.now = '2026-03-01T00:00:00Z'")
        self.owner.execute("SELECT notifyops_private.ensure_partitions_v1()")
        for table in ("intent", "content", "prepared", "circuit", "intentkey", "parkedreceipt", "question"):
            # A vacuum's short locks would make schedules differ; statistics of empty tables, their plans.
            self.owner.execute(
                f"ALTER TABLE notifyops_private.notifications_{table} SET (autovacuum_enabled = off)".encode()
            )

    def lend(self, role: str, seed: float) -> Session:
        """Give a session of the role, whose own dice begin at `seed`."""
        session = self._free[role].pop() if self._free[role] else self._opened(role)
        session.execute("SELECT setseed(%s)", (seed,))
        return session

    def give_back(self, role: str, session: Session) -> None:
        """Take a session back; whatever it had open is rolled back, as the server does for a lost client."""
        if session.closed or session.broken:
            return
        session.rollback()
        self._free[role].append(session)

    def put_away(self, accounts: list[int]) -> None:
        """Close what a world has left open, so that the next one's chores do not ask about it."""
        self.owner.execute("DELETE FROM notifyops_private.notifications_parkedreceipt")
        self.owner.execute("DELETE FROM notifyops_private.notifications_question")
        self.owner.execute("DELETE FROM notifyops_private.notifications_pause")
        # Every chore would tend it, and find nothing of its own.
        self.owner.execute("DELETE FROM notifyops_private.notifications_recovery")
        left = self.owner.execute(_OPEN, (accounts,)).fetchall()
        entries = [
            door.Entry(id=intent, to_state=State.CLOSED, seq=seq, reason_code="test_data") for intent, seq in left
        ]
        door.append(EntryKind.CLOSED, entries, actor="user:olga")

    def new_account(self, name: str) -> int:
        """Make a provider's account with a channel of its own: a schedule sees nothing of the others."""
        row = self.owner.execute(_ACCOUNT, {"name": name, "channel": name}).fetchone()
        assert row is not None
        return int(row[0])

    def new_fallback(self, account: int, channel: str, after_s: float) -> int:
        """Make the account that takes over from this one, once it was not called for so long."""
        row = self.owner.execute(_ACCOUNT, {"name": f"{channel}-spare", "channel": channel}).fetchone()
        assert row is not None
        self.owner.execute(_FALLBACK, (row[0], after_s, account))
        return int(row[0])

    def close(self) -> None:
        """Close every session."""
        for session in self._all:
            with contextlib.suppress(psycopg.Error):
                session.close()

    def _opened(self, role: str) -> Session:
        session: Session = psycopg.connect(self._url(role), autocommit=True, prepare_threshold=1)
        session.execute(PINNED)
        session.execute(SETTINGS)
        self._all.append(session)
        return session


def at(seconds: float, start: timedelta) -> datetime:
    """Give the moment that a world's second stands for."""
    return EPOCH + start + timedelta(seconds=seconds)


def set_clock(session: Session, now: datetime) -> None:
    """Let a session's shipped functions see this moment."""
    session.execute(_CLOCK, (now.isoformat(),))


def enqueue_values(item: dict[str, Any]) -> tuple[str, list[Any]]:
    """Give the call that owes one notification."""
    query = "SELECT id, created FROM notifyops.enqueue(%s, %s, %s, %s, %s)"
    return query, [item["kind"], item["report"], item["to"], Jsonb({"title": "Q3"}), Jsonb(item["options"])]
