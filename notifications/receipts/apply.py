"""Apply what was received, in the order of arrival: each event ends in at most one entry that says what it said.

Exactly once, because the parked row goes in the transaction that writes the entry. One append a transaction: two would
hold the first one's intents while waiting for the second one's, and could deadlock with the loops' recorders.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from psycopg import AsyncConnection

from notifications.door import Entry, append_async
from notifications.policy.evidence import blocks_for, confirm_s
from notifications.policy.receipt import WAIT, ReceiptDecision, ReceiptFacts, decide_receipt
from notifications.receipts.parked import Taken, block, let_go, note_forgotten, take
from notifications.receipts.parse import QUIET
from notifications.states import DeliveryStatus, EntryKind, Known, State
from notifications.types import Registry, registry

logger = logging.getLogger(__name__)

WORKER: Final = "receipts"
BATCH: Final = 500
# Of one call: at 2,000 a second and more it ends within seconds, and the other chores get their turn.
MOST_PASSES: Final = 40
# Too early: looked at again after half its age, so that a long wait costs little.
SOONEST_S, LATEST_S = 1.0, 60.0
# A message of ours settles within its ladder, its window and a person's look at it.
OURS_FOR_S: Final = 7 * 86_400.0
# What nobody here knows is another sender's on the same account, or was lost with a restored database.
UNKNOWN_FOR_S: Final = 3_600.0


@dataclass(slots=True)
class _Pass:
    """What one transaction is to do."""

    entries: dict[EntryKind, list[tuple[Taken, ReceiptDecision]]] = field(default_factory=dict)
    done: list[int] = field(default_factory=list)
    later: dict[int, float] = field(default_factory=dict)
    lost: int = 0


async def apply_received(connection: AsyncConnection[Any], types: Registry = registry) -> int:
    """Apply what is due; give how many events were dealt with for good. Opens its own transactions."""
    dealt = 0
    for _ in range(MOST_PASSES):
        taken, done = await _one_pass(connection, types)
        dealt += done
        if not taken:
            break
    return dealt


async def _one_pass(connection: AsyncConnection[Any], types: Registry) -> tuple[int, int]:
    """Take a batch; give how many were due, and how many of them are dealt with."""
    async with connection.transaction():
        taken = await take(connection, BATCH)
        if not taken:
            return 0, 0
        plan = _planned(taken)
        # What must not go out first, then proofs: what else is said of these is then judged from where they stand.
        for kind in (EntryKind.RESTORED, EntryKind.SETTLED, EntryKind.CONTRADICTED, EntryKind.RECEIPT):
            if kind in plan.entries:
                await _append(connection, kind, plan, types)
                break
        # At once, also where the entry must wait: nothing more may go out to these addresses.
        await block(connection, _reasons(taken))
        await note_forgotten(connection, [one.event for one in taken if one.is_forgotten])
        await let_go(connection, done=plan.done, later=plan.later)
    if plan.lost:
        logger.warning("receipts given up: %d", plan.lost, extra={"action": "receipts_given_up"})
    return len(taken), len(plan.done)


def _planned(taken: Sequence[Taken]) -> _Pass:
    """Decide on each event; of several about one intent the first acts, the others stay for the next pass."""
    plan, busy = _Pass(), set[int]()
    for one in taken:
        if one.intent is not None and one.intent in busy:
            continue
        if one.lost_of is not None:
            # Noted, so that nobody corrects that address once more; of the message itself nothing is here.
            plan.done.append(one.event)
            continue
        decision = _decided(one)
        if decision.waits:
            _put_off(one, plan)
            continue
        if decision.kind is None:
            plan.done.append(one.event)
            continue
        assert one.intent is not None
        busy.add(one.intent)
        plan.entries.setdefault(decision.kind, []).append((one, decision))
    return plan


def _decided(one: Taken) -> ReceiptDecision:
    said = one.says
    if one.intent is None or said is None:
        return WAIT
    return decide_receipt(
        ReceiptFacts(
            says=said,
            quiet=one.type in QUIET,
            message_id=one.message_id,
            generation=one.generation,
            state=State(one.state),
            current_generation=one.current_generation,
            attempt_count=one.attempt_count,
            delivery_status=DeliveryStatus(one.delivery_status),
            known=Known(one.known) if one.known else None,
            error_code=one.error_code,
            accepted_id=one.accepted_id,
            given_up=bool(one.given_up),
            heard=bool(one.heard),
            ambiguous=bool(one.ambiguous),
        )
    )


def _put_off(one: Taken, plan: _Pass) -> None:
    if one.age_s > (UNKNOWN_FOR_S if one.intent is None else OURS_FOR_S):
        plan.done.append(one.event)
        plan.lost += 1
    else:
        plan.later[one.event] = min(max(one.age_s / 2, SOONEST_S), LATEST_S)


async def _append(connection: AsyncConnection[Any], kind: EntryKind, plan: _Pass, types: Registry) -> None:
    """Write the entries of one kind; an intent that moved meanwhile is judged again in a moment."""
    chosen = plan.entries[kind]
    entries = [_entry(one, decision, types) for one, decision in chosen]
    refused = {one.intent_id for one in await append_async(connection, kind, entries, worker=WORKER) if one.refused}
    for one, decision in chosen:
        if one.intent in refused:
            _put_off(one, plan)
        elif not decision.goes_on:
            plan.done.append(one.event)


def _entry(one: Taken, decision: ReceiptDecision, types: Registry) -> Entry:
    assert one.intent is not None
    detail: dict[str, Any] = {"event": one.event, "type": one.type, "says": one.says}
    if one.bounce_class:
        detail["bounce"] = one.bounce_class
    if one.code:
        detail["why"] = one.code
    if one.generation != one.current_generation:
        detail["generation"] = one.generation
    if decision.second:
        # Not in the column: it must not become the intent's id.
        detail["second"] = one.message_id
    is_stopped = decision.kind is EntryKind.RESTORED
    if is_stopped:
        # How it stood, as the recovery's own entry says it (delivery/restore.py).
        detail |= {"attempted": one.attempt_count > 0, "ambiguous": bool(one.ambiguous)}
        detail |= {"known": one.known, "code": one.error_code}
    return Entry(
        id=one.intent,
        to_state=decision.to_state,
        # What was judged must still be so: an intent that moved meanwhile is judged again.
        seq=one.seq,
        outcome="accepted" if decision.kind is EntryKind.SETTLED else None,
        code=decision.code,
        known=decision.known,
        next_action=decision.next_action,
        delivery_status=decision.delivery_status,
        provider_message_id=decision.message_id,
        detail=detail,
        ambiguous=is_stopped or None,
        confirm_s=_confirm_s(one, decision, types),
    )


def _confirm_s(one: Taken, decision: ReceiptDecision, types: Registry) -> float | None:
    """Give when to ask whether it arrived, where the type wants that; negative: it has, and nobody need ask."""
    if decision.delivery_status is DeliveryStatus.DELIVERED:
        return -1.0
    if decision.kind is EntryKind.SETTLED:
        return confirm_s(types.get(one.kind), declares_receipts=True)
    return None


def _reasons(taken: Sequence[Taken]) -> list[tuple[int, int, str]]:
    return [
        (one.intent, one.generation, reason)
        for one in taken
        if one.intent is not None and one.generation is not None and (reason := _reason(one))
    ]


def _reason(one: Taken) -> str | None:
    """Give why the address must be left alone; a failure that is not the address's fault blocks nothing."""
    if one.says is DeliveryStatus.SUPPRESSED and "complaint" in (one.code or ""):
        return "complained"
    return None if one.says is None else blocks_for(one.says)
