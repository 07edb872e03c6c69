"""Claim: one transaction that picks due intents, prepares their bytes, and writes what will be tried.

Nothing leaves the machine before its COMMIT is acknowledged. A lease that ran out is closed as lost and, where the
loss model allows, claimed again in the same transaction.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection

from notifications.delivery.due import Due, given_bytes
from notifications.delivery.judge import judge_all
from notifications.delivery.lease import ROOM_TO_RECORD_S, Lease, boot_clock
from notifications.delivery.prepare import plain_language
from notifications.delivery.shop import Account, Rules, Shop
from notifications.door import Appended, Entry, Picked, append_async, pick
from notifications.models.intent import provider_key
from notifications.policy.claim import ClaimDecision
from notifications.policy.evidence import confirm_s
from notifications.policy.retry import decide_lease_lost
from notifications.states import EntryKind, Known, State
from notifications.types import NotificationType

logger = logging.getLogger(__name__)

REOPEN = (
    "UPDATE notifyops_private.notifications_circuit SET open_until = notifyops_private.clock_v1() "
    "WHERE account_id = ANY (%s::bigint[]) AND open_until < 'infinity'"
)


async def claim(
    connection: AsyncConnection[Any], shop: Shop, *, worker: str, room: int, full_lanes: Sequence[int] = ()
) -> list[Lease]:
    """Claim up to `room` due intents and give a lease for each that may be sent now.

    Opens its own transaction. Intents that must not be sent are stopped in it, with the reason in their log.
    """
    began = (shop.clock or boot_clock)()
    # In one pipeline: BEGIN goes with the pick, COMMIT with the entries.
    async with connection.pipeline(), connection.transaction():
        picked = await pick(connection, room, list(shop.accounts), full_lanes)
        if not picked:
            return []
        due = [one for one in picked if one.state != State.SENDING]
        lost = [one for one in picked if one.state == State.SENDING]
        if lost:
            due += await _close_lost(connection, shop, lost, worker)
        cases = await _prepared(connection, shop, due, worker)
        return await _claimed(connection, shop, cases, worker=worker, began=began)


async def _close_lost(connection: AsyncConnection[Any], shop: Shop, lost: list[Picked], worker: str) -> list[Picked]:
    """Close expired leases as lost; give back those that may be claimed again at once."""
    entries = []
    for one in lost:
        kind, account = shop.types.get(one.type), shop.accounts[one.account_id]
        decision = decide_lease_lost(_facts(shop, one, kind, account))
        entries.append(
            Entry(
                id=one.id,
                to_state=decision.to_state,
                fence=one.fence,
                outcome="unknown",
                code=decision.error_code,
                known=decision.known,
                next_action=decision.next_action,
                delay_s=0.0,
                failure=decision.counts_failure,
                ambiguous=True,
                window_s=shop.window_span_s(account) or 0.0,
            )
        )
    closed = {
        one.intent_id: one for one in await append_async(connection, EntryKind.LEASE_LOST, entries, worker=worker)
    }
    return [
        _reclaimable(one, closed[one.id])
        for one in lost
        if closed[one.id].refused is None and closed[one.id].new_state == State.RETRY
    ]


def _reclaimable(one: Picked, closed: Appended) -> Picked:
    assert closed.new_seq is not None
    return one._replace(
        state=State.RETRY.value,
        seq=closed.new_seq,
        failure_count=one.failure_count + 1,
        ambiguous=True,
        known=Known.UNKNOWN.value,
        window_left_s=closed.window_left_s,
    )


async def _prepared(connection: AsyncConnection[Any], shop: Shop, due: list[Picked], worker: str) -> list[Due]:
    """Decide on each due intent and freeze its bytes; stop those that must not or cannot be sent."""
    cases: list[Due] = []
    stopped: dict[EntryKind, list[Entry]] = defaultdict(list)
    looked_at = [Due(one, shop.types.get(one.type), shop.accounts[one.account_id]) for one in due]
    decisions = await judge_all(connection, [(case.picked, case.kind, case.account.idempotent) for case in looked_at])
    with plain_language():
        for case, decision in zip(looked_at, decisions, strict=True):
            verdict = given_bytes(case, shop.rules, decision)
            if verdict.sends:
                cases.append(case)
            else:
                stopped[verdict.kind].append(_stop(case.picked, verdict))
    for entry_kind, entries in stopped.items():
        await append_async(connection, entry_kind, entries, worker=worker)
    going = {case.picked.id for case in cases}
    unused = {one.account_id for one in due if one.probe and one.id not in going}
    if unused:  # a probe that was not sent tells nothing: the next due intent is it, at once
        await connection.execute(REOPEN, (sorted(unused),))
    renewed = [Entry(id=case.picked.id) for case in cases if case.anew]
    refused = {
        one.intent_id: one.refused
        for one in await append_async(connection, EntryKind.RE_PREPARED, renewed, worker=worker)
        if one.refused
    }
    return [case for case in cases if case.picked.id not in refused]


def _stop(one: Picked, decision: ClaimDecision) -> Entry:
    return Entry(
        id=one.id,
        to_state=decision.to_state,
        code=decision.error_code,
        known=decision.known,
        next_action=decision.next_action,
    )


async def _claimed(
    connection: AsyncConnection[Any], shop: Shop, cases: list[Due], *, worker: str, began: float
) -> list[Lease]:
    """Write the `claimed` entries and give the leases of those that the door let through."""
    answers = await append_async(
        connection, EntryKind.CLAIMED, [_claim_entry(case, shop.rules) for case in cases], worker=worker
    )
    through = {one.intent_id for one in answers if one.refused is None}
    for one in answers:
        if one.refused is not None:
            logger.error("claim refused: %s", one.refused, extra={"action": "claim_refused", "intent": one.intent_id})
    return [_lease(shop, case, began=began) for case in cases if case.picked.id in through]


def _claim_entry(case: Due, rules: Rules) -> Entry:
    one, frozen = case.picked, case.frozen
    digest = frozen.sha256 if frozen else one.body_sha256
    detail: dict[str, Any] = {"sha256": digest.hex() if digest else None}
    if case.duplicate:
        detail["possible_duplicate"] = True
    return Entry(
        id=one.id,
        to_state=State.SENDING,
        delay_s=rules.lease_s,
        detail=detail,
        body=frozen.body if frozen else None,
        subject=frozen.subject if frozen else None,
        template_version=frozen.template_version if frozen else None,
        site_mode=rules.site_mode if frozen else None,
    )


def _lease(shop: Shop, case: Due, *, began: float) -> Lease:
    one, account = case.picked, case.account
    body = case.frozen.body if case.frozen else one.body
    assert body is not None
    generation = one.generation + 1 if case.anew else one.generation
    return Lease(
        id=one.id,
        notification_id=one.notification_id,
        account_id=one.account_id,
        lane=one.lane,
        key=provider_key(one.notification_id, one.key_suffix, generation),
        body=body,
        fence=one.fence + 1,
        attempt=one.attempt_count + 1,
        facts=_facts(shop, one, case.kind, account),
        write_until=began + shop.rules.lease_s - account.timeout_s - ROOM_TO_RECORD_S,
        probe=one.probe,
        confirm_s=confirm_s(case.kind, declares_receipts=account.declares_receipts),
        generation=generation,
    )


def _facts(shop: Shop, one: Picked, kind: NotificationType | None, account: Account) -> Any:
    return shop.facts(
        account,
        kind,
        counts=(one.failure_count, one.failure_limit, one.in_flight_count),
        ambiguous=one.ambiguous,
        window_left_s=one.window_left_s,
    )
