"""After a restore nothing that may be out already is sent before the provider was asked about it."""

from __future__ import annotations

import time

import psycopg
import pytest

from notifications.states import EntryKind, Found, State
from tests.delivery.asking import lost, retry, says, witnessed
from tests.delivery.recovering import forgotten_send, opened, recovered, round_of_questions, tended, trouble
from tests.delivery.workplace import Workplace
from tests.intake.notify_cli import notify
from tests.providers.inquiries import body_of, mail_ids, post

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
KEY = "report-ready/demo-001"


def refused_for_now(place: Workplace, report: str) -> int:
    """Give an intent in `retry` of which nothing has left."""
    intent = place.enqueue(report)
    place.sandbox.fault(stage="before_accept", kind="status", status=429, name="rate_limit_exceeded", times=1)
    place.turn()
    assert place.intent(intent).state == "retry"
    return intent


def test_what_is_owed_is_held_asked_about_and_the_forgotten_message_is_found(place: Workplace) -> None:
    """Never attempted as far as this database knows: it is looked for by our tags, at the recipient's address."""
    intent = place.enqueue()
    mail = forgotten_send(place, intent)
    opened(place)
    tended(place)
    row = place.intent(intent)
    assert (row.state, row.error_code, row.known, row.next_action) == (
        "needs_review", "restored", "unknown", "query_provider",
    )  # fmt: skip
    assert trouble(place) == "recovering"
    place.later(130)
    round_of_questions(place)
    row = place.intent(intent)
    assert (row.state, row.provider_message_id, row.error_code) == ("accepted", mail, None)
    assert place.kinds(intent) == ["restored", "evidence", "settled"]
    tended(place)
    assert trouble(place) is None
    assert place.turn() == []
    assert place.sandbox.ledger(KEY).accepted == 1


@pytest.mark.parametrize("attempted", [False, True])
def test_what_the_provider_does_not_have_goes_out_once_under_its_own_key(place: Workplace, attempted: bool) -> None:
    witnessed(place)
    intent = refused_for_now(place, "demo-001") if attempted else place.enqueue()
    place.later(120 if attempted else 0)
    recovered(place)
    row = place.intent(intent)
    assert (row.state, row.known) == ("retry" if attempted else "pending", "not_sent")
    assert (row.first_ambiguous_at, row.safe_until) == (None, None), "nothing of the forgotten time is out"
    assert place.log(intent)[-1]["kind"] == "freed"
    place.turn()
    assert place.intent(intent).state == "accepted"
    assert (place.sandbox.ledger(KEY).accepted, place.intent(intent).generation) == (1, 1)


def test_a_doubt_from_before_the_restore_stays_a_doubt(place: Workplace) -> None:
    witnessed(place)
    intent = place.enqueue()
    place.sandbox.fault(stage="before_accept", kind="close", times=1)
    place.turn()
    before = place.intent(intent)
    assert before.first_ambiguous_at is not None
    place.later(120)
    recovered(place)
    row = place.intent(intent)
    assert (row.state, row.known) == ("retry", "unknown")
    assert (row.first_ambiguous_at, row.safe_until) == (before.first_ambiguous_at, before.safe_until)


@pytest.mark.parametrize("answer", [Found.INCONCLUSIVE, Found.UNAVAILABLE])
def test_without_a_clear_answer_a_person_decides_and_sending_goes_on_for_the_rest(
    place: Workplace, answer: Found
) -> None:
    intent = place.enqueue()
    recovered(place, says(answer, code="lookup.page_cap"))
    assert (place.intent(intent).state, place.intent(intent).error_code) == ("needs_review", "restored")
    assert trouble(place) is None
    assert place.turn() == []
    other = place.enqueue("demo-002")
    place.turn()
    assert place.intent(other).state == "accepted"


def test_a_clear_answer_may_come_later_and_frees_it_then(place: Workplace) -> None:
    intent = place.enqueue()
    recovered(place, says(Found.UNAVAILABLE, code="lookup.unreachable"))
    witnessed(place)
    place.later(61)
    round_of_questions(place)
    assert place.intent(intent).state == "pending"


def test_the_key_protects_from_the_restored_point_and_no_longer(place: Workplace) -> None:
    intent = place.enqueue()
    recovered(place, says(Found.INCONCLUSIVE, code="lookup.page_cap"), ago_s=3600)
    row = place.intent(intent)
    assert row.safe_until is not None
    assert row.review_since is not None
    left = (row.safe_until - row.review_since).total_seconds()
    assert left == pytest.approx(84_600 - 3600 - 600, abs=60)
    place.later(84_600 - 3600 - 600 + 120)
    assert retry(place, intent, "provider_recovered") == "window_over"


def test_a_call_that_was_under_way_is_held_once_its_lease_is_over(place: Workplace) -> None:
    witnessed(place)
    intent = place.enqueue()
    place.claim()
    forgotten_send(place, intent)
    opened(place)
    tended(place)
    assert place.intent(intent).state == "sending", "its worker may live"
    place.later(61)
    tended(place)
    assert place.log(intent)[-1]["kind"] == "lease_lost"
    assert (place.intent(intent).state, place.intent(intent).error_code) == ("needs_review", "restored")
    assert place.intent(intent).failure_count == 0
    place.later(130)
    round_of_questions(place)
    assert place.intent(intent).state == "accepted"


def test_a_lost_call_that_did_not_arrive_is_repeated_under_its_key(place: Workplace) -> None:
    witnessed(place)
    intent = place.enqueue()
    place.claim()
    place.later(61)
    recovered(place)
    row = place.intent(intent)
    assert (row.state, row.known) == ("retry", "unknown")
    assert row.first_ambiguous_at is not None
    place.turn()
    assert (place.intent(intent).state, place.sandbox.ledger(KEY).accepted) == ("accepted", 1)


def test_nothing_is_held_while_a_loop_may_still_be_sending(place: Workplace) -> None:
    """A snapshot keeps server and timeline: the cluster may run when the recovery is ordered by hand."""
    intent = place.enqueue()
    place.sql(
        "INSERT INTO notifyops_private.notifications_workerbeat (worker, host, role, slot, sends, beat_at, started_at)"
        " VALUES ('w', 'h', 'loop', 0, true, notifyops_private.clock_v1(), now())",
    )
    opened(place)
    tended(place)
    assert place.intent(intent).state == "pending"
    place.later(20)
    tended(place)
    assert place.intent(intent).state == "needs_review"


def test_what_a_person_may_have_retried_is_asked_about_and_cases_stay_cases(place: Workplace) -> None:
    """A case of before the restore: the person's retry, and the message, are forgotten."""
    witnessed(place)
    sent = place.enqueue("demo-001", kind="report_approved")
    kept = place.enqueue("demo-002", kind="report_approved")
    mail = forgotten_send(place, sent)
    recovered(place)
    assert (place.intent(sent).state, place.intent(sent).provider_message_id) == ("accepted", mail)
    assert (place.intent(kept).state, place.intent(kept).known) == ("needs_review", "awaiting_approval")


def test_a_bounce_of_what_was_accepted_just_before_is_learned(place: Workplace) -> None:
    intent = witnessed(place)
    place.sandbox.emit("email.bounced", key="report-ready/witness")
    recovered(place)
    assert (place.intent(intent).state, place.intent(intent).error_code) == ("needs_review", "bounced")


def test_the_loops_claim_nothing_while_a_recovery_is_open(place: Workplace) -> None:
    opened(place)
    intent = place.enqueue()
    ends_at = time.monotonic() + 1.5
    place.run(until=lambda: time.monotonic() > ends_at)
    assert (place.intent(intent).state, place.sandbox.requests()) == ("pending", [])


def test_numbers_given_out_since_are_not_given_out_again(place: Workplace) -> None:
    """They stand in the tags of messages that are out: a receipt of one would speak for the other."""
    before = place.enqueue("demo-001")
    opened(place)
    assert place.enqueue("demo-002") > before + 1_000_000


def test_messages_that_nobody_here_knows_are_listed_by_their_ids_alone(place: Workplace) -> None:
    known = witnessed(place)
    owed = place.enqueue()
    forgotten_send(place, owed)
    ((name,),) = place.sql("SELECT max(id) + 5 FROM notifyops_private.notifications_intent")
    post(place.sandbox, body_of(name, to="secret@example.com"))
    gone = mail_ids(place.sandbox)[-1]
    post(place.sandbox, body_of(known, generation=2))
    newer = mail_ids(place.sandbox)[-1]
    recovered(place)
    round_of_questions(place)
    told = notify("recover", "--json").document
    assert {(one["provider_message_id"], one["intent"]) for one in told["unknown_here"]} == {
        (gone, str(name)), (newer, str(known)),
    }  # fmt: skip
    assert [one["unknown_here"] for one in told["lists"] if one["account"] == "resend"] == [2]
    round_of_questions(place)
    assert len(place.sql("SELECT id FROM notifyops_private.notifications_unknownmail")) == 3, (
        "and the one that is settled"
    )
    assert place.sql("SELECT done_at IS NOT NULL, code FROM notifyops_private.notifications_recoverylist") == [
        (True, None)
    ]


def test_only_the_door_holds_and_frees(place: Workplace) -> None:
    intent = place.enqueue()
    assert place.person(EntryKind.RESTORED, intent, State.NEEDS_REVIEW, code="restored").refused == "role"
    for role in ("web", "worker"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            place.sql("INSERT INTO notifyops_private.notifications_recovery (since) VALUES (now())", role=role)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        place.sql("UPDATE notifyops_private.notifications_recovery SET finished_at = now()", role="web")


def test_a_case_of_before_is_looked_for_in_the_forgotten_time_too(place: Workplace) -> None:
    """A person's retry of it is forgotten, and came long after the attempts that this database knows."""
    witnessed(place)
    intent = lost(place, arrived=False)
    place.later(7200)
    mail = forgotten_send(place, intent)
    recovered(place, says(Found.INCONCLUSIVE, code="lookup.page_cap"))
    place.later(61)
    round_of_questions(place)
    assert place.intent(intent).provider_message_id == mail
