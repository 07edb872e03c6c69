"""Keep what a provider answered as evidence, and write what it proves about each intent as it stands now."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any, Final

from psycopg import AsyncConnection

from notifications.delivery import questions
from notifications.delivery.judged import Judged, Now
from notifications.delivery.questions import Due
from notifications.door import Appended, Entry, append_async
from notifications.policy.evidence import (
    Consequence,
    EvidenceFacts,
    Held,
    ask_again_s,
    blocks_for,
    confirm_s,
    decide_evidence,
    decide_older,
)
from notifications.providers.base import LookupResult
from notifications.states import DeliveryStatus, EntryKind, Found, Known, Outcome, State
from notifications.types import Registry

logger = logging.getLogger(__name__)

# Something moved while the provider was being asked: ask about what is so now.
_AT_ONCE_S: Final = 2.0
# An attempt still runs, and its own answer may say the same: ask when its result, or the lease's end, is there.
_AFTER_THE_CALL_S: Final = 15.0
# In the order in which one answer's entries follow each other.
_FOLLOWING: Final = (
    EntryKind.RESTORED,
    EntryKind.SETTLED,
    EntryKind.CONTRADICTED,
    EntryKind.RECEIPT,
    EntryKind.UNCONFIRMED,
    EntryKind.FREED,
)
_NOW: Final = f"""
SELECT i.id, i.state, i.seq, i.generation, i.known, i.error_code, i.delivery_status, i.provider_message_id,
    coalesce(i.confirm_at <= t.now, false) AND a.declares_receipts AS confirming,
    CASE WHEN i.error_code = 'restored' THEN (
        SELECT l.detail FROM notifyops_private.notifications_logentry l
        WHERE l.intent_id = i.id AND l.month = i.month AND l.code = 'restored' ORDER BY l.seq DESC LIMIT 1) END AS held,
    i.error_code = 'restored' AND EXISTS (
        SELECT FROM ({questions.LISTED_FOR}) r, notifyops_private.reach_v1(i.account_id) AS o(id) WHERE NOT EXISTS (
        SELECT FROM notifyops_private.notifications_recoverylist l
        WHERE l.recovery_id = r.id AND l.account_id = o.id AND l.done_at IS NOT NULL)) AS unread,
    coalesce(i.snoozed_until > t.now, false) AS aside
FROM (SELECT notifyops_private.clock_v1() AS now OFFSET 0) t
JOIN notifyops_private.notifications_intent i ON i.id = ANY (%s::bigint[])
JOIN notifyops_private.notifications_provideraccount a ON a.id = i.account_id
"""
_BLOCK: Final = "SELECT notifyops_private.block_v1(%s::bigint[], %s::integer[], %s::text[])"


async def keep(
    connection: AsyncConnection[Any], types: Registry, batch: Sequence[tuple[Due, LookupResult]], worker: str
) -> int:
    """Write the answers as evidence, and what follows from them; one transaction. Give how many there were.

    What follows is judged by the intent as it stands now, and written only where it has not moved meanwhile: a receipt
    may have named a message while the provider was being asked. What was refused is asked about again.
    """
    if not batch:
        return 0
    async with connection.transaction():
        judged = await _judged(connection, batch)
        told = [_evidence(one) for one in judged if one.is_kept and (one.after or _is_news(one))]
        written = await append_async(connection, EntryKind.EVIDENCE, told, worker=worker)
        moved = {one.intent_id for one in written if one.refused}
        # From here on the intents are locked: nothing that was judged can change.
        kept = [one for one in judged if one.is_kept and one.row.id not in moved]
        for kind in _FOLLOWING:
            entries = [_entry(types, one, each) for one in kept for each in one.after if each.kind is kind]
            _warn(kind, await append_async(connection, kind, entries, worker=worker))
        await _block(connection, kept)
        await questions.answered(connection, [(one.row, _again_s(one)) for one in kept if one.is_answered])
        await questions.ask_again(connection, sorted(moved), _AT_ONCE_S)
        outlived = [one.row.id for one in judged if one.outlived]
        await questions.ask_again(connection, outlived, _AFTER_THE_CALL_S)
    return len(batch)


async def _judged(connection: AsyncConnection[Any], batch: Sequence[tuple[Due, LookupResult]]) -> list[Judged]:
    found = [(row.id, mail) for row, result in batch for mail in result.ids]
    taken = await questions.taken(connection, found) if found else set()
    cursor = await connection.execute(_NOW, ([row.id for row, _ in batch],))
    now = {each[0]: Now(*each) for each in await cursor.fetchall()}
    return [_judge(row, result, now[row.id], id_taken=row.id in taken) for row, result in batch]


def _judge(row: Due, result: LookupResult, now: Now, *, id_taken: bool) -> Judged:
    recorded = now.provider_message_id if now.generation == row.generation else None
    own = len(result.ids) == 1 and recorded in (None, *result.ids) and not id_taken
    one = Judged(row, result, now, (), own)
    if not one.is_answered:
        is_fact = one.is_kept and result.answer is Found.FOUND
        return one._replace(after=decide_older(result, State(now.state))) if is_fact else one
    return one._replace(after=decide_evidence(result, _facts(row, now, id_taken=id_taken)))


def _facts(row: Due, now: Now, *, id_taken: bool) -> EvidenceFacts:
    return EvidenceFacts(
        state=State(now.state),
        delivery_status=DeliveryStatus(now.delivery_status),
        known=Known(now.known) if now.known else None,
        error_code=now.error_code,
        recorded=now.provider_message_id,
        confirming=now.confirming,
        is_last=ask_again_s(row.asked_count + 1) is None,
        id_taken=id_taken,
        held=None if now.held is None or now.unread else Held.of(now.held),
        aside=now.aside,
    )


def _is_news(one: Judged) -> bool:
    """Say whether an answer is written: it proves something, somebody waits for it, or it was not said just before."""
    if one.row.older:
        proves = one.result.answer in (Found.FOUND, Found.NOT_FOUND)
        return proves and (one.row.wanted_by is not None or one.result.answer is Found.FOUND)
    if one.result.answer in (Found.FOUND, Found.NOT_FOUND) or one.row.wanted_by is not None:
        return True
    if one.row.first_after_restore:  # the recovery's end is judged by it
        return True
    return (one.result.answer, one.result.code) != (one.row.said, one.row.said_code)


def _evidence(one: Judged) -> Entry:
    row, result = one.row, one.result
    detail: dict[str, Any] = {"method": result.method, "asked_at": row.now.isoformat(timespec="milliseconds")}
    if result.ids:
        detail |= {"ids": list(result.ids), "status": result.status.value}
    if one.is_of_an_older:
        detail["generation"] = row.generation
    if row.wanted_by is not None:
        detail["asked_by"] = row.wanted_by
    return Entry(
        id=row.id,
        # What was found stays true whatever happened meanwhile, and is judged by what is so now. Absence holds only
        # for what was asked about.
        seq=one.now.seq if result.answer is Found.FOUND or row.older else row.seq,
        outcome=result.answer,
        code=result.code,
        detail=detail,
    )


def _entry(types: Registry, judged: Judged, one: Consequence) -> Entry:
    row, result = judged.row, judged.result
    detail: dict[str, Any] | None = {"ids": list(result.ids)} if result.ids else None
    wait_s = -1.0 if one.confirmed else None
    if one.kind is EntryKind.SETTLED and not one.confirmed:
        wait_s = confirm_s(types.get(row.type), declares_receipts=row.declares_receipts)
    if detail and (one.kind is EntryKind.RECEIPT or judged.is_of_an_older):
        detail |= {"says": judged.told.value} | ({"generation": row.generation} if judged.is_of_an_older else {})
    return Entry(
        id=row.id,
        to_state=one.to_state,
        outcome=Outcome.ACCEPTED if one.kind is EntryKind.SETTLED else None,
        code=one.code,
        known=one.known,
        next_action=one.next_action,
        provider_message_id=one.provider_message_id,
        delivery_status=one.delivery_status,
        detail=detail,
        confirm_s=wait_s,
        ambiguous=one.ambiguous,
        delay_s=0.0 if one.kind is EntryKind.FREED else None,
    )


async def _block(connection: AsyncConnection[Any], judged: Iterable[Judged]) -> None:
    """Leave the addresses alone whose owners or servers refused, as a receipt would have it."""
    found = [one for one in judged if one.result.answer is Found.FOUND and one.is_its_own]
    said = [(one.row.id, one.row.generation, blocks_for(one.told)) for one in found]
    if blocked := [each for each in said if each[2] is not None]:
        await connection.execute(_BLOCK, [list(column) for column in zip(*blocked, strict=True)])


def _again_s(one: Judged) -> float | None:
    is_settled = one.result.answer in (Found.FOUND, Found.NOT_FOUND) and (bool(one.after) or not one.now.unread)
    return None if is_settled else ask_again_s(one.row.asked_count + 1)


def _warn(kind: EntryKind, written: Sequence[Appended]) -> None:
    """Say what the door did not write; the evidence stands in the log all the same."""
    for one in written:
        if one.refused:
            extra = {"action": "evidence_refused", "intent": one.intent_id}
            logger.warning("%s refused: %s", kind.value, one.refused, extra=extra)
