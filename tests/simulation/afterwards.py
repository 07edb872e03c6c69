"""What must hold of what came after the calls: receipts, answers of the provider, and what people did on their word.

The truth is what the provider saw happen (courier.py). Intents that it lied about are judged by nobody here.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

from psycopg.rows import dict_row

from notifications.states import DeliveryStatus, Known, NextAction, State
from tests.simulation import arrivals, orders, pausing, restoring
from tests.simulation.courier import CAME_BACK, Event
from tests.simulation.database import at
from tests.simulation.lookups import MOST_APART_S
from tests.simulation.provider import Acceptance
from tests.simulation.violation import Violation
from tests.simulation.world import SETTLES_WITHIN_S, World

_SEVERITY: Final = list(DeliveryStatus)
_BLOCKS: Final = frozenset({DeliveryStatus.SUPPRESSED, DeliveryStatus.BOUNCED, DeliveryStatus.COMPLAINED})
_BAD: Final = frozenset({*_BLOCKS, *CAME_BACK})
_STANDS: Final = """
SELECT i.id, i.created_at, i.report_id, i.type, i.state, i.known, i.next_action, i.error_code, i.generation,
    i.safe_until, i.delivery_status, i.provider_message_id, q.due_at, q.asked_at, i.notification_id, i.supersedes_id,
    (SELECT count(*) FROM notifyops_private.notifications_logentry l WHERE l.intent_id = i.id AND l.month = i.month
     AND l.kind = 'claimed' AND l.detail ? 'possible_duplicate') AS told_duplicates,
    (SELECT EXISTS (SELECT FROM notifyops_private.notifications_deliveryblock b
     WHERE b.commitment = c.commitment AND b.channel = i.channel)
     FROM notifyops_private.notifications_content c WHERE c.intent_id = i.id) AS blocked
FROM notifyops_private.notifications_intent i
LEFT JOIN notifyops_private.notifications_question q ON q.intent_id = i.id
WHERE i.account_id = ANY (%s) ORDER BY i.id
"""
# A round of asking ends within a minute; a process may stand still before it writes.
KEPT_WITHIN: Final = timedelta(minutes=10)
_LOG: Final = """
SELECT l.intent_id, l.seq, l.at, l.kind, l.attempt, l.generation, l.outcome, l.code, l.actor, l.reason_code, l.worker,
    l.detail
FROM notifyops_private.notifications_logentry l WHERE l.intent_id = ANY (%s) ORDER BY l.intent_id, l.seq
"""
# By what the event says, not by our row for it: whatever number it was kept under.
_TWICE: Final = """
SELECT l.intent_id, v.type, l.kind, count(*) FROM notifyops_private.notifications_logentry l
JOIN notifyops_private.notifications_providerevent v ON v.id = (l.detail ->> 'event')::bigint
WHERE l.intent_id = ANY (%s) AND l.kind IN ('receipt', 'settled')
GROUP BY 1, 2, 3, v.provider_message_id, v.occurred_at HAVING count(*) > 1
"""
# A restored database gives numbers out again: what is five minutes older than the notification is another one's
# (docs/restore.md). Where the clocks stood farther apart than that, its own looks so too.
CLOCKS_APART: Final = timedelta(minutes=5)
_PARKED: Final = """
SELECT v.type, v.tag_intent FROM notifyops_private.notifications_parkedreceipt p
JOIN notifyops_private.notifications_providerevent v ON v.id = p.event_id
LEFT JOIN notifyops_private.notifications_intent i ON i.id = v.tag_intent
WHERE NOT (%(restored)s AND coalesce(v.occurred_at < i.created_at - interval '5 minutes', false))
"""


def is_heard(world: World) -> bool:
    """Say whether every event has come and was applied, and nothing is left to ask about in the time there is."""
    if not world.courier.is_idle:
        return False
    until = world.wires.moment_at((world.calm_since or 0.0) + SETTLES_WITHIN_S)
    row = world.database.owner.execute(_WAITS, {"until": until, "restored": world.is_restored}).fetchone()
    return row == (False,)


_WAITS: Final = f"""
SELECT EXISTS ({_PARKED}) OR EXISTS (
    SELECT FROM notifyops_private.notifications_intent i
    LEFT JOIN notifyops_private.notifications_question q ON q.intent_id = i.id
    WHERE CASE WHEN i.state = 'needs_review' AND i.next_action = 'query_provider' AND i.known IN ('unknown', 'conflict')
            THEN q.due_at <= %(until)s OR (q.about = 'review' AND q.since >= i.review_since) IS NOT TRUE
        WHEN i.confirm_at <= %(until)s THEN q.due_at <= %(until)s OR q.about IS DISTINCT FROM 'confirm'
        ELSE q.wanted_at IS NOT NULL END)
"""


def violations(world: World) -> list[Violation]:
    """Give every broken promise about what came after the calls; count what ended without a person."""
    owner = world.database.owner
    stands = owner.cursor(row_factory=dict_row).execute(_STANDS, (world.accounts,)).fetchall()
    ids = [one["id"] for one in stands]
    log: dict[int, list[dict[str, Any]]] = {intent: [] for intent in ids}
    for entry in owner.cursor(row_factory=dict_row).execute(_LOG, (ids,)).fetchall():
        log[entry["intent_id"]].append(entry)
    found = [
        Violation("applied_twice", f"intent {intent}: {kind} of {event} stands {count} times in the log")
        for intent, event, kind, count in owner.execute(_TWICE, (ids,)).fetchall()
    ]
    found += [
        Violation("not_applied", f"intent {one[1]}: {one[0]}")
        for one in owner.execute(_PARKED, {"restored": world.is_restored}).fetchall()
    ]
    found += _false_absences(world, log)
    found += arrivals.violations(world, stands, log)
    found += pausing.violations(world)
    found += restoring.violations(world)
    for intent in stands:
        for deed in orders.deeds(intent, log[intent["id"]]):
            world.scheduler.plan.coverage.taken[f"deed × {deed}"] += 1
        found += _blocks(world, intent)
        if intent["id"] not in world.provider.lied_about:
            found += _status(world, intent, log[intent["id"]])
            found += orders.violations(world, intent, log[intent["id"]])
            found += _doubts(world, intent, log[intent["id"]])
    return found


def _false_absences(world: World, log: dict[int, list[dict[str, Any]]]) -> Iterator[Violation]:
    """What was kept of an absence that was none; one that had been overtaken is dropped, and harms nobody."""
    for absence in world.provider.absences:
        said = [one["at"] for one in log.get(absence.intent, ()) if one["outcome"] == "not_found"]
        if any(absence.at <= at <= absence.at + KEPT_WITHIN for at in said):
            yield Violation("false_absence", f"intent {absence.intent}: {absence.detail}")


def arrived_or_may(messages: list[Acceptance], world: World) -> list[Acceptance]:
    """Give the messages that were not known to have come back when the next one went out, oldest first."""
    left = []
    for place, one in enumerate(messages):
        later = messages[place + 1].at if place + 1 < len(messages) else None
        back = [event.at for event in world.courier.events if event.message is one and event.says in CAME_BACK]
        if not back or (later is not None and min(back) > later):
            left.append(one)
    return left


def came_back(message: Acceptance, world: World) -> bool:
    """Say whether the provider gave a message up, so that another may be sent for it."""
    heard = world.said.get(message.intent, set())
    told = [one for one in world.courier.events if one.message is message and (one.kept or one.says in heard)]
    return any(one.says in CAME_BACK for one in told)


def _blocks(world: World, intent: dict[str, Any]) -> Iterator[Violation]:
    told = [event for event in world.courier.kept_of(intent["id"]) if event.says in _BLOCKS]
    if world.is_restored:
        told = [event for event in told if at(event.at, world.wires.start) >= intent["created_at"] - CLOCKS_APART]
    if told and not intent["blocked"]:
        yield Violation("not_blocked", f"{intent['report_id']}: {told[0].type} was told, and its address is open")


def _status(world: World, intent: dict[str, Any], log: list[dict[str, Any]]) -> Iterator[Violation]:
    """Compare with the gravest event that reached us about the message that stands on record."""
    name = f"{intent['report_id']} ({intent['state']}, {intent['error_code']})"
    told = [one for one in world.courier.kept_of(intent["id"]) if _is_on_record(one, intent)]
    status = DeliveryStatus(intent["delivery_status"])
    gravest = max((one.says for one in told), key=_SEVERITY.index, default=DeliveryStatus.NONE)
    known = {one.says for one in told} | world.said.get(intent["id"], set()) | {DeliveryStatus.NONE}
    if status not in known:
        yield Violation("status_made_up", f"{name}: {status}, where only {sorted(known)} were said")
    if _SEVERITY.index(status) < _SEVERITY.index(gravest) and not _arrived(status, gravest):
        yield Violation("status_too_mild", f"{name}: {status}, and {gravest} was told")
    this = (intent["id"], intent["generation"])
    theirs = [one for one in world.provider.accepted if (one.intent, one.generation) == this]
    if intent["error_code"] == "second_message" and intent["state"] == State.NEEDS_REVIEW and len(theirs) < 2:
        yield Violation("false_contradiction", f"{name}: there is no second message")
    if intent["state"] == State.ACCEPTED and status in _BAD:
        yield Violation("shown_as_accepted", f"{name}: {status}")


def _is_on_record(event: Event, intent: dict[str, Any]) -> bool:
    message = event.message
    return (message.message_id, message.generation) == (intent["provider_message_id"], intent["generation"])


def _arrived(status: DeliveryStatus, gravest: DeliveryStatus) -> bool:
    """Say whether a milder word lawfully stands: it arrived after it had come back for a while."""
    return (status, gravest) == (DeliveryStatus.DELIVERED, DeliveryStatus.SOFT_BOUNCED)


def _doubts(world: World, intent: dict[str, Any], log: list[dict[str, Any]]) -> Iterator[Violation]:
    """What the provider has and shows is settled by asking it, without a person."""
    this = intent["generation"]
    there = [one for one in world.provider.accepted if (one.intent, one.generation) == (intent["id"], this)]
    ended = [one["outcome"] for one in log if one["kind"] in ("result", "lease_lost") and one["generation"] == this]
    in_doubt = "unknown" in ended or "conflict" in ended
    if len(there) != 1 or not in_doubt:
        return
    is_open = intent["state"] == State.NEEDS_REVIEW and intent["known"] in (Known.UNKNOWN, Known.CONFLICT)
    if is_open and intent["next_action"] == NextAction.QUERY_PROVIDER:
        asked_at = intent["asked_at"]
        calm = world.wires.moment_at((world.calm_since or 0.0) + 150.0)
        # Farther apart than assumption 5 has it, and seen to be: what it shows is not looked for where it stands.
        apart = world.scheduler.farthest_off_s > MOST_APART_S and _last_answer(log) == "lookup.clock_apart"
        if (asked_at is None or asked_at > calm) and not apart:
            yield Violation("not_settled_by_asking", f"{intent['report_id']}: asked at {asked_at}, and still open")
        if apart:
            return
    if not any(one["actor"] for one in log):
        world.scheduler.plan.coverage.doubts["alone" if not is_open else "left"] += 1


def _last_answer(log: list[dict[str, Any]]) -> str | None:
    return next((one["code"] for one in reversed(log) if one["kind"] == "evidence"), None)
