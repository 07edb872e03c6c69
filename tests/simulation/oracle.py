"""What must hold whatever happened. The truth is the provider's ledger; the database is asked what it believes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from psycopg.rows import dict_row

from notifications.states import FINAL, Known, State
from tests.simulation.database import at
from tests.simulation.world import SETTLES_WITHIN_S, World

_INTENTS: Final = """
SELECT i.id, i.report_id, i.type, i.state, i.known, i.generation, i.provider_message_id,
    (SELECT count(*) FROM notifyops_private.notifications_logentry l WHERE l.intent_id = i.id AND l.month = i.month
     AND l.kind = 'claimed' AND l.detail ? 'possible_duplicate') AS told_duplicates
FROM notifyops_private.notifications_intent i WHERE i.account_id = %s ORDER BY i.id
"""
_UNSETTLED: Final = """
SELECT count(*) FROM notifyops_private.notifications_intent
WHERE account_id = %s AND state IN ('pending', 'retry', 'sending')
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
    l.code, l.actor
FROM notifyops_private.notifications_intent i JOIN notifyops_private.notifications_logentry l
  ON l.intent_id = i.id AND l.month = i.month
WHERE i.account_id = %s ORDER BY i.id, l.seq
"""
SETTLED: Final = FINAL | {State.ACCEPTED, State.NEEDS_REVIEW}


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise: the name of the check, and what it saw."""

    check: str
    detail: str


def is_settled(world: World) -> bool:
    """Say whether nothing is owed any more, nobody is calling, and nothing is on its way."""
    if world.provider.on_the_way or world.scheduler.waits_at("send", "record", "intake", "claim"):
        return False
    row = world.database.owner.execute(_UNSETTLED, (world.account,)).fetchone()
    return row == (0,)


def violations(world: World) -> list[Violation]:
    """Give every broken promise of a world that has come to its end."""
    cursor = world.database.owner.cursor(row_factory=dict_row)
    intents = cursor.execute(_INTENTS, (world.account,)).fetchall()
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
            found += _against_the_ledger(intent, accepted[intent["id"]])
    return found + list(_invariants(world, [intent["id"] for intent in intents]))


def _lost(world: World, intents: list[dict[str, Any]]) -> Iterator[Violation]:
    """G1: what committed ends settled, in time."""
    for report in sorted(set(world.owed) - {intent["report_id"] for intent in intents}):
        yield Violation("lost", f"{report} was acknowledged and is gone")
    for intent in intents:
        if intent["state"] not in SETTLED:
            yield Violation("not_settled", f"{intent['report_id']} is {intent['state']} after {SETTLES_WITHIN_S:.0f} s")


def _against_the_ledger(intent: dict[str, Any], accepted: list[Any]) -> Iterator[Violation]:
    """G2 and G4: one acceptance where accepted, at most one anywhere, and no claim that nothing went out."""
    name = f"{intent['report_id']} ({intent['type']}, {intent['state']})"
    # A must_arrive message may come twice, where the log has said so before it was sent.
    for key, count in Counter(one.key for one in accepted).items():
        if count > 1 + intent["told_duplicates"]:
            yield Violation("accepted_twice", f"{name}: {count} messages under {key}")
    if len(accepted) > 1 + intent["told_duplicates"]:
        yield Violation("more_than_one_message", f"{name}: {len(accepted)} messages in all")
    if intent["state"] == State.ACCEPTED and intent["provider_message_id"] not in [one.message_id for one in accepted]:
        yield Violation("false_acceptance", f"{name}: {intent['provider_message_id']} is not in the ledger")
    says_nothing_left = intent["known"] in (Known.NOT_SENT, Known.INVALID, Known.SOFT_BOUNCED)
    if says_nothing_left and intent["state"] in (State.NEEDS_REVIEW, State.CANCELLED) and accepted:
        yield Violation("dishonest", f"{name}: known {intent['known']}, and yet a message is out")


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
    for row in world.database.owner.execute(_LOG, (world.account,)).fetchall():
        seconds = (row[2] - at(0, world.wires.start)).total_seconds()
        said = " ".join("–" if cell is None else str(cell) for cell in row[3:])
        lines.append(f"{row[0]} {row[1]} {seconds:.1f} {said}")
    for one in world.provider.accepted:
        lines.append(f"accepted {one.at:.1f} intent {one.intent} {one.key} {one.message_id}")
    return lines
