"""Claim: one transaction that picks due intents, prepares their bytes, and writes what will be tried.

Nothing leaves the machine before its COMMIT is acknowledged. A lease that ran out is closed as lost and, where the
loss model allows, claimed again in the same transaction.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from psycopg import AsyncConnection

from notifications.delivery.attached import attach
from notifications.delivery.circuits import hold_probes
from notifications.delivery.due import Due, given_bytes, set_roots, time_for
from notifications.delivery.judge import judge_all
from notifications.delivery.lease import ROOM_TO_RECORD_S, Lease, boot_clock
from notifications.delivery.outages import REOPEN
from notifications.delivery.prepare import Moment
from notifications.delivery.rates import spend
from notifications.delivery.render import plain_language
from notifications.delivery.shop import Account, Rules, Shop
from notifications.door import Appended, Entry, Picked, append_async, pick
from notifications.models.intent import provider_key
from notifications.policy import codes
from notifications.policy.claim import ClaimDecision, still_doubted
from notifications.policy.evidence import confirm_s
from notifications.policy.retry import decide_lease_lost
from notifications.states import EntryKind, Known, NextAction, State
from notifications.types import NotificationType

logger = logging.getLogger(__name__)


async def claim(
    connection: AsyncConnection[Any], shop: Shop, *, worker: str, room: int, full_lanes: Sequence[int] = ()
) -> list[Lease]:
    """Claim up to `room` due intents and give a lease for each that may be sent now.

    Opens its own transaction. Intents that must not be sent are stopped in it, with the reason in their log.
    """
    began = (shop.clock or boot_clock)()
    # In one pipeline: BEGIN goes with the pick, COMMIT with the entries.
    async with connection.pipeline(), connection.transaction():
        picked = await pick(connection, room, list(shop.accounts), full_lanes, shop.rules.site_mode)
        if not picked:
            return []
        due = [one for one in picked if one.state != State.SENDING]
        lost = [one for one in picked if one.state == State.SENDING]
        if lost:
            due += await _close_lost(connection, shop, lost, worker)
        cases = await _prepared(connection, shop, due, worker)
        leases = await _claimed(connection, shop, cases, worker=worker, began=began)
        await hold_probes(connection, leases, shop.rules.lease_s)
        if limited := {one.account_id for one in picked if one.limited}:
            await spend(connection, Counter(lease.account_id for lease in leases if lease.account_id in limited))
        return leases


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
    judged = [(case.picked, case.kind, case.account.idempotent) for case in looked_at]
    decisions = await judge_all(connection, judged, shop.rules.site_mode)
    await set_roots(connection, looked_at)
    moment = Moment(shop.rules, await time_for(connection, looked_at))
    ready = await attach(connection, zip(looked_at, decisions, strict=True), worker)
    with plain_language():
        for case, decision in ready:
            verdict = given_bytes(case, moment, decision)
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
    mode = shop.rules.site_mode
    renewed = [
        Entry(id=case.picked.id, detail={"may_duplicate": True} if case.duplicate else None, site_mode=mode)
        for case in cases
        if case.anew
    ]
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
    refused = {one.intent_id: one.refused for one in answers if one.refused is not None}
    for intent, why in refused.items():
        if why != "recovering":  # this loop has not looked for some seconds, and will
            logger.error("claim refused: %s", why, extra={"action": "claim_refused", "intent": intent})
    if refused:
        heard_of = [case for case in cases if refused.get(case.picked.id) == "forgotten"]
        await _hold_forgotten(connection, heard_of, shop.rules.site_mode, worker=worker)
    return [_lease(shop, case, began=began) for case in cases if case.picked.id not in refused]


async def _hold_forgotten(connection: AsyncConnection[Any], cases: list[Due], mode: str, *, worker: str) -> None:
    """Hold what a restored database owes, and of which a receipt lies here or the list has shown a message."""
    held = [
        Entry(
            id=case.picked.id,
            to_state=State.NEEDS_REVIEW,
            code=codes.RESTORED,
            known=still_doubted(case.picked.known),
            next_action=NextAction.QUERY_PROVIDER,
            ambiguous=True,
            detail={
                "attempted": case.picked.attempt_count > 0,
                "ambiguous": case.picked.ambiguous,
                "known": case.picked.known,
                # What comes back of it blocks its address in the mode in which it was made, which nobody else knows.
                "mode": mode,
            },
        )
        for case in cases
    ]
    await append_async(connection, EntryKind.RESTORED, held, worker=worker)
    probed = {case.picked.account_id for case in cases if case.picked.probe}
    if probed:  # as for any probe that was not sent
        await connection.execute(REOPEN, (sorted(probed),))


def _claim_entry(case: Due, rules: Rules) -> Entry:
    one, frozen = case.picked, case.frozen
    digest = frozen.sha256 if frozen else one.body_sha256
    detail: dict[str, Any] = {"sha256": digest.hex() if digest else None}
    detail |= {"template": frozen.template_version} if frozen else {}
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
    if case.anew:  # its key's clock has not started
        one = one._replace(ambiguous=False, window_left_s=None)
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
        ordered=one.manual,
    )


def _facts(shop: Shop, one: Picked, kind: NotificationType | None, account: Account) -> Any:
    facts = shop.facts(
        account,
        kind,
        counts=(one.failure_count, one.failure_limit, one.in_flight_count),
        ambiguous=one.ambiguous,
        window_left_s=one.window_left_s,
    )
    # What a person ordered is one attempt, and its failure theirs to know of, whatever else it tells.
    return replace(facts, probe=True) if one.probe and not one.manual else facts
