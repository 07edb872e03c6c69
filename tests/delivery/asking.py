"""Asking the provider in a test: the chores' own rounds, against the sandbox or a scripted look-up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
from django.db import connection, connections, transaction

from notifications.delivery import discovery
from notifications.delivery.reconcile import SETTLE_S, Desk, reconcile, want
from notifications.door import Entry, append_call
from notifications.providers.base import Capabilities, Lookup, LookupBudget, LookupQuery, LookupResult
from notifications.providers.resend import CAPABILITIES
from notifications.providers.resend_lookup import ResendLookup
from notifications.states import EntryKind, Found, State
from notifications.types import Registry, registry
from tests.delivery.workplace import Workplace, connected

QUICK = LookupBudget(per_s=None)
KEY = "report-ready/demo-001"
DAY = 86_400


@dataclass
class Told:
    """A look-up that answers what the test says, and remembers what it was asked."""

    answer: Callable[[LookupQuery], LookupResult | None]
    capabilities: Capabilities = CAPABILITIES
    asked: list[list[LookupQuery]] = field(default_factory=list)
    before: Callable[[], object] = lambda: None

    async def lookup(self, queries: Sequence[LookupQuery], budget: LookupBudget) -> AsyncIterator[LookupResult]:
        self.asked.append(list(queries))
        await asyncio.to_thread(self._do_before)
        for query in queries:
            result = self.answer(query)
            if result is not None:
                yield result

    def _do_before(self) -> None:
        try:
            self.before()
        finally:
            connections.close_all()

    async def close(self) -> None:
        """Nothing is open."""


def says(answer: Found, *ids: str, code: str | None = None, **more: Any) -> Told:
    """Give a look-up that says the same to every question."""
    return Told(lambda query: LookupResult(query.ref, answer, "scan", code, ids, **more))


def ask(
    place: Workplace,
    lookup: Lookup | None = None,
    *,
    key: str | None = None,
    budget: LookupBudget = QUICK,
    types: Registry = registry,
    no_key: bool = False,
    mode: str = "",
) -> int:
    """Do one round as the chores do: find what is to be asked, ask, keep; give how many answers were kept."""

    async def scene() -> int:
        used = lookup or ResendLookup(base_url=place.sandbox.url, api_key=key or place.sandbox.full_key, timeout_s=5)
        lookups: Mapping[int, Lookup] = {} if no_key else {place.account: used}
        try:
            async with await connected(place.dsn()) as connection:
                await discovery.discover(connection, settle_s=SETTLE_S)
                desk = Desk(lookups, {place.account: budget}, types, mode)
                return await reconcile(connection, desk, worker="host/1/ask0")
        finally:
            await used.close()

    kept: int = place.play(scene())
    return kept


def person_asks(place: Workplace, intent: int, by: str = "user:olga") -> None:
    """Leave a question, as the console does, by the shifted clock."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL notifyops_test.shift = %s", [f"{place.shift_s:.3f}s"])
        want(intent, by=by)


def lost(place: Workplace, report: str = "demo-001", *, arrived: bool, kind: str = "report_once") -> int:
    """Owe one, and lose its answer; give the intent, which a person must decide on. `arrived`: it was accepted."""
    intent = place.enqueue(report, kind=kind)
    place.sandbox.fault(stage="after_accept" if arrived else "before_accept", kind="close", times=1)
    place.turn()
    assert place.intent(intent).known == "unknown"
    return intent


def witnessed(place: Workplace) -> int:
    """Let the account take a message, so that its list can be known to be its own."""
    intent = place.enqueue("witness")
    place.turn()
    assert place.intent(intent).state == "accepted"
    return intent


def past_the_window(place: Workplace, *, arrived: bool, witness: bool = True) -> int:
    """Give an intent whose answer was lost, and whose key protects nothing any more.

    `witness`: the account has taken another message before, without which no absence is believed.
    """
    if witness and not arrived:
        witnessed(place)
    intent = lost(place, arrived=arrived, kind="report_ready")
    place.later(DAY)
    place.turn()
    assert (place.intent(intent).state, place.intent(intent).error_code) == ("needs_review", "window_over")
    return intent


def retry(place: Workplace, intent: int, reason: str = "evidence_not_sent", *, delay_s: float = 0.0) -> str | None:
    """Let a person retry; give the door's word of refusal, None where it is ordered."""
    entry = Entry(id=intent, to_state=State.RETRY, seq=place.intent(intent).seq, reason_code=reason, delay_s=delay_s)
    query, values = append_call(EntryKind.RETRIED, [entry], actor="user:olga")
    with psycopg.connect(place.dsn("web")) as connection:
        row = connection.execute(query, values).fetchone()
    assert row is not None
    return None if row[-1] is None else str(row[-1])


def evidence(place: Workplace, intent: int) -> list[tuple[str, str | None]]:
    """Give what the log holds of the provider's answers."""
    return [(entry["outcome"], entry["code"]) for entry in place.log(intent) if entry["kind"] == "evidence"]
