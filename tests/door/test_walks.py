"""Long random walks through the real door: every step is a lawful move or changes nothing, whatever is asked."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from notifications.door import Entry, append_call
from notifications.states import MOVES, EntryKind, Known, State
from tests.door.conftest import Owner
from tests.door.logins import LOGINS, Login, acting_as
from tests.door.story import BODY, Story

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.slow]
LAWFUL = {(move.kind, move.from_state, move.to_state, move.who.value) for move in MOVES}
GUARDS = {
    "fence", "seq", "not_due", "not_prepared", "frozen", "hash", "lease_live", "not_expired", "window_open",
    "ambiguous", "not_retried", "known", "window_over", "not_held", "not_adopted", "check", "evidence_old",
    "evidence_used", "no_evidence", "asked", "not_asked", "same_person", "bounds", "not_snoozed", "not_restored",
    "replaced", "arrived",
}  # fmt: skip
# What the loop's policy promises on top of the door, which a random walk does not follow.
BY_POLICY = {"no_send_past_window", "never_twice", "nothing_overdue", "receipts_once_and_verified"}
LIKELY = sorted({(move.kind, move.to_state) for move in MOVES})


@dataclass(frozen=True, slots=True)
class Step:
    """One try; the numbers are mostly right, or nothing would ever move."""

    kind: EntryKind
    to: State
    login: Login
    fence_off: int
    seq_off: int
    delay_s: float
    window_s: float
    known: Known
    with_body: bool
    marks: tuple[bool, bool, bool]


mostly_right = st.sampled_from([0, 0, 0, 0, 0, 0, 0, -1, 1])
steps = st.builds(
    lambda move, *rest: Step(*move, *rest),
    st.sampled_from(LIKELY) | st.tuples(st.sampled_from(EntryKind), st.sampled_from(State)),
    st.sampled_from(LOGINS),
    mostly_right,
    mostly_right,
    st.sampled_from([-1.0, 0.0, 0.0, 60.0]),
    st.sampled_from([-1.0, 3600.0]),
    st.sampled_from(Known),
    st.booleans(),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
)


@given(
    kind=st.sampled_from(["report_ready", "report_approved", "report_once"]),
    walk=st.lists(steps, min_size=10, max_size=60),
)
@settings(
    # 100,000 steps: NOTIFYOPS_TEST_WALKS=3000
    max_examples=int(os.environ.get("NOTIFYOPS_TEST_WALKS", "40")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_random_walk_never_leaves_the_table_of_moves(admin: Owner, kind: str, walk: list[Step]) -> None:
    with admin.transaction(force_rollback=True):
        with acting_as(admin, "owner"):
            story = Story(admin, kind).enqueue(expires_at="2020-01-01T00:00:00Z")
        for step in walk:
            before = facts(admin, story.id)
            refused = tried(admin, story, step, before)
            after = facts(admin, story.id)
            lawful = any((step.kind, before["state"], step.to, who) in LAWFUL for who in step.login.may_be)
            if refused is None:
                assert lawful, step
                assert (after["state"], after["seq"]) == (step.to, before["seq"] + 1)
                assert after["fence"] >= before["fence"]
            else:
                assert after == before
                assert refused in GUARDS | (set() if lawful else {"move", "role"}), step
        assert broken(admin, story.id) == []


def facts(admin: Owner, intent_id: int) -> dict[str, Any]:
    row = admin.execute(
        "SELECT to_jsonb(i) FROM notifyops_private.notifications_intent i WHERE id = %s", (intent_id,)
    ).fetchone()
    assert row is not None
    return dict(row[0])


def tried(admin: Owner, story: Story, step: Step, now: dict[str, Any]) -> str | None:
    """Try the step; give the word of refusal, `check` where a constraint said it, or None."""
    frozen: dict[str, Any] = (
        {"body": BODY, "detail": {"sha256": hashlib.sha256(BODY).hexdigest()}} if step.with_body else {}
    )
    message_id = f"pm-{story.id}-{now['generation']}"
    asked = {"outcome": "found" if step.marks[0] else "not_found", "detail": {"ids": [message_id]}}
    entry = Entry(
        id=story.id,
        to_state=step.to,
        fence=now["fence"] + step.fence_off,
        seq=now["seq"] + step.seq_off if step.login.actor or step.seq_off else None,
        attempt=now["attempt_count"],
        code="code",
        known=step.known,
        next_action="query_provider",
        delay_s=step.delay_s,
        window_s=step.window_s,
        provider_message_id=message_id if step.to is State.ACCEPTED else None,
        reason_code="evidence_not_sent" if step.login.actor else None,
        failure=step.marks[0],
        in_flight=step.marks[1],
        ambiguous=step.marks[2],
        **(frozen if step.kind is EntryKind.CLAIMED else asked if step.kind is EntryKind.EVIDENCE else {}),
    )
    query, values = append_call(step.kind, [entry], worker="w1", actor=step.login.actor)
    try:
        with admin.transaction(), acting_as(admin, step.login.role):
            row = admin.execute(query.encode(), values).fetchone()
    except psycopg.errors.CheckViolation:
        return "check"
    assert row is not None
    return None if row[-1] is None else str(row[-1])


def broken(admin: Owner, intent_id: int) -> list[str]:
    rows = admin.execute(
        "SELECT invariant FROM notifyops_private.doctor_v1(ARRAY[%s::bigint])", (intent_id,)
    ).fetchall()
    rows += admin.execute("SELECT fault FROM notifyops_private.verify_v1(%s, %s)", (intent_id, intent_id)).fetchall()
    return [row[0] for row in rows if row[0] not in BY_POLICY]
