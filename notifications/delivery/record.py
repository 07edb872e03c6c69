"""Record what a batch of calls proved, and what the accounts need to know of it.

A result under an old fence moves nothing: it is kept as `late`, and settles the intent where it proves acceptance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from psycopg import AsyncConnection

from notifications.delivery.circuits import Decided, decision_of, is_news, refused_as_accounts, report, spared
from notifications.delivery.failover import fail_over_refused, of_its_own
from notifications.delivery.late import contradict, keep_late, settle_by_late
from notifications.delivery.lease import Lease, Sent
from notifications.delivery.shop import Shop
from notifications.door import Appended, Entry, append_async
from notifications.policy.retry import Decision
from notifications.states import EntryKind, Outcome, State

_BLOCK = "SELECT notifyops_private.block_v1(%s::bigint[], %s::integer[], %s::text[])"


async def record(connection: AsyncConnection[Any], shop: Shop, batch: Sequence[Sent], *, worker: str) -> None:
    """Record a batch of finished calls. Safe to repeat after a lost COMMIT.

    The results are one statement and so one transaction; what else follows from them (news for the accounts, late
    answers) has transactions of its own, which most batches do not need. Where an account itself is refused, both are
    one: how many of these go to a person depends on all loops. A repeat finds the intent already moved, is refused by
    the fence or the table of moves, and is kept as late.

    Two loops that record at once must not wait for each other: a transaction locks circuits before it locks intents,
    and blocks of addresses last.
    """
    for part in _rounds([of_its_own(shop, sent) for sent in batch]):
        pairs = [(sent, decision_of(shop, sent)) for sent in part]
        # What closes an address, as what refuses an account, is one with the results that say so.
        if refused_as_accounts(pairs) or any(sent.result.address_gone for sent in part):
            async with connection.transaction():
                pairs = await spared(connection, shop, pairs)
                refused, news = await _recorded(connection, shop, pairs, worker)
        else:
            refused, news = await _recorded(connection, shop, pairs, worker)
        await _follow(connection, shop, pairs, (refused, news), worker)


async def _recorded(
    connection: AsyncConnection[Any], shop: Shop, pairs: list[Decided], worker: str
) -> tuple[dict[int, Appended], list[Decided]]:
    """Write the results; give what was refused, and the news for accounts that is not told yet."""
    entries = [_result_entry(shop, sent, decision) for sent, decision in pairs]
    answers = await append_async(connection, EntryKind.RESULT, entries, worker=worker)
    refused = {one.intent_id: one for one in answers if one.refused is not None}
    news = [pair for pair in pairs if pair[0].lease.id not in refused and is_news(shop, *pair)]
    await _block(connection, [sent.lease for sent, _ in pairs if sent.result.address_gone])
    moving = [sent.lease.id for sent, decision in pairs if decision.of_account and sent.lease.id not in refused]
    await fail_over_refused(connection, shop, moving, worker=worker)
    # Their circuits are locked by now, and in the order of the calls a success may stand before a refusal.
    counted = {sent.lease.account_id for sent, decision in pairs if decision.circuit == "config"}
    if counted:
        await report(connection, shop, [pair for pair in news if pair[0].lease.account_id in counted])
    return refused, [pair for pair in news if pair[0].lease.account_id not in counted]


async def _follow(
    connection: AsyncConnection[Any],
    shop: Shop,
    pairs: Sequence[Decided],
    recorded: tuple[dict[int, Appended], list[Decided]],
    worker: str,
) -> None:
    """Tell the accounts, and keep what came too late; the news first, which a repeat would not tell again."""
    refused, news = recorded
    if news:
        async with connection.transaction():
            await report(connection, shop, news)
    late = [sent for sent, _ in pairs if sent.lease.id in refused]
    if late:
        async with connection.transaction():
            await keep_late(connection, late, refused, worker)
    repeated = [(sent.lease, decision) for sent, decision in pairs if sent.lease.attempt > 1]
    open_yet = {lease.id: lease.confirm_s for lease, decision in repeated if _is_open(decision)}
    await settle_by_late(connection, open_yet, worker)
    accepted = {lease.id for lease, decision in repeated if not _is_open(decision)}
    accepted |= {sent.lease.id for sent in late if sent.result.outcome is Outcome.ACCEPTED}
    await contradict(connection, sorted(accepted), worker)


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


def _is_open(decision: Decision) -> bool:
    return decision.to_state in (State.RETRY, State.NEEDS_REVIEW)
