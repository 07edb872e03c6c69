"""Ask the provider what became of messages, keep its answers as evidence, and settle what they prove.

A person's question is a row that the chores answer: the console's process has no key that reads from the provider.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from django.db import connections
from psycopg import AsyncConnection

from notifications.delivery import questions
from notifications.delivery.questions import Due
from notifications.door import Appended, Entry, append_async
from notifications.policy.evidence import Consequence, EvidenceFacts, ask_again_s, confirm_s, decide_evidence
from notifications.providers.base import Lookup, LookupBudget, LookupQuery, LookupResult
from notifications.states import DeliveryStatus, EntryKind, Found, Outcome, State
from notifications.types import Registry, registry

logger = logging.getLogger(__name__)

# A batch's entries are one transaction: few enough that nobody waits for its locks.
_BATCH: Final = 100
# Providers keep messages for a number of days, and which hour ends them is theirs to say.
_RETENTION_MARGIN: Final = timedelta(days=1)
# Before that a provider's list may be behind what it took; no provider of ours says more.
SETTLE_S: Final = 120.0
# Something moved while the provider was being asked: ask about what is so now.
_AT_ONCE_S: Final = 2.0
# In the order in which one answer's entries follow each other.
_FOLLOWING: Final = (EntryKind.SETTLED, EntryKind.CONTRADICTED, EntryKind.UNCONFIRMED, EntryKind.RECEIPT)
_WANT: Final = """
INSERT INTO notifyops_private.notifications_question AS q
    (intent_id, account_id, about, since, due_at, wanted_by, wanted_at)
SELECT i.id, i.account_id, 'person', i.created_at, t.now, %(by)s, t.now
FROM notifyops_private.notifications_intent i, (SELECT notifyops_private.clock_v1() AS now) t WHERE i.id = %(intent)s
ON CONFLICT (intent_id) DO UPDATE SET due_at = excluded.due_at, wanted_by = excluded.wanted_by,
    wanted_at = excluded.wanted_at
"""


@dataclass(slots=True)
class Desk:
    """What the asking works with: the accounts that this host can read from, and how much one round may cost."""

    lookups: Mapping[int, Lookup]
    budget: Mapping[int, LookupBudget] = field(default_factory=dict)
    types: Registry = field(default_factory=lambda: registry)
    # The site's mode: what was made in another one went to another provider, which is not asked here. Empty: any.
    mode: str = ""


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
        for account_id in sorted({row.account_id for row in rows}):
            asked = [row for row in rows if row.account_id == account_id]
            kept += await _ask_account(connection, desk, asked, worker)
    return kept


async def _ask_account(connection: AsyncConnection[Any], desk: Desk, asked: Sequence[Due], worker: str) -> int:
    """Ask one account about its intents, and keep what it says."""
    lookup = desk.lookups.get(asked[0].account_id)
    by_id = {row.id: row for row in asked}
    kept = 0
    ready: list[LookupResult] = [_without_asking(row, lookup, desk.mode) for row in asked]
    known = [result for result in ready if result.code is not None]
    if known:
        kept += await _keep(connection, desk, [(by_id[one.ref], one) for one in known], worker)
    queries = [_query(by_id[one.ref], lookup) for one in ready if one.code is None and lookup is not None]
    if lookup is None or not queries:
        return kept
    batch: list[tuple[Due, LookupResult]] = []
    left = {query.ref for query in queries}
    async for result in lookup.lookup(queries, await _budget(connection, desk, lookup, asked[0].account_id)):
        left.discard(result.ref)
        batch.append((by_id[result.ref], result))
        if len(batch) == _BATCH:
            kept += await _keep(connection, desk, batch, worker)
            batch = []
    kept += await _keep(connection, desk, batch, worker)
    if left and len(left) < len(queries):
        await questions.put_off(connection, sorted(left), _AT_ONCE_S)
        return kept
    # A round that answered nothing would answer nothing again: it counts, or it would go on for ever.
    spent = [(by_id[ref], LookupResult(ref, Found.INCONCLUSIVE, "scan", "lookup.page_cap")) for ref in sorted(left)]
    return kept + await _keep(connection, desk, spent, worker)


def _without_asking(row: Due, lookup: Lookup | None, mode: str) -> LookupResult:
    """Give the answer that needs no call: its `code` is None where the provider must be asked."""
    if lookup is None:
        return LookupResult(row.id, Found.UNAVAILABLE, "none", "lookup.no_key")
    if mode and row.site_mode and row.site_mode != mode:
        return LookupResult(row.id, Found.UNAVAILABLE, "none", "lookup.other_mode")
    retention = lookup.capabilities.lookup_retention
    if row.first_at is None:
        return LookupResult(row.id, Found.INCONCLUSIVE, "none", "lookup.unproven")
    if retention is not None and row.now - row.first_at > retention - _RETENTION_MARGIN:
        return LookupResult(row.id, Found.INCONCLUSIVE, "none", "lookup.retention")
    return LookupResult(row.id, Found.INCONCLUSIVE, "none")


def _query(row: Due, lookup: Lookup) -> LookupQuery:
    assert row.first_at is not None
    assert row.last_at is not None
    settled = row.now - row.last_at >= lookup.capabilities.lookup_settle
    return LookupQuery(row.id, row.body, row.provider_message_id, row.first_at, row.last_at, settled)


async def _budget(connection: AsyncConnection[Any], desk: Desk, lookup: Lookup, account_id: int) -> LookupBudget:
    budget = desk.budget.get(account_id, LookupBudget())
    retention = lookup.capabilities.lookup_retention or timedelta(days=3650)
    seen = await questions.witness(connection, account_id, (retention - _RETENTION_MARGIN).total_seconds(), desk.mode)
    return LookupBudget(budget.pages, budget.seconds, budget.per_s, seen)


async def _keep(
    connection: AsyncConnection[Any], desk: Desk, batch: Sequence[tuple[Due, LookupResult]], worker: str
) -> int:
    """Write the answers as evidence, and what follows from them; one transaction."""
    if not batch:
        return 0
    async with connection.transaction():
        found = [(row.id, mail) for row, result in batch for mail in result.ids]
        taken = await questions.taken(connection, found) if found else set()
        decided = [
            (row, result, decide_evidence(result, _facts(row, id_taken=row.id in taken))) for row, result in batch
        ]
        told = [_evidence(row, result, after) for row, result, after in decided if after or _is_news(row, result)]
        refused = {
            one.intent_id
            for one in await append_async(connection, EntryKind.EVIDENCE, told, worker=worker)
            if one.refused
        }
        for kind in _FOLLOWING:
            entries = [
                _entry(desk, row, result, one)
                for row, result, after in decided
                for one in after
                if one.kind is kind and row.id not in refused
            ]
            _warn(kind, await append_async(connection, kind, entries, worker=worker))
        again = [(row.id, _AT_ONCE_S if row.id in refused else _again_s(row, result)) for row, result in batch]
        await questions.answered(connection, again)
    return len(batch)


def _facts(row: Due, *, id_taken: bool) -> EvidenceFacts:
    return EvidenceFacts(
        state=State(row.state),
        delivery_status=DeliveryStatus(row.delivery_status),
        error_code=row.error_code,
        recorded=row.provider_message_id,
        confirming=row.confirming and row.declares_receipts,
        is_last=ask_again_s(row.asked_count + 1) is None,
        id_taken=id_taken,
    )


def _is_news(row: Due, result: LookupResult) -> bool:
    """Say whether an answer is written: it proves something, a person asked, or it was not said just before."""
    if result.answer in (Found.FOUND, Found.NOT_FOUND) or row.wanted_by is not None:
        return True
    return (result.answer, result.code) != (row.said, row.said_code)


def _evidence(row: Due, result: LookupResult, after: tuple[Consequence, ...]) -> Entry:
    detail: dict[str, Any] = {"method": result.method, "asked_at": row.now.isoformat(timespec="milliseconds")}
    if result.ids:
        detail |= {"ids": list(result.ids), "status": result.status.value}
    if row.wanted_by is not None:
        detail["asked_by"] = row.wanted_by
    confirmed = next((one for one in after if one.kind is EntryKind.EVIDENCE), None)
    return Entry(
        id=row.id,
        # What was found stays true whatever happens meanwhile. Absence holds only for what was asked about.
        seq=None if result.answer is Found.FOUND else row.seq,
        outcome=result.answer,
        code=result.code,
        detail=detail,
        delivery_status=confirmed.delivery_status if confirmed else None,
        confirm_s=-1.0 if confirmed else None,
    )


def _entry(desk: Desk, row: Due, result: LookupResult, one: Consequence) -> Entry:
    kind = desk.types.get(row.type)
    return Entry(
        id=row.id,
        to_state=one.to_state,
        outcome=Outcome.ACCEPTED if one.kind is EntryKind.SETTLED else None,
        code=one.code,
        known=one.known,
        next_action=one.next_action,
        provider_message_id=one.provider_message_id,
        delivery_status=one.delivery_status,
        detail={"ids": list(result.ids)} if result.ids else None,
        confirm_s=confirm_s(kind, declares_receipts=row.declares_receipts)
        if one.kind is EntryKind.SETTLED and not one.confirmed
        else None,
    )


def _again_s(row: Due, result: LookupResult) -> float | None:
    if result.answer in (Found.FOUND, Found.NOT_FOUND):
        return None
    return ask_again_s(row.asked_count + 1)


def _warn(kind: EntryKind, written: Sequence[Appended]) -> None:
    """Say what was not written: somebody else moved the intent, and the evidence stands beside it."""
    for one in written:
        if one.refused:
            extra = {"action": "evidence_refused", "intent": one.intent_id}
            logger.warning("%s refused: %s", kind.value, one.refused, extra=extra)
