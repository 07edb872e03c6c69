"""Ask the provider what became of messages, keep its answers as evidence, and settle what they prove.

A person's question is a row that the chores answer: the console's process has no key that reads from the provider.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connections
from psycopg import AsyncConnection

from notifications.delivery import questions
from notifications.delivery.answers import keep
from notifications.delivery.older import older
from notifications.delivery.questions import Due
from notifications.policy.recipients import InvalidAddress, normalise_address
from notifications.providers.base import Lookup, LookupBudget, LookupQuery, LookupResult
from notifications.states import Found
from notifications.types import Registry, registry

# A batch's entries are one transaction: few enough that nobody waits for its locks.
_BATCH: Final = 100
# Providers keep messages for a number of days, and which hour ends them is theirs to say.
_RETENTION_MARGIN: Final = timedelta(days=1)
# Before that a provider's list may be behind what it took; no provider of ours says more.
SETTLE_S: Final = 120.0
# The time of a round was over: go on with the next one.
_AT_ONCE_S: Final = 2.0
_WANT: Final = """
INSERT INTO notifyops_private.notifications_question AS q
    (intent_id, account_id, about, since, due_at, wanted_by, wanted_at)
SELECT i.id, i.account_id, 'person', i.created_at, t.now, %(by)s, t.now
FROM notifyops_private.notifications_intent i, (SELECT notifyops_private.clock_v1() AS now) t WHERE i.id = %(intent)s
ON CONFLICT (intent_id) DO UPDATE SET due_at = excluded.due_at, wanted_by = excluded.wanted_by,
    wanted_at = excluded.wanted_at
"""


Answered = tuple[Due, LookupResult]


@dataclass(slots=True)
class Desk:
    """What the asking works with: the accounts that this host can read from, and how much one round may cost."""

    lookups: Mapping[int, Lookup]
    budget: Mapping[int, LookupBudget] = field(default_factory=dict)
    types: Registry = field(default_factory=lambda: registry)
    # The site's mode: what was made in another one went to another provider, which is not asked here. Empty: any.
    mode: str = ""
    # What a restored database has forgotten is looked for by the site's tags, at the address that it went to.
    site: str = ""
    redirect_to: str = ""
    # Accounts of kinds that nobody can ask.
    mute: frozenset[int] = frozenset()


def want(intent_id: int, *, by: str, using: str = "default") -> None:
    """Leave a person's question, to be answered within seconds; the caller has opened the transaction."""
    with connections[using].cursor() as cursor:
        cursor.execute(_WANT, {"intent": intent_id, "by": by[:200]})


async def reconcile(connection: AsyncConnection[Any], desk: Desk, *, worker: str) -> int:
    """Ask about everything that is due, what persons want to know first; give how many answers were kept.

    No transaction is open while the provider is being asked. Answers are kept as they come: whoever is cut off in the
    middle has lost only what was not answered yet.
    """
    kept = 0
    for wanted, any_due in zip((True, False), await questions.waiting(connection), strict=True):
        if not any_due:
            continue
        rows = await questions.due(connection, wanted=wanted)
        rows += await older(connection, rows)
        for account_id in sorted({row.account_id for row in rows}):
            asked = [row for row in rows if row.account_id == account_id]
            kept += await _ask_account(connection, desk, asked, worker)
    return kept


async def _ask_account(connection: AsyncConnection[Any], desk: Desk, asked: Sequence[Due], worker: str) -> int:
    """Ask one account about its intents, and keep what it says; give how many answers about present generations."""
    kept = _Kept(connection, desk, worker)
    await _asked(kept, asked)
    # Last, and one by one: their intents may stand among the others, whose answers count only where nothing has moved.
    for one in kept.beside:
        await keep(connection, desk.types, [one], worker)
    return kept.count


@dataclass(slots=True)
class _Kept:
    """Keeps answers; those about older generations are put by."""

    connection: AsyncConnection[Any]
    desk: Desk
    worker: str
    beside: list[Answered] = field(default_factory=list)
    count: int = 0

    async def add(self, batch: Sequence[Answered]) -> None:
        """Keep these, by a transaction of its own."""
        self.beside += [one for one in batch if one[0].older]
        present = [one for one in batch if not one[0].older]
        self.count += await keep(self.connection, self.desk.types, present, self.worker)


async def _asked(kept: _Kept, asked: Sequence[Due]) -> None:
    desk, lookup = kept.desk, kept.desk.lookups.get(asked[0].account_id)
    by_id = {row.ref: row for row in asked}
    ready: list[LookupResult] = [_without_asking(row, lookup, desk) for row in asked]
    await kept.add([(by_id[one.ref], one) for one in ready if one.code is not None and not by_id[one.ref].older])
    queries = [_query(by_id[one.ref], lookup, desk) for one in ready if one.code is None and lookup is not None]
    if lookup is None or not queries:
        return
    budget = await budget_of(kept.connection, desk, lookup, account_id=asked[0].account_id, now=asked[0].now)
    batch, left, absent = (
        list[Answered](),
        {query.ref for query in queries},
        Absent(is_proven=budget.witness is not None),
    )
    async for result in lookup.lookup(queries, budget):
        left.discard(result.ref)
        batch += [(by_id[one.ref], one) for one in absent.believed(result)]
        if len(batch) >= _BATCH:
            await kept.add(batch)
            batch = []
    await kept.add([*batch, *((by_id[one.ref], one) for one in absent.doubted())])
    # What was asked beside them moves no round on.
    left = {ref for ref in left if not by_id[ref].older}
    if left and len(left) < sum(not by_id[query.ref].older for query in queries):
        await questions.put_off(kept.connection, sorted(left), _AT_ONCE_S)
        return
    # A round that answered nothing would answer nothing again: it counts, or it would go on for ever.
    await kept.add(
        [(by_id[ref], LookupResult(ref, Found.INCONCLUSIVE, "scan", "lookup.page_cap")) for ref in sorted(left)]
    )


@dataclass(slots=True)
class Absent:
    """The answers "not found" of one look-up: believed only of a list that shows something of ours.

    Without a message that the account is known to have taken, the key may be another team's, whose list is honest and
    holds nothing of ours. A message with our own tags, found by the same look-up, shows as much.
    """

    is_proven: bool
    _waiting: list[LookupResult] = field(default_factory=list)

    def believed(self, result: LookupResult) -> list[LookupResult]:
        """Give what may be kept now that this is answered."""
        self.is_proven = self.is_proven or result.answer is Found.FOUND
        if result.answer is Found.NOT_FOUND and not self.is_proven:
            self._waiting.append(result)
            return []
        waited, self._waiting = (self._waiting, []) if self.is_proven else ([], self._waiting)
        return [*waited, result]

    def doubted(self) -> list[LookupResult]:
        """Give what is left at the end, which proves nothing."""
        return [LookupResult(one.ref, Found.INCONCLUSIVE, one.method, "lookup.no_witness") for one in self._waiting]


def _without_asking(row: Due, lookup: Lookup | None, desk: Desk) -> LookupResult:
    """Give the answer that needs no call: its `code` is None where the provider must be asked."""
    if lookup is None:
        code = "lookup.not_offered" if row.account_id in desk.mute else "lookup.no_key"
        return LookupResult(row.ref, Found.UNAVAILABLE, "none", code)
    if desk.mode and row.site_mode and row.site_mode != desk.mode:
        return LookupResult(row.ref, Found.UNAVAILABLE, "none", "lookup.other_mode")
    retention = lookup.capabilities.lookup_retention
    if row.first_at is None:
        return LookupResult(row.ref, Found.INCONCLUSIVE, "none", "lookup.unproven")
    if retention is not None and row.now - row.first_at > retention - _RETENTION_MARGIN:
        return LookupResult(row.ref, Found.INCONCLUSIVE, "none", "lookup.retention")
    return LookupResult(row.ref, Found.INCONCLUSIVE, "none")


def _query(row: Due, lookup: Lookup, desk: Desk) -> LookupQuery:
    assert row.first_at is not None
    assert row.last_at is not None
    settled = row.now - row.last_at >= lookup.capabilities.lookup_settle
    to, tags = None, {}
    if row.recipient is not None and desk.site:
        to = desk.redirect_to or _address(row.recipient)
        tags = {"site": desk.site, "intent": str(row.id), "generation": str(row.generation)}
    return LookupQuery(row.ref, row.body, row.provider_message_id, row.first_at, row.last_at, settled, to, tags)


def _address(recipient: str) -> str | None:
    """Give the address as it was put into the message; None where none could have been."""
    try:
        return normalise_address(recipient)
    except InvalidAddress:
        return None


async def budget_of(
    connection: AsyncConnection[Any], desk: Desk, lookup: Lookup, *, account_id: int, now: datetime
) -> LookupBudget:
    """Give what one look-up of the account may cost, with the witness that shows whether its key sees our messages."""
    budget = desk.budget.get(account_id, LookupBudget())
    retention = lookup.capabilities.lookup_retention or timedelta(days=3650)
    seen = await questions.witness(connection, account_id, (retention - _RETENTION_MARGIN).total_seconds(), desk.mode)
    if seen is None:
        return replace(budget, as_of=now)
    return replace(budget, witness=seen.id, taken=(seen.since, seen.until), as_of=now)
