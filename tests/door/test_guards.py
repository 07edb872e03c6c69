"""Each guard of the door, with the move that it lets pass beside the one that it refuses."""

from __future__ import annotations

import hashlib
from typing import Any

import psycopg
import pytest

from notifications.states import EntryKind, State
from tests.door.conftest import Owner, Tell
from tests.door.story import BODY, Story

pytestmark = pytest.mark.django_db(databases=["default", "owner"])
REVIEW: dict[str, Any] = {"code": "code", "known": "not_sent", "next_action": "query_provider"}


def shift(owner: Owner, seconds: int) -> None:
    """Let the database's clock run ahead, in this transaction."""
    owner.execute("SELECT set_config('notifyops_test.shift', %s, true)", (f"{seconds} s",))


def in_review(story: Story, known: str, **columns: Any) -> Story:
    return story.claim().result("not_sent", State.NEEDS_REVIEW, **{**REVIEW, "known": known}, **columns)


def retried(story: Story, **columns: Any) -> str | None:
    return story.append(
        EntryKind.RETRIED, State.RETRY, actor="user:olga", **{"seq": story.seq, "delay_s": 0, **columns}
    )


def test_a_claim_waits_for_the_due_time(owner: Owner, tell: Tell) -> None:
    story = tell(not_before="2100-01-01T00:00:00Z")
    frozen: dict[str, Any] = {"body": BODY, "detail": {"sha256": hashlib.sha256(BODY).hexdigest()}}
    assert story.append(EntryKind.CLAIMED, State.SENDING, delay_s=60, **frozen) == "not_due"
    shift(owner, 80 * 366 * 86400)
    assert story.append(EntryKind.CLAIMED, State.SENDING, delay_s=60, **frozen) is None


def test_a_claim_needs_frozen_bytes_and_cannot_change_them(tell: Tell) -> None:
    story = tell()
    other = hashlib.sha256(b"other").digest()
    assert story.append(EntryKind.CLAIMED, State.SENDING, delay_s=60) == "not_prepared"
    assert (
        story.append(EntryKind.CLAIMED, State.SENDING, delay_s=60, body=BODY, detail={"sha256": other.hex()}) == "hash"
    )
    story.claim().result("not_sent", State.RETRY, delay_s=0)
    frozen: dict[str, Any] = {"body": b"other", "detail": {"sha256": other.hex()}}
    assert story.append(EntryKind.CLAIMED, State.SENDING, delay_s=60, **frozen) == "frozen"
    story.claim()


def test_a_result_needs_the_fence_of_its_claim(tell: Tell) -> None:
    story = tell().claim()
    for fence in (None, 0, 2):
        assert story.append(EntryKind.RESULT, State.RETRY, fence=fence, outcome="not_sent") == "fence"
    assert story.append(EntryKind.RESULT, State.RETRY, fence=1, outcome="not_sent") is None


def test_a_lease_is_lost_only_when_it_is_over(owner: Owner, tell: Tell) -> None:
    story = tell().claim(lease_s=60)
    assert story.append(EntryKind.LEASE_LOST, State.RETRY, fence=1) == "lease_live"
    shift(owner, 61)
    assert story.append(EntryKind.LEASE_LOST, State.RETRY, fence=1) is None


def test_expiry_needs_a_past_expiry_or_an_application_that_wants_it_no_more(owner: Owner, tell: Tell) -> None:
    story = tell(expires_at="2100-01-01T00:00:00Z")
    assert story.append(EntryKind.EXPIRED, State.CANCELLED) == "not_expired"
    assert tell().append(EntryKind.EXPIRED, State.CANCELLED) == "not_expired"
    assert tell().append(EntryKind.EXPIRED, State.CANCELLED, code="no_longer_wanted") is None
    shift(owner, 80 * 366 * 86400)
    assert story.append(EntryKind.EXPIRED, State.CANCELLED) is None


def test_a_window_is_over_only_after_its_end_counted_from_the_claim(owner: Owner, tell: Tell) -> None:
    story = tell().unknown(window_s=600)
    assert story.column("safe_until - first_ambiguous_at").total_seconds() == 600
    assert story.append(EntryKind.WINDOW_OVER, State.NEEDS_REVIEW, **REVIEW) == "window_open"
    shift(owner, 601)
    assert story.append(EntryKind.WINDOW_OVER, State.NEEDS_REVIEW, **REVIEW) is None
    assert retried(story) == "window_over"


def test_a_second_ambiguous_attempt_does_not_move_the_window(owner: Owner, tell: Tell) -> None:
    story = tell().unknown(window_s=600)
    first = story.column("safe_until")
    shift(owner, 100)
    story.unknown(window_s=600)
    assert story.column("safe_until") == first


def test_what_may_have_been_accepted_is_not_superseded(tell: Tell) -> None:
    assert tell().unknown().append(EntryKind.SUPERSEDED, State.CANCELLED) == "ambiguous"
    assert tell().append(EntryKind.SUPERSEDED, State.CANCELLED) is None


def test_only_a_persons_retry_can_be_undone_and_only_before_the_claim(tell: Tell) -> None:
    story = tell().claim().result("not_sent", State.RETRY, delay_s=0)
    undo: dict[str, Any] = {"actor": "user:olga", **REVIEW}
    assert story.append(EntryKind.UNDONE, State.NEEDS_REVIEW, seq=story.seq, **undo) == "not_retried"
    story = in_review(tell(), "not_sent")
    assert retried(story) is None
    assert story.append(EntryKind.UNDONE, State.NEEDS_REVIEW, seq=story.seq, **undo) is None
    assert retried(story) is None
    story.claim()
    assert story.append(EntryKind.UNDONE, State.NEEDS_REVIEW, seq=story.seq, **undo) == "move"


@pytest.mark.parametrize("known", ["accepted", "conflict", "bounced", "complained", "suppressed"])
def test_what_is_known_to_have_arrived_or_to_be_unwelcome_is_not_retried(tell: Tell, known: str) -> None:
    assert retried(in_review(tell(), known)) == "known"


def test_a_retry_gives_one_attempt_and_is_due_when_it_says(tell: Tell) -> None:
    story = in_review(tell(), "not_sent", failure=True)
    assert retried(story, delay_s=8) is None
    assert story.column("failure_limit - failure_count") == 1
    assert 7 < story.column("extract(epoch FROM next_attempt_at - clock_timestamp())") <= 8


def test_what_waits_for_approval_is_released_and_not_retried(tell: Tell) -> None:
    story = tell("report_approved")
    assert retried(story) == "known"
    assert story.append(EntryKind.RELEASED, State.PENDING, actor="user:lena", seq=1) is None
    other = in_review(tell(), "not_sent")
    assert other.append(EntryKind.RELEASED, State.PENDING, actor="user:lena", seq=other.seq) == "not_held"


@pytest.mark.parametrize(("known", "refused"), [("invalid", None), ("soft_bounced", None), ("unknown", "ambiguous")])
def test_a_new_generation_needs_proof_that_nothing_of_the_old_one_arrives(
    tell: Tell, known: str, refused: str | None
) -> None:
    story = in_review(tell(), known)
    assert retried(story) is None
    assert story.append(EntryKind.RE_PREPARED) == refused
    assert story.column("generation") == (1 if refused else 2)
    if refused is None:
        assert story.append(EntryKind.CLAIMED, State.SENDING, delay_s=60) == "not_prepared"


def test_an_acceptance_that_no_person_adopted_is_not_reopened(tell: Tell) -> None:
    story = tell().accepted()
    assert story.append(EntryKind.REOPENED, State.NEEDS_REVIEW, actor="user:lena", seq=2, **REVIEW) == "not_adopted"


def test_a_person_must_have_seen_the_last_entry(tell: Tell) -> None:
    story = in_review(tell(), "not_sent")
    for seq in (None, story.seq - 1, story.seq + 1):
        assert retried(story, seq=seq) == "seq"
    assert retried(story) is None


def test_a_refusal_concerns_its_own_intent_only(owner: Owner, tell: Tell) -> None:
    from notifications.door import Entry, append_call

    good, bad = tell().claim(), tell()
    entries = [Entry(id=one, to_state=State.RETRY, fence=1, outcome="not_sent") for one in (good.id, bad.id, -1)]
    query, values = append_call(EntryKind.RESULT, entries, worker="w1")
    refused = {row[0]: row[-1] for row in owner.execute(query.encode(), values).fetchall()}
    assert refused == {good.id: None, bad.id: "fence", -1: "missing"}
    assert (good.column("state"), bad.column("state")) == ("retry", "pending")


@pytest.mark.parametrize("lowered", [0, 1])
def test_a_fence_never_falls_even_with_an_entry_that_fits(owner: Owner, tell: Tell, lowered: int) -> None:
    """Whoever writes log and intent as their owner still cannot let an old lease's answer in."""
    story = tell().claim().result("not_sent", State.RETRY, delay_s=0).claim()
    owner.execute(
        """
        INSERT INTO notifyops_private.notifications_logentry (month, intent_id, seq, at, kind, from_state, to_state,
            attempt, generation, trigger, fence, prev, hash)
        SELECT i.month, i.id, i.seq + 1, now(), 'evidence', i.state, i.state, i.attempt_count, i.generation, 'auto',
            i.fence, i.head, sha256('any')
        FROM notifyops_private.notifications_intent i WHERE i.id = %s
        """,
        (story.id,),
    )
    update = (
        "UPDATE notifyops_private.notifications_intent SET seq = seq + 1, head = sha256('any'), fence = fence - %s "
        "WHERE id = %s"
    )
    if not lowered:
        owner.execute(update, (lowered, story.id))
        return
    with pytest.raises(psycopg.DatabaseError, match="state moves only by appending"):
        owner.execute(update, (lowered, story.id))


def test_attempts_are_counted_beyond_what_a_small_integer_holds(owner: Owner, tell: Tell) -> None:
    """Rate limits cost no failure, so that an account which never recovers makes attempts for years."""
    story = tell().claim().result("not_sent", State.RETRY, delay_s=0)
    owner.execute("ALTER TABLE notifyops_private.notifications_intent DISABLE TRIGGER USER")
    owner.execute("UPDATE notifyops_private.notifications_intent SET attempt_count = 32767 WHERE id = %s", (story.id,))
    owner.execute("ALTER TABLE notifyops_private.notifications_intent ENABLE ALWAYS TRIGGER guarded")
    story.claim()
    assert story.column("attempt_count") == 32768


EVIDENCE: dict[str, Any] = {"reason_code": "evidence_not_sent"}


def test_past_the_window_a_retry_needs_the_providers_word_that_nothing_arrived(owner: Owner, tell: Tell) -> None:
    story = tell().unknown(State.NEEDS_REVIEW, window_s=-1)
    assert retried(story, **EVIDENCE) == "window_over"
    for answer in ("unavailable", "inconclusive", "found"):
        assert retried(story.evidence(answer), **EVIDENCE) == "window_over"
    story.evidence("not_found")
    assert retried(story) == "window_over", "ordered for another reason"
    shift(owner, 601)
    assert retried(story, **EVIDENCE) == "evidence_old"
    story.evidence("not_found").evidence("unavailable")
    assert retried(story, **EVIDENCE) is None
    story.claim()


def test_evidence_says_nothing_of_an_attempt_that_began_after_it(owner: Owner, tell: Tell) -> None:
    story = tell().unknown(window_s=60).evidence("not_found").unknown(State.NEEDS_REVIEW, window_s=60)
    shift(owner, 61)
    assert retried(story, **EVIDENCE) == "evidence_old"
    assert retried(story.evidence("not_found"), **EVIDENCE) is None


def test_evidence_is_of_its_generation(tell: Tell) -> None:
    story = in_review(tell(), "invalid").evidence("found", "pm-9")
    assert retried(story) is None
    assert story.append(EntryKind.RE_PREPARED) is None
    frozen: dict[str, Any] = {"body": BODY, "detail": {"sha256": hashlib.sha256(BODY).hexdigest()}}
    assert story.append(EntryKind.CLAIMED, State.SENDING, delay_s=60, **frozen) is None
    story.attempts += 1
    story.result("unknown", State.NEEDS_REVIEW, ambiguous=True, window_s=-1)
    adopt: dict[str, Any] = {"actor": "user:lena", "provider_message_id": "pm-9"}
    assert story.append(EntryKind.ADOPTED, State.ACCEPTED, seq=story.seq, **adopt) == "no_evidence"


def test_what_the_provider_has_is_not_claimed_past_the_window_whatever_was_ordered(owner: Owner, tell: Tell) -> None:
    story = tell().unknown(State.NEEDS_REVIEW, window_s=60).evidence("found", "pm-1")
    assert retried(story, **EVIDENCE) is None, "inside the window the key protects"
    shift(owner, 61)
    assert story.append(EntryKind.CLAIMED, State.SENDING, delay_s=60) == "window_over"


def test_an_order_on_evidence_buys_one_attempt(tell: Tell) -> None:
    story = tell().unknown(State.NEEDS_REVIEW, window_s=-1).evidence("not_found")
    assert retried(story, **EVIDENCE) is None
    story.claim().result("not_sent", State.RETRY, delay_s=0)  # put off, as by a rate limit: nothing was tried
    story.claim().result("not_sent", State.RETRY, delay_s=0, failure=True)
    assert story.append(EntryKind.CLAIMED, State.SENDING, delay_s=60) == "window_over"


@pytest.mark.parametrize("known", ["bounced", "soft_bounced", "complained", "suppressed"])
def test_what_came_back_is_not_adopted(tell: Tell, known: str) -> None:
    story = in_review(tell(), known).evidence("found", "pm-1")
    adopt: dict[str, Any] = {"actor": "user:lena", "provider_message_id": "pm-1"}
    assert story.append(EntryKind.ADOPTED, State.ACCEPTED, seq=story.seq, **adopt) == "known"


def test_nothing_is_unconfirmed_before_its_time_or_unasked(owner: Owner, tell: Tell) -> None:
    review = {**REVIEW, "known": "accepted"}
    assert tell().accepted().append(EntryKind.UNCONFIRMED, State.NEEDS_REVIEW, **review) == "not_due"
    story = tell().accepted(confirm_s=60).evidence("unavailable")
    assert story.append(EntryKind.UNCONFIRMED, State.NEEDS_REVIEW, **review) == "not_due"
    shift(owner, 61)
    assert story.append(EntryKind.UNCONFIRMED, State.NEEDS_REVIEW, **review) == "no_evidence"
    assert story.evidence("unavailable").append(EntryKind.UNCONFIRMED, State.NEEDS_REVIEW, **review) is None


def test_a_contradiction_says_so_where_evidence_only_stands_beside(tell: Tell) -> None:
    story = in_review(tell(), "not_sent")
    story.evidence("found", "a", "b", code="lookup.page_cap")
    assert story.column("error_code") == "code"
    two: dict[str, Any] = {"code": "second_message", "known": "accepted", "next_action": "ask_lead"}
    assert story.append(EntryKind.CONTRADICTED, State.NEEDS_REVIEW, **two) is None
    assert (story.column("error_code"), story.column("known")) == ("second_message", "accepted")


def test_a_confirmed_message_waits_for_no_receipt_any_more(tell: Tell) -> None:
    story = tell().accepted(confirm_s=60)
    assert story.column("confirm_at") is not None
    assert story.evidence("found", confirm_s=-1).column("confirm_at") is None


def test_what_the_provider_has_is_known_to_be_accepted_whatever_a_person_says(tell: Tell) -> None:
    """Else the web role alone could have a message that was accepted prepared anew, under a new key."""
    story = in_review(tell(), "conflict").evidence("found", "pm-1")
    person: dict[str, Any] = {"actor": "user:lena", "known": "invalid"}
    said = {**person, "provider_message_id": "pm-1"}
    assert story.append(EntryKind.ADOPTED, State.ACCEPTED, seq=story.seq, **said) is None
    closed = tell().accepted()
    assert closed.append(EntryKind.CLOSED, State.CLOSED, seq=closed.seq, **person) is None
    for one in (story, closed):
        again = {**REVIEW, **person}
        assert one.append(EntryKind.REOPENED, State.NEEDS_REVIEW, seq=one.seq, **again) is None
        assert one.column("known") == "accepted"
        assert retried(one) == "known"
