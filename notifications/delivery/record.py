"""Record what a batch of calls proved, and what the accounts need to know of it.

A result under an old fence moves nothing: it is kept as `late`, and settles the intent where it proves acceptance.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from psycopg import AsyncConnection

from notifications.delivery.circuits import decision_of, is_news, refused_as_accounts, report, spared
from notifications.delivery.failover import fail_over_refused
from notifications.delivery.lease import Lease, Sent
from notifications.delivery.shop import Shop
from notifications.door import Appended, Entry, append_async
from notifications.policy.retry import Decision
from notifications.states import EntryKind, Outcome, State

logger = logging.getLogger(__name__)

_LATE_ACCEPTANCE = """
SELECT DISTINCT ON (i.id) i.id, l.code, l.detail ->> 'provider_message_id'
FROM notifyops_private.notifications_intent i JOIN notifyops_private.notifications_logentry l
  ON l.intent_id = i.id AND l.month = i.month AND l.generation = i.generation
WHERE i.id = ANY (%s::bigint[]) AND i.state IN ('retry', 'needs_review')
  AND l.kind = 'late' AND l.outcome = 'accepted' AND l.detail ? 'provider_message_id'
  -- The entry stands in the generation of its writing; what it is about says its detail.
  AND coalesce((l.detail ->> 'generation')::integer, l.generation) = i.generation
"""
_BLOCK = "SELECT notifyops_private.block_v1(%s::bigint[], %s::integer[], %s::text[])"


async def record(connection: AsyncConnection[Any], shop: Shop, batch: Sequence[Sent], *, worker: str) -> None:
    """Record a batch of finished calls. Safe to repeat after a lost COMMIT.

    The results are one statement and so one transaction; what else follows from them (late answers, news for the
    accounts) is a second one, which most batches do not need. Where an account itself is refused, both are one: how
    many of these go to a person depends on all loops. A repeat finds the intent already moved, is refused by the fence
    or the table of moves, and is kept as late.
    """
    for part in _rounds(batch):
        pairs = [(sent, decision_of(shop, sent)) for sent in part]
        # What closes an address, as what refuses an account, is one with the results that say so.
        if not (refused_as_accounts(pairs) or any(sent.result.address_gone for sent in part)):
            await _recorded(connection, shop, pairs, worker)
            continue
        async with connection.transaction():
            await _recorded(connection, shop, await spared(connection, shop, pairs), worker)


async def _recorded(
    connection: AsyncConnection[Any], shop: Shop, pairs: list[tuple[Sent, Decision]], worker: str
) -> None:
    entries = [_result_entry(shop, sent, decision) for sent, decision in pairs]
    answers = await append_async(connection, EntryKind.RESULT, entries, worker=worker)
    refused = {one.intent_id: one for one in answers if one.refused is not None}
    news = [pair for pair in pairs if pair[0].lease.id not in refused and is_news(shop, *pair)]
    again = {
        sent.lease.id: sent.lease.confirm_s for sent, decision in pairs if sent.lease.attempt > 1 and _is_open(decision)
    }
    await _block(connection, [sent.lease for sent, _ in pairs if sent.result.address_gone])
    moving = [sent.lease.id for sent, decision in pairs if decision.of_account and sent.lease.id not in refused]
    await fail_over_refused(connection, shop, moving, worker=worker)
    if refused or news or again:
        async with connection.transaction():
            late = [sent for sent, _ in pairs if sent.lease.id in refused]
            await _keep_late(connection, late, refused, worker)
            await report(connection, shop, news)
            await _settle_by_late(connection, again, worker)


async def _block(connection: AsyncConnection[Any], leases: Sequence[Lease]) -> None:
    """Leave addresses alone that said that they take nothing more; also where the answer itself came too late."""
    if leases:
        ids, generations = [lease.id for lease in leases], [lease.generation for lease in leases]
        await connection.execute(_BLOCK, (ids, generations, ["gone"] * len(ids)))


def _rounds(batch: Sequence[Sent]) -> Iterator[list[Sent]]:
    """Give the batch in parts that name each intent once, as one append must.

    A machine that slept past a lease ends the old and the new call of one intent together. The new one goes first: it
    may move the intent, and what the old one proves then settles it.
    """
    left = sorted(batch, key=lambda sent: -sent.lease.fence)
    while left:
        first = {sent.lease.id: sent for sent in reversed(left)}
        yield list(first.values())
        left = [sent for sent in left if first[sent.lease.id] is not sent]


def _result_entry(shop: Shop, sent: Sent, decision: Decision) -> Entry:
    result, lease = sent.result, sent.lease
    return Entry(
        id=lease.id,
        to_state=decision.to_state,
        fence=lease.fence,
        outcome=result.outcome,
        code=decision.error_code or result.code,
        phase=result.phase,
        http_status=result.http_status,
        duration_ms=sent.duration_ms,
        provider_message_id=result.provider_message_id,
        detail=_detail(sent, decision),
        known=None if decision.to_state is State.ACCEPTED else decision.known,
        next_action=decision.next_action,
        delay_s=decision.delay_s,
        failure=decision.counts_failure or None,
        in_flight=decision.counts_in_flight or None,
        ambiguous=decision.ambiguous or None,
        window_s=(shop.window_span_s(shop.accounts[lease.account_id]) or 0.0) if decision.ambiguous else None,
        confirm_s=lease.confirm_s if decision.to_state is State.ACCEPTED else None,
    )


def _detail(sent: Sent, decision: Decision) -> dict[str, Any] | None:
    detail: dict[str, Any] = {}
    if sent.result.retry_after_raw is not None:
        detail["retry_after"] = sent.result.retry_after_raw
    if sent.result.address_gone:
        detail["address_blocked"] = True
    if decision.of_account:
        detail["of_account"] = True
    if sent.result.field is not None:
        detail["field"] = sent.result.field
    if sent.result.trace_id is not None:
        detail["trace"] = sent.result.trace_id
    if decision.error_code is not None and decision.error_code != sent.result.code:
        detail["answer"] = sent.result.code
    if decision.possible_duplicate:
        detail["possible_duplicate"] = True
    return detail or None


async def _keep_late(
    connection: AsyncConnection[Any], late: list[Sent], refused: dict[int, Appended], worker: str
) -> None:
    """Keep results that came too late as evidence; where one proves acceptance, settle the intent by it."""
    entries = [
        Entry(
            id=sent.lease.id,
            fence=sent.lease.fence,
            attempt=sent.lease.attempt,
            outcome=sent.result.outcome,
            code=sent.result.code,
            phase=sent.result.phase,
            http_status=sent.result.http_status,
            duration_ms=sent.duration_ms,
            detail=_late_detail(sent),
        )
        for sent in late
    ]
    kept = {one.intent_id: one for one in await append_async(connection, EntryKind.LATE, entries, worker=worker)}
    for sent in late:
        logger.warning(
            "late result kept: %s",
            refused[sent.lease.id].refused,
            extra={"action": "late_result", "intent": sent.lease.notification_id},
        )
    generations = await _generations(connection, [sent.lease.id for sent in late])
    settled = [
        Entry(
            id=sent.lease.id,
            to_state=State.ACCEPTED,
            outcome=Outcome.ACCEPTED,
            code=sent.result.code,
            provider_message_id=sent.result.provider_message_id,
            confirm_s=sent.lease.confirm_s,
        )
        for sent in late
        if sent.result.outcome is Outcome.ACCEPTED
        and kept[sent.lease.id].new_state in (State.RETRY, State.NEEDS_REVIEW)
        and generations.get(sent.lease.id) == sent.lease.generation
    ]
    await append_async(connection, EntryKind.SETTLED, settled, worker=worker)


async def _generations(connection: AsyncConnection[Any], ids: list[int]) -> dict[int, int]:
    """Give the present generations: what an older one's call proved is a fact, and settles nothing."""
    query = "SELECT id, generation FROM notifyops_private.notifications_intent WHERE id = ANY (%s::bigint[])"
    cursor = await connection.execute(query, (ids,))
    return dict(await cursor.fetchall()) if ids else {}


def _is_open(decision: Decision) -> bool:
    return decision.to_state in (State.RETRY, State.NEEDS_REVIEW)


async def _settle_by_late(connection: AsyncConnection[Any], confirm_s: Mapping[int, float | None], worker: str) -> None:
    """Settle what an earlier attempt's late answer proved while this attempt ran: it could not move the intent then."""
    if not confirm_s:
        return
    cursor = await connection.execute(_LATE_ACCEPTANCE, (list(confirm_s),))
    proven = [
        Entry(
            id=intent_id,
            to_state=State.ACCEPTED,
            outcome=Outcome.ACCEPTED,
            code=code,
            provider_message_id=message_id,
            confirm_s=confirm_s[intent_id],
        )
        for intent_id, code, message_id in await cursor.fetchall()
    ]
    await append_async(connection, EntryKind.SETTLED, proven, worker=worker)


def _late_detail(sent: Sent) -> dict[str, Any]:
    detail: dict[str, Any] = {"generation": sent.lease.generation}
    if sent.result.provider_message_id:
        # Not in the column: a late id must not become the intent's id unless it settles it.
        detail["provider_message_id"] = sent.result.provider_message_id
    # What it did, and by what it is found at the provider, is as true of a call that ended late.
    if sent.result.address_gone:
        detail["address_blocked"] = True
    if sent.result.trace_id is not None:
        detail["trace"] = sent.result.trace_id
    return detail
