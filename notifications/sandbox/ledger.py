"""The oracle: what was really accepted under each idempotency key, and the keys that are still remembered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from notifications.sandbox.clock import postgres_form
from notifications.sandbox.refusals import Refusal
from notifications.sandbox.wire import Answer


@dataclass(slots=True)
class Row:
    """What one key has seen. `accepted` counts messages that are on their way, never answers."""

    accepted: int = 0
    ids: list[str] = field(default_factory=list)
    http_requests: int = 0
    replays: int = 0
    first_at_s: float | None = None

    def shown(self, key: str) -> dict[str, Any]:
        return {
            "key": key,
            "accepted": self.accepted,
            "ids": list(self.ids),
            "http_requests": self.http_requests,
            "replays": self.replays,
            "first_at": None if self.first_at_s is None else postgres_form(self.first_at_s),
        }


class Ledger:
    """Rows by key; nothing is ever forgotten here, whatever the clock says."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}

    def of(self, key: str) -> Row:
        """Give the key's row to write on."""
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = Row()
        return row

    def rows(self) -> Iterator[tuple[str, Row]]:
        yield from self._rows.items()

    def copy_of(self, key: str) -> Row:
        """Give the key's row to read; zeros for a key that was never seen."""
        row = self._rows.get(key, Row())
        return replace(row, ids=list(row.ids))

    def shown(self, key: str) -> dict[str, Any]:
        """Give the key's row as JSON; zeros for a key that was never seen."""
        return self._rows.get(key, Row()).shown(key)

    def totals(self) -> dict[str, Any]:
        """Give the sums over all keys, and the keys (up to 1,000) under which more than one message was accepted."""
        twice = [key for key, row in self._rows.items() if row.accepted > 1]
        return {
            "keys": len(self._rows),
            "accepted": sum(row.accepted for row in self._rows.values()),
            "http_requests": sum(row.http_requests for row in self._rows.values()),
            "replays": sum(row.replays for row in self._rows.values()),
            "twice_count": len(twice),
            "twice": twice[:1_000],
        }


@dataclass(frozen=True, slots=True)
class Held:
    """A key that a request holds: its scope (HTTP method, path, key; there is one team only) and the body's digest."""

    scope: tuple[str, str, str]
    digest: str


@dataclass(slots=True)
class Slot:
    """One remembered key; `answer` None while the first request is still running."""

    digest: str
    at_s: float
    answer: Answer | None = None


class Slots:
    """Which request holds which key.

    Source: resend.com/docs/dashboard/emails/idempotency-keys and the text of `invalid_idempotent_request`.
    """

    def __init__(self) -> None:
        self._slots: dict[tuple[str, str, str], Slot] = {}

    def reserve(self, held: Held, now_s: float, retention_s: float) -> Answer | None:
        """Take the key for a new request, or give the answer to replay.

        Raises Refusal for a key whose first request is still running, or which came with another body. A key is
        forgotten `retention_s` after its acceptance, sharply.
        """
        slot = self._slots.get(held.scope)
        if slot is None or (slot.answer is not None and now_s - slot.at_s >= retention_s):
            # Re-inserted at the end, so that the front of the dict stays the oldest entry.
            self._slots.pop(held.scope, None)
            self._slots[held.scope] = Slot(held.digest, now_s)
            return None
        if slot.answer is None:
            raise Refusal("concurrent_idempotent_requests")
        if slot.digest != held.digest:
            raise Refusal("invalid_idempotent_request")
        return slot.answer

    def complete(self, held: Held, answer: Answer, now_s: float) -> None:
        self._slots[held.scope] = Slot(held.digest, now_s, answer)

    def live(self, now_s: float, retention_s: float) -> Iterator[tuple[tuple[str, str, str], Slot]]:
        """Give the finished keys that are still remembered and hold an acceptance, oldest first."""
        for scope, slot in self._slots.items():
            if slot.answer is not None and slot.answer.status == 200 and now_s - slot.at_s < retention_s:
                yield scope, slot

    def release(self, held: Held) -> None:
        """Forget a reservation that came to nothing; a completed key stays."""
        slot = self._slots.get(held.scope)
        if slot is not None and slot.answer is None:
            del self._slots[held.scope]

    def forget_expired(self, now_s: float, retention_s: float) -> None:
        """Drop finished keys past their time from the front, so that a long run does not keep them all."""
        while self._slots:
            scope = next(iter(self._slots))
            slot = self._slots[scope]
            if slot.answer is None or now_s - slot.at_s < retention_s:
                return
            del self._slots[scope]
