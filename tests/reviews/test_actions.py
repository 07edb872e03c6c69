"""Each verb through the action function: what it writes, what forbids it, and what is recorded of a refusal."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import connection

from notifications.cli import seed
from notifications.models import Intent, LogEntry, NotificationTypeRow
from notifications.states import EntryKind, NextAction, Outcome, State
from notifications.types import NotificationType, ReportData, registry
from reviews import actions
from reviews.models import VERBS, Note, Review
from reviews.person import from_host, from_user
from reviews.record import Order
from reviews.refusals import BadReason, ChangedMeanwhile, NotAllowedNow, NotPermitted, UnknownCase, UnreadableForm
from tests.reviews import cases
from tests.reviews.cases import go_on, make_case, make_person, order

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
EXPLAINED = "The customer called us about this."


def olga():
    return from_user(make_person("olga"))


def lena():
    return from_user(make_person("lena"))


def state_of(intent: Intent) -> str:
    return Intent.objects.get(pk=intent.pk).state


def test_a_retry_moves_the_case_and_records_who_and_why_in_log_and_review() -> None:
    intent = make_case()
    done = actions.perform("retry", intent.pk, order(intent, "provider_recovered"), olga())
    now = Intent.objects.get(pk=intent.pk)
    assert (now.state, now.manual, done.repeated) == ("retry", True, False)
    entry = LogEntry.objects.get(intent_id=intent.pk, seq=now.seq)
    assert (entry.kind, entry.actor, entry.reason_code) == ("retried", "user:olga", "provider_recovered")
    review = Review.objects.get(intent_id=intent.pk)
    assert (review.outcome, review.action, review.actor, review.seq_after) == ("done", "retry", "user:olga", now.seq)
    assert review.before
    assert review.before["state"] == "needs_review"
    assert review.after
    assert review.after["state"] == "retry"


def test_a_retry_is_due_after_the_time_in_which_it_can_be_undone() -> None:
    intent = make_case()
    done = actions.perform("retry", intent.pk, order(intent, "code_fixed"), olga())
    due = Intent.objects.get(pk=intent.pk).next_attempt_at
    assert due is not None
    assert 7 < (due - done.at).total_seconds() < 12


def test_a_manual_retry_buys_one_attempt_and_the_numbers_run_on() -> None:
    intent = make_case()
    actions.perform("retry", intent.pk, order(intent, "provider_recovered"), olga())
    assert Intent.objects.get(pk=intent.pk).failure_count == intent.failure_limit - 1
    failed = seed.attempt(Outcome.NOT_SENT, "not_sent.dns", State.NEEDS_REVIEW, next_action=NextAction.RETRY_SAME_KEY)
    with pytest.raises(Exception, match="not_due"):
        go_on(Intent.objects.get(pk=intent.pk), *failed)
    undone = actions.perform("undo", intent.pk, order(Intent.objects.get(pk=intent.pk)), lena())
    assert undone.verb == "undo"
    again = go_on(
        Intent.objects.get(pk=intent.pk),
        seed.Step(EntryKind.RETRIED, {"to_state": State.RETRY, "delay_s": 0.0, "reason_code": "other"}),
        *failed,
    )
    claims = LogEntry.objects.filter(intent_id=intent.pk, kind="claimed").order_by("seq")
    assert [(claim.attempt, claim.trigger) for claim in claims] == [
        (1, "auto"),
        (2, "auto"),
        (3, "auto"),
        (4, "manual"),
    ]
    assert again.state == "needs_review"


def test_a_second_retry_after_a_failed_one_is_allowed_and_recorded_again() -> None:
    intent = make_case(cases.RETRIED)
    actions.perform("retry", intent.pk, order(intent, "provider_recovered"), olga())
    assert state_of(intent) == "retry"


@pytest.mark.parametrize(
    ("steps", "word"),
    [
        (cases.WINDOW_OVER, "window_over"),
        (cases.CONFLICT, "known"),
        (cases.BOUNCED, "known"),
        (cases.COMPLAINED, "known"),
        (cases.SUPPRESSED, "known"),
        (cases.ACCEPTED, "move"),
        (cases.DELIVERED, "move"),
    ],
)
def test_what_could_arrive_twice_or_cannot_arrive_is_not_retried(steps, word) -> None:
    intent = make_case(steps)
    with pytest.raises(NotAllowedNow) as refused:
        actions.perform("retry", intent.pk, order(intent, "owner_asked"), lena())
    assert (refused.value.status, refused.value.word) == (422, word)
    assert state_of(intent) == intent.state
    review = Review.objects.get(intent_id=intent.pk)
    assert (review.outcome, review.refusal, review.action_token) == ("refused", word, None)


@pytest.mark.parametrize("steps", [cases.UNKNOWN, cases.NOT_SENT, cases.RECIPIENT, cases.SOFT])
def test_what_is_safe_to_repeat_can_be_retried(steps) -> None:
    intent = make_case(steps)
    actions.perform("retry", intent.pk, order(intent, "configuration_fixed"), olga())
    assert state_of(intent) == "retry"


def test_an_operator_undoes_an_own_retry_and_a_lead_anybodys() -> None:
    mine, theirs = make_case(), make_case()
    boss, me = lena(), olga()
    actions.perform("retry", mine.pk, order(mine, "code_fixed"), me)
    actions.perform("retry", theirs.pk, order(theirs, "code_fixed"), boss)
    actions.perform("undo", mine.pk, order(Intent.objects.get(pk=mine.pk)), me)
    assert state_of(mine) == "needs_review"
    with pytest.raises(NotPermitted, match="Somebody else"):
        actions.perform("undo", theirs.pk, order(Intent.objects.get(pk=theirs.pk)), me)
    actions.perform("undo", theirs.pk, order(Intent.objects.get(pk=theirs.pk)), boss)
    assert state_of(theirs) == "needs_review"


def test_an_undone_retry_is_never_claimed() -> None:
    intent = make_case()
    me = olga()
    actions.perform("retry", intent.pk, order(intent, "code_fixed"), me)
    actions.perform("undo", intent.pk, order(Intent.objects.get(pk=intent.pk)), me)
    with pytest.raises(Exception, match="move"):
        go_on(Intent.objects.get(pk=intent.pk), seed.Step(EntryKind.CLAIMED))


def test_closing_and_reopening_keep_what_is_known() -> None:
    intent = make_case(cases.UNKNOWN)
    boss = lena()
    actions.perform("close", intent.pk, order(intent, "delivered_elsewhere"), boss)
    closed = Intent.objects.get(pk=intent.pk)
    assert closed.state == "closed"
    with pytest.raises(NotPermitted):
        actions.perform("reopen", intent.pk, order(closed, "new_information", EXPLAINED), olga())
    actions.perform("reopen", intent.pk, order(closed, "new_information", EXPLAINED), boss)
    again = Intent.objects.get(pk=intent.pk)
    assert (again.state, again.known, again.error_code) == ("needs_review", "unknown", intent.error_code)


def test_what_was_closed_before_any_attempt_is_reopened_as_not_sent() -> None:
    intent = make_case(())
    boss = lena()
    actions.perform("close", intent.pk, order(intent, "no_longer_needed"), boss)
    closed = Intent.objects.get(pk=intent.pk)
    actions.perform("reopen", intent.pk, order(closed, "closed_by_mistake", EXPLAINED), boss)
    again = Intent.objects.get(pk=intent.pk)
    assert (again.state, again.known, again.error_code, again.next_action) == (
        "needs_review", "not_sent", "reopened", "ask_lead",
    )  # fmt: skip


def test_what_waits_for_approval_is_released_by_a_lead_and_not_by_who_asked_for_it() -> None:
    intent = make_case((), type="report_approved")
    boss = lena()
    with pytest.raises(NotPermitted):
        actions.perform("approve", intent.pk, order(intent), olga())
    with pytest.raises(NotAllowedNow, match="approve it"):
        actions.perform("retry", intent.pk, order(intent, "owner_asked"), boss)
    actions.perform("approve", intent.pk, order(intent, "content_checked"), boss)
    assert state_of(intent) == "pending"


def test_a_note_moves_nothing_and_stays() -> None:
    intent = make_case()
    actions.perform("note", intent.pk, order(intent, text="Asked the owner of the report."), olga())
    assert Intent.objects.get(pk=intent.pk).seq == intent.seq
    assert Note.objects.get(intent_id=intent.pk).text == "Asked the owner of the report."


@pytest.mark.parametrize("verb", VERBS)
def test_a_viewer_may_use_no_verb_and_the_try_is_recorded(verb) -> None:
    intent = make_case()
    with pytest.raises(NotPermitted) as refused:
        actions.perform(verb, intent.pk, order(intent, "duplicate", EXPLAINED), from_user(make_person("vera")))
    assert refused.value.status == 403
    assert Review.objects.get(intent_id=intent.pk).refusal == "not_permitted"
    assert Intent.objects.get(pk=intent.pk).seq == intent.seq


def test_a_stale_version_is_refused_with_who_and_what_and_the_token_stays_usable() -> None:
    intent = make_case()
    me, token = olga(), uuid4()
    actions.perform("close", intent.pk, order(intent, "duplicate"), lena())
    with pytest.raises(ChangedMeanwhile, match=r"Closed, by lena at \d\d:\d\d:\d\d UTC; now: Closed"):
        actions.perform("retry", intent.pk, order(intent, "code_fixed", token=token), me)
    assert not Review.objects.filter(action_token=token).exists()
    refused = Review.objects.get(intent_id=intent.pk, outcome="refused")
    assert refused.before
    assert refused.before["state"] == "closed"


def test_the_same_form_twice_is_done_once_and_said_so() -> None:
    intent = make_case()
    me, once = olga(), order(intent, "code_fixed")
    first = actions.perform("retry", intent.pk, once, me)
    second = actions.perform("retry", intent.pk, once, me)
    assert (second.repeated, second.at) == (True, first.at)
    assert Review.objects.filter(intent_id=intent.pk).count() == 1


def test_a_token_serves_one_person_one_verb_and_one_case() -> None:
    intent, other = make_case(), make_case()
    me, once = olga(), order(intent, "duplicate")
    actions.perform("close", intent.pk, once, me)
    for verb, target, who in (("close", other, me), ("retry", intent, me), ("close", intent, lena())):
        with pytest.raises(UnreadableForm):
            actions.perform(verb, target.pk, once, who)
    assert state_of(other) == "needs_review"


def test_a_case_that_does_not_exist_is_a_sentence_and_writes_nothing() -> None:
    with pytest.raises(UnknownCase, match="no such notification"):
        actions.perform("close", 10**17, Order(token=uuid4(), seq=1, reason_code="duplicate"), from_host())
    assert not Review.objects.exists()


def test_a_refused_reason_is_recorded_without_its_text() -> None:
    intent = make_case()
    with pytest.raises(BadReason, match="refer by ID"):
        actions.perform("close", intent.pk, order(intent, "test_data", "it was for ana@example.com only"), olga())
    review = Review.objects.get(intent_id=intent.pk)
    assert (review.reason, review.reason_code) == ("", "test_data")


def test_half_an_hour_before_the_providers_window_ends_it_counts_as_closed() -> None:
    intent = make_case(cases.UNKNOWN)
    with connection.cursor() as cursor:
        # Resend's 24 hours less the margin of 30 minutes: a minute before that it is open, a minute later closed.
        cursor.execute("SET LOCAL notifyops_test.shift = '23 hours 31 minutes'")
    with pytest.raises(NotAllowedNow) as refused:
        actions.perform("retry", intent.pk, order(intent, "provider_recovered"), olga())
    assert refused.value.word == "window_over"
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL notifyops_test.shift = '23 hours 29 minutes'")
    actions.perform("retry", intent.pk, order(intent, "provider_recovered"), lena())
    assert state_of(intent) == "retry"


@pytest.mark.parametrize("answer", [False, RuntimeError("the business database is away")])
def test_what_the_application_no_longer_wants_is_retried_only_with_a_text_that_says_why(answer) -> None:
    asked: list[str] = []

    def still_wanted(report_id: str) -> bool:
        asked.append(report_id)
        if isinstance(answer, Exception):
            raise answer
        return bool(answer)

    kind = NotificationType(name="asked_first", template="x", data=ReportData, still_wanted=still_wanted)
    registry.add(kind)
    try:
        NotificationTypeRow.objects.create(name=kind.name, channel="email", required={"title": "string"})
        intent = make_case(report_id="r-asked", type=kind.name)
        with pytest.raises(NotAllowedNow, match="Say in the text why|say in the text why") as refused:
            actions.perform("retry", intent.pk, order(intent, "code_fixed"), lena())
        assert refused.value.word == "still_wanted"
        assert asked == ["r-asked"]
        actions.perform("retry", intent.pk, order(intent, "code_fixed", EXPLAINED), olga())
    finally:
        registry._types.pop(kind.name)
    assert state_of(intent) == "retry"
