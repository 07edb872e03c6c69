"""What must hold whatever happened. The truth is the provider's ledger; the database is asked what it believes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final

from psycopg.rows import dict_row

from notifications.states import FINAL, Known, LossModel, State
from tests.simulation import afterwards, failing_over, restoring
from tests.simulation.database import at
from tests.simulation.violation import Violation
from tests.simulation.world import PEOPLE_STAY_S, SETTLES_WITHIN_S, World

_INTENTS: Final = """
SELECT i.id, i.report_id, i.type, i.state, i.known, i.generation, i.provider_message_id, ARRAY(
    SELECT l.generation::int FROM notifyops_private.notifications_logentry l WHERE l.intent_id = i.id
    AND l.month = i.month AND l.kind = 'claimed' AND l.detail ? 'possible_duplicate') AS told_duplicates, ARRAY(
    SELECT l.generation::int FROM notifyops_private.notifications_logentry l WHERE l.intent_id = i.id
    AND l.month = i.month AND l.kind = 're_prepared' AND l.detail ? 'may_duplicate') AS resent
FROM notifyops_private.notifications_intent i WHERE i.account_id = ANY (%s) ORDER BY i.id
"""
_UNSETTLED: Final = """
SELECT count(*) FILTER (WHERE state IN ('pending', 'retry', 'sending')),
    count(*) FILTER (WHERE state = 'needs_review' AND known IN ('unknown', 'conflict'))
FROM notifyops_private.notifications_intent WHERE account_id = ANY (%s)
"""
_DOCTOR: Final = "SELECT invariant, intent_id, detail FROM notifyops_private.doctor_v1(%s::bigint[])"
_VERIFY: Final = "SELECT * FROM notifyops_private.verify_v1(%s, %s)"
_HOLDERS: Final = """
SELECT r.intent_id, r.attempt, c.worker, r.worker FROM notifyops_private.notifications_logentry r
JOIN notifyops_private.notifications_logentry c ON c.intent_id = r.intent_id AND c.month = r.month
    AND c.kind = 'claimed' AND c.attempt = r.attempt AND c.worker <> r.worker
WHERE r.kind = 'result' AND r.intent_id = ANY (%s)
"""
_LOG: Final = """
SELECT i.id, i.type, l.at, l.kind, l.from_state, l.to_state, l.attempt, l.generation, l.fence, l.worker, l.outcome,
    l.code, l.actor, l.reason_code, l.detail ->> 'event', l.detail ->> 'ids'
FROM notifyops_private.notifications_intent i JOIN notifyops_private.notifications_logentry l
  ON l.intent_id = i.id AND l.month = i.month
WHERE i.account_id = ANY (%s) ORDER BY i.id, l.seq
"""
_PROBES: Final = """
WITH probe AS (
    SELECT c.intent_id, c.attempt, c.at, p.picked, (SELECT min(r.at) FROM notifyops_private.notifications_logentry r
        WHERE r.intent_id = c.intent_id AND r.month = c.month AND r.attempt = c.attempt
          AND r.kind IN ('result', 'lease_lost')) AS ended
    FROM unnest(%(ids)s::bigint[], %(attempts)s::int[], %(picked)s::timestamptz[]) AS p(intent_id, attempt, picked)
    JOIN notifyops_private.notifications_logentry c
      ON c.intent_id = p.intent_id AND c.attempt = p.attempt AND c.kind = 'claimed'
)
SELECT p.at, n.at, p.ended FROM probe p JOIN probe n ON (n.at, n.intent_id) > (p.at, p.intent_id)
    AND n.at < least(p.ended, p.picked + interval '60 seconds')
"""
SETTLED: Final = FINAL | {State.ACCEPTED, State.NEEDS_REVIEW}


def is_settled(world: World) -> bool:
    """Say whether nothing is owed any more, nobody is calling, and nothing is on its way."""
    if (
        world.is_away
        or restoring.is_open(world)
        or world.provider.on_the_way
        or world.scheduler.waits_at("send", "record", "intake", "claim", "apply", "ask", "look")
    ):
        return False
    row = world.database.owner.execute(_UNSETTLED, (world.accounts,)).fetchone()
    assert row is not None
    if row[1] and world.scheduler.now - (world.calm_since or 0.0) < PEOPLE_STAY_S:
        return False
    return row[0] == 0 and afterwards.is_heard(world)


def violations(world: World) -> list[Violation]:
    """Give every broken promise of a world that has come to its end."""
    cursor = world.database.owner.cursor(row_factory=dict_row)
    intents = cursor.execute(_INTENTS, (world.accounts,)).fetchall()
    found = [Violation("unexpected_error", text) for text in world.scheduler.broken]
    for complaint in world.provider.complaints:
        check, _, detail = complaint.partition(": ")
        found.append(Violation(check.replace(" ", "_"), detail))
    found += _lost(world, intents)
    accepted = defaultdict(list)
    for one in world.provider.accepted:
        accepted[one.intent].append(one)
    for intent in intents:
        if intent["id"] not in world.provider.lied_about:
            found += _against_the_ledger(world, intent, accepted[intent["id"]])
    found += afterwards.violations(world)
    found += _probes(world)
    found += failing_over.violations(world)
    return found + list(_invariants(world, [intent["id"] for intent in intents]))


def _lost(world: World, intents: list[dict[str, Any]]) -> Iterator[Violation]:
    """G1: what committed ends settled, in time."""
    for report in sorted(set(world.owed) - {intent["report_id"] for intent in intents}):
        yield Violation("lost", f"{report} was acknowledged and is gone")
    for intent in intents:
        if intent["state"] not in SETTLED:
            yield Violation("not_settled", f"{intent['report_id']} is {intent['state']} after {SETTLES_WITHIN_S:.0f} s")


def _against_the_ledger(world: World, intent: dict[str, Any], accepted: list[Any]) -> Iterator[Violation]:
    """G2 and G4: one acceptance where accepted, at most one anywhere, and no claim that nothing went out."""
    name = f"{intent['report_id']} ({intent['type']}, {intent['state']})"
    told = Counter(intent["told_duplicates"])
    # A must_arrive message may come twice, where the log has said so before it was sent; a restore forgets that it did.
    is_forgotten = intent["id"] in world.forgotten and _repeats(world, intent["type"])
    for (key, generation), count in Counter((one.key, one.generation) for one in accepted).items():
        # What two persons ordered is the first under its key.
        if count > 1 + told[generation] - (generation in intent["resent"]) and not is_forgotten:
            yield Violation("accepted_twice", f"{name}: {count} messages under {key}")
    # A new generation goes out where the old one's message came back.
    if len(afterwards.arrived_or_may(accepted, world)) > 1 + told.total() and not is_forgotten:
        yield Violation("more_than_one_message", f"{name}: {len(accepted)} messages in all")
    theirs = [one.message_id for one in accepted if one.generation == intent["generation"]]
    if intent["state"] == State.ACCEPTED and intent["provider_message_id"] not in theirs:
        yield Violation(
            "false_acceptance",
            f"{name}: {intent['provider_message_id']} is not in the ledger for generation {intent['generation']}",
        )
    says_nothing_left = intent["known"] in (Known.NOT_SENT, Known.INVALID, Known.SOFT_BOUNCED)
    if (
        says_nothing_left
        and intent["state"] in (State.NEEDS_REVIEW, State.CANCELLED)
        and not all(afterwards.came_back(one, world) for one in accepted)
    ):
        yield Violation("dishonest", f"{name}: known {intent['known']}, and yet a message is out")


def _probes(world: World) -> Iterator[Violation]:
    """An open circuit lets one probe through for all hosts: the next one comes after its result, or its minute.

    That begins where it is picked, as its right to call does: a claim that stands still before it is written loses
    both. Where the database's clock was put on or back, its times tell nothing.
    """
    world.scheduler.plan.coverage.taken["weather × probe"] += len(world.probes)
    if world.scheduler.was_stepped or not world.probes:
        return
    for account in world.accounts:
        theirs = [one[1:] for one in world.probes if one[0] == account]
        ids, attempts, picked = ([one[place] for one in theirs] for place in range(3))
        values = {"ids": ids, "attempts": attempts, "picked": picked}
        for first, later, ended in world.database.owner.execute(_PROBES, values).fetchall():
            yield Violation("two_probes", f"at {first} and {later}, and the first one's result came at {ended}")


def _repeats(world: World, name: str) -> bool:
    kind = world.types.get(name)
    return kind is not None and kind.loss_model is LossModel.MUST_ARRIVE


def _invariants(world: World, ids: list[int]) -> Iterator[Violation]:
    """G3: results by the lease's holder, the invariants of `notify doctor`, the chains that `notify verify` checks."""
    owner = world.database.owner
    for intent, attempt, holder, writer in owner.execute(_HOLDERS, (ids,)).fetchall():
        yield Violation("result_by_another", f"intent {intent}: attempt {attempt} of {holder} was ended by {writer}")
    for invariant, intent, detail in owner.execute(_DOCTOR, (ids,)).fetchall():
        # A provider that lied may give one key two ids: that is what the invariant is for.
        if not (invariant == "one_id_per_key" and intent in world.provider.lied_about):
            yield Violation(f"doctor {invariant}", f"intent {intent}: {detail}")
    if ids:
        for intent, seq, problem in owner.execute(_VERIFY, (min(ids), max(ids))).fetchall():
            yield Violation("verify", f"intent {intent}, entry {seq}: {problem}")


def story(world: World) -> list[str]:
    """Give what the database tells of each notification, beside what the provider really accepted."""
    lines = [f"provider: {'keeps keys' if world.provider.keyed else 'knows no keys'}"]
    for row in world.database.owner.execute(_LOG, (world.accounts,)).fetchall():
        seconds = (row[2] - at(0, world.wires.start)).total_seconds()
        said = " ".join("–" if cell is None else str(cell) for cell in row[3:])
        lines.append(f"{row[0]} {row[1]} {seconds:.1f} {said}")
    for one in world.provider.accepted:
        lines.append(f"accepted {one.at:.1f} intent {one.intent} {one.key} {one.message_id}")
    for event in world.courier.events:
        kept = "kept" if event.kept else "never came"
        lines.append(f"event {event.at:.1f} intent {event.message.intent} {event.type} {event.id} {kept}")
    lines.append(f"lied about: {sorted(world.provider.lied_about)}")
    return lines
