"""Answers that came too late to move their intent: kept, and heard where they prove what nobody knew.

Each of these writes in the caller's transaction, and locks intents alone: circuits have transactions of their own, so
that no two recorders wait for each other.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from psycopg import AsyncConnection

from notifications.delivery.lease import Sent
from notifications.door import Appended, Entry, append_async
from notifications.policy import codes
from notifications.states import EntryKind, Known, NextAction, Outcome, State

logger = logging.getLogger(__name__)

_LATE_ACCEPTANCE: Final = """
SELECT DISTINCT ON (i.id) i.id, l.code, l.detail ->> 'provider_message_id'
FROM notifyops_private.notifications_intent i JOIN notifyops_private.notifications_logentry l
  ON l.intent_id = i.id AND l.month = i.month AND l.generation = i.generation
WHERE i.id = ANY (%s::bigint[]) AND i.state IN ('retry', 'needs_review')
  AND l.kind = 'late' AND l.outcome = 'accepted' AND l.detail ? 'provider_message_id'
  -- The entry stands in the generation of its writing; what it is about says its detail.
  AND coalesce((l.detail ->> 'generation')::integer, l.generation) = i.generation
"""
# One key, and two ids by two answers of the provider. What ended stays ended; what is a case of it already is no news.
_TWO_IDS: Final = """
SELECT i.id, min(l.detail ->> 'provider_message_id')
FROM notifyops_private.notifications_intent i JOIN notifyops_private.notifications_logentry l
  ON l.intent_id = i.id AND l.month = i.month
WHERE i.id = ANY (%s::bigint[]) AND i.state IN ('accepted', 'retry', 'needs_review')
  AND i.provider_message_id IS NOT NULL AND l.kind = 'late' AND l.outcome = 'accepted'
  AND l.detail ->> 'provider_message_id' <> i.provider_message_id
  AND coalesce((l.detail ->> 'generation')::integer, l.generation) = i.generation
  AND NOT EXISTS (SELECT FROM notifyops_private.notifications_logentry c WHERE c.intent_id = i.id
    AND c.month = i.month AND c.generation = i.generation AND c.code = 'second_message')
GROUP BY i.id
"""
_GENERATIONS: Final = "SELECT id, generation FROM notifyops_private.notifications_intent WHERE id = ANY (%s::bigint[])"


async def keep_late(
    connection: AsyncConnection[Any], late: Sequence[Sent], refused: Mapping[int, Appended], worker: str
) -> None:
    """Keep results that came too late as evidence; where one proves acceptance, settle the intent by it."""
    entries = [_entry(sent) for sent in late]
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


async def settle_by_late(connection: AsyncConnection[Any], confirm_s: Mapping[int, float | None], worker: str) -> None:
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


async def contradict(connection: AsyncConnection[Any], ids: Sequence[int], worker: str) -> None:
    """Make a case of each of these that the provider says to have accepted under two ids: it broke its promise."""
    if not ids:
        return
    cursor = await connection.execute(_TWO_IDS, (list(ids),))
    entries = [
        Entry(
            id=intent_id,
            to_state=State.NEEDS_REVIEW,
            code=codes.SECOND_MESSAGE,
            known=Known.ACCEPTED,
            next_action=NextAction.CLOSE_DUPLICATE,
            detail={"second": message_id},
        )
        for intent_id, message_id in await cursor.fetchall()
    ]
    await append_async(connection, EntryKind.CONTRADICTED, entries, worker=worker)


async def _generations(connection: AsyncConnection[Any], ids: list[int]) -> dict[int, int]:
    """Give the present generations: what an older one's call proved is a fact, and settles nothing."""
    cursor = await connection.execute(_GENERATIONS, (ids,))
    return dict(await cursor.fetchall()) if ids else {}


def _entry(sent: Sent) -> Entry:
    result, lease = sent.result, sent.lease
    return Entry(
        id=lease.id,
        fence=lease.fence,
        attempt=lease.attempt,
        outcome=result.outcome,
        code=result.code,
        phase=result.phase,
        http_status=result.http_status,
        duration_ms=sent.duration_ms,
        detail=_detail(sent),
    )


def _detail(sent: Sent) -> dict[str, Any]:
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
