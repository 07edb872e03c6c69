"""Asking the provider from the console: what is asked, what the answers allow, and what each of them is good for."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from notifications.cli import seed
from notifications.models import Intent, LogEntry, Question
from notifications.states import Found
from reviews import actions, reading
from reviews.models import Review
from reviews.person import from_host, from_user
from reviews.record import Order
from reviews.refusals import BadReason, NotAllowedNow, Refused
from reviews.steps import Step
from tests.reviews import cases
from tests.reviews.cases import go_on, login, make_case, make_person, order, post

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
EXPLAINED = "The provider has no such message."


def shift(span: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('notifyops_test.shift', %s, true)", [span])


def now(intent: Intent) -> Intent:
    return Intent.objects.get(pk=intent.pk)


def sure(intent: Intent, code: str = "evidence_not_sent", text: str = EXPLAINED) -> Order:
    return Order(token=uuid4(), seq=intent.seq, reason_code=code, reason=text, confirmed=True)


def answered(intent: Intent) -> None:
    """Note that the question was answered, as the chores do."""
    Question.objects.filter(intent=intent).update(wanted_at=None, wanted_by=None, due_at=None)


def test_a_question_is_left_for_the_chores_and_moves_nothing() -> None:
    intent = make_case(cases.WINDOW_OVER)
    actions.perform("query", intent.pk, order(intent), from_user(make_person("olga")))
    question = Question.objects.get(intent=intent)
    assert (question.wanted_by, question.about, question.account_id) == ("user:olga", "person", intent.account_id)
    assert question.due_at is not None
    assert now(intent).seq == intent.seq
    review = Review.objects.get(intent_id=intent.pk)
    assert (review.action, review.outcome, review.seq_after) == ("query", "done", intent.seq)


def test_the_page_says_that_the_provider_is_being_asked_and_for_whom() -> None:
    intent = make_case(cases.WINDOW_OVER)
    client = login("olga")
    assert post(client, intent, "query").status_code == 303
    html = client.get(f"/reviews/{intent.pk}/").content.decode()
    assert re.search(r"being asked</span>\s+for olga", html)
    assert "The provider is being asked: as soon as its account is called, the answer stands in the log." in html
    go_on(intent, seed.evidence(Found.NOT_FOUND))
    answered(intent)
    html = client.get(f"/reviews/{intent.pk}/").content.decode()
    assert "being asked" not in html
    assert "by a scan of the provider" in html
    assert f'action="/reviews/{intent.pk}/retry"' in html


def test_with_htmx_the_answer_to_a_question_is_the_case_anew() -> None:
    intent = make_case(cases.WINDOW_OVER)
    html = post(login("olga"), intent, "query", headers={"HX-Request": "true"}).content.decode()
    assert html.strip().startswith('<div id="case"')
    assert "The question is queued" in html


def test_the_same_question_twice_is_one_and_a_second_one_waits() -> None:
    intent = make_case(cases.WINDOW_OVER)
    me, once = from_host(), order(intent)
    first = actions.perform("query", intent.pk, once, me)
    again = actions.perform("query", intent.pk, once, me)
    assert (again.repeated, again.at) == (True, first.at)
    assert Review.objects.filter(intent_id=intent.pk).count() == 1
    with pytest.raises(NotAllowedNow, match="is being asked"):
        actions.perform("query", intent.pk, order(intent), me)
    answered(intent)
    Question.objects.filter(intent=intent).update(asked_at=first.at)
    with pytest.raises(NotAllowedNow, match="less than 30 seconds ago"):
        actions.perform("query", intent.pk, order(intent), me)
    shift("31 seconds")
    actions.perform("query", intent.pk, order(intent), me)


def test_a_question_about_what_has_moved_since_is_still_a_question() -> None:
    intent = make_case(cases.WINDOW_OVER)
    go_on(intent, seed.evidence(Found.UNAVAILABLE))
    actions.perform("query", intent.pk, order(intent), from_host())
    assert Question.objects.filter(intent=intent, wanted_at__isnull=False).exists()


@pytest.mark.parametrize("steps", [(), cases.NOT_SENT, cases.RECIPIENT, cases.BOUNCED, cases.COMPLAINED])
def test_there_is_no_question_where_nothing_can_be_there_or_all_is_known(steps: Any) -> None:
    intent = make_case(steps)
    with pytest.raises(NotAllowedNow, match="Nothing has reached the provider"):
        actions.perform("query", intent.pk, order(intent), from_host())


TABLE: dict[str, tuple[Any, bool, bool]] = {
    "unknown, closed, not asked": (cases.WINDOW_OVER, False, False),
    "unknown, closed, absent": (cases.ABSENT, True, False),
    "unknown, closed, inconclusive": ((*cases.WINDOW_OVER, seed.evidence(Found.INCONCLUSIVE)), False, False),
    "unknown, closed, unavailable": ((*cases.WINDOW_OVER, seed.evidence(Found.UNAVAILABLE)), False, False),
    "unknown, closed, found": ((*cases.WINDOW_OVER, seed.evidence(Found.FOUND, "id-1")), False, True),
    "absent, then unavailable": ((*cases.ABSENT, seed.evidence(Found.UNAVAILABLE)), True, False),
    "absent, then found": ((*cases.ABSENT, seed.evidence(Found.FOUND, "id-1")), False, True),
    "found, then absent": (
        (*cases.WINDOW_OVER, seed.evidence(Found.FOUND, "id-1"), seed.evidence(Found.NOT_FOUND)),
        True,
        False,
    ),
    "unknown, open, not asked": (cases.UNKNOWN, True, False),
    "conflict, absent": ((*cases.CONFLICT, seed.evidence(Found.NOT_FOUND)), False, False),
    "conflict, found": ((*cases.CONFLICT, seed.evidence(Found.FOUND, "id-1")), False, True),
    "two messages": (cases.FOUND_TWICE, False, True),
    "bounced, found": ((*cases.BOUNCED, seed.evidence(Found.FOUND, "id-1")), False, False),
}


@pytest.mark.parametrize(("steps", "may_retry", "may_adopt"), TABLE.values(), ids=TABLE)
def test_what_is_known_and_answered_decides_what_is_allowed_on_the_page_and_in_the_action(
    steps: Any, may_retry: bool, may_adopt: bool
) -> None:
    intent = make_case(steps)
    html = login("lena").get(f"/reviews/{intent.pk}/").content.decode()
    allowed = set(re.findall(r'<form method="post" action="/reviews/\d+/(\w+)"', html))
    assert ("retry" in allowed, "adopt" in allowed) == (may_retry, may_adopt)
    on_evidence = re.search(r'<form [^>]*id="retry".*?value="evidence_not_sent".*?</form>', html, re.DOTALL)
    why = "evidence_not_sent" if on_evidence else "provider_recovered"
    for verb, may, code in (("retry", may_retry, why), ("adopt", may_adopt, "evidence_found")):
        if may:
            actions.perform(verb, intent.pk, sure(now(intent), code), from_host())
            break
        with pytest.raises(Refused):
            actions.perform(verb, intent.pk, sure(intent, code), from_host())


def test_a_retry_on_evidence_says_what_it_may_cost_and_wants_its_reason_a_text_and_a_mark() -> None:
    intent = make_case(cases.ABSENT)
    html = login("olga").get(f"/reviews/{intent.pk}/").content.decode()
    assert "Risk: medium. No key protects this any more." in html
    assert re.search(r'name="confirmed" value="yes" required', html)
    assert re.search(r'id="h-retry"><svg .*</svg> Retry <span class="tag">recommended', html)
    me = from_host()
    for wrong, told in (
        (sure(intent, "provider_recovered"), "Past the key's window only"),
        (sure(intent, text=""), "needs a text"),
        (order(intent, "evidence_not_sent", EXPLAINED), "Confirm that you have read"),
    ):
        with pytest.raises(BadReason, match=told):
            actions.perform("retry", intent.pk, wrong, me)
    assert now(intent).state == "needs_review"
    actions.perform("retry", intent.pk, sure(intent), me)
    assert now(intent).state == "retry"


def test_an_ordinary_retry_needs_no_mark() -> None:
    intent = make_case(cases.UNKNOWN)
    assert 'name="confirmed"' not in login("olga").get(f"/reviews/{intent.pk}/").content.decode()
    actions.perform("retry", intent.pk, order(intent, "provider_recovered"), from_host())


def test_over_http_the_mark_counts_only_as_it_is_written_in_the_form() -> None:
    intent = make_case(cases.ABSENT)
    client = login("olga")
    fields = {"reason_code": "evidence_not_sent", "reason": EXPLAINED}
    for wrong in ("", "no", "1"):
        assert post(client, intent, "retry", confirmed=wrong, **fields).status_code == 422
    assert post(client, intent, "retry", confirmed="yes", **fields).status_code == 303


def test_evidence_grows_old_and_is_used_up_on_the_page_as_at_the_door() -> None:
    intent = make_case(cases.ABSENT)
    me = from_host()
    shift("10 minutes 1 second")
    with pytest.raises(NotAllowedNow, match="more than ten minutes old"):
        actions.perform("retry", intent.pk, sure(intent), me)
    shift("9 minutes")
    actions.perform("retry", intent.pk, sure(intent), me)
    actions.perform("undo", intent.pk, order(now(intent)), me)
    with pytest.raises(NotAllowedNow, match="has served for one retry"):
        actions.perform("retry", intent.pk, sure(now(intent)), me)


def test_an_answer_that_grows_old_between_page_and_door_is_refused_by_the_door() -> None:
    """The rules are asked first; the database has the last word."""
    intent = make_case(cases.ABSENT)
    shift("11 minutes")
    refused = Review.objects.filter(intent_id=intent.pk).count()
    situation, at = reading.situations([intent])[intent.pk], reading.now()
    step = Step("retry", intent, situation, sure(intent), from_host(), "evidence_not_sent", at)
    with pytest.raises(NotAllowedNow):
        actions._move(step, actions.Reason("evidence_not_sent", EXPLAINED))
    assert Review.objects.filter(intent_id=intent.pk).count() == refused


def test_adopting_takes_the_first_of_two_and_can_be_reopened_by_a_lead() -> None:
    intent = make_case(cases.FOUND_TWICE)
    boss = from_host()
    actions.perform("adopt", intent.pk, order(intent, "evidence_found"), boss)
    adopted = now(intent)
    assert (adopted.state, adopted.provider_message_id) == ("accepted", "id-1")
    assert LogEntry.objects.get(intent_id=intent.pk, seq=adopted.seq).kind == "adopted"
    actions.perform("reopen", intent.pk, order(adopted, "new_information", EXPLAINED), boss)
    assert (now(intent).state, now(intent).known) == ("needs_review", "accepted")


def test_an_acceptance_that_nobody_adopted_is_not_reopened() -> None:
    intent = make_case(cases.ACCEPTED)
    with pytest.raises(NotAllowedNow, match="or an answer that was adopted"):
        actions.perform("reopen", intent.pk, order(intent, "new_information", EXPLAINED), from_host())


def test_the_case_tells_the_contradiction_and_its_messages() -> None:
    html = login("lena").get(f"/reviews/{make_case(cases.FOUND_TWICE).pk}/").content.decode()
    assert "The provider speaks of another message of this notification" in html
    assert "id-1" in html
    assert "id-2" in html


def test_the_terminal_asks_under_the_same_rules() -> None:
    intent = make_case(cases.WINDOW_OVER, "r-1")
    out = StringIO()
    call_command("review", "query", "report-ready/r-1", stdout=out)
    assert "The question is queued" in out.getvalue()
    wanted_by = Question.objects.get(intent=intent).wanted_by
    assert wanted_by is not None
    assert wanted_by.startswith("cli:")
    answered(intent)
    go_on(intent, seed.evidence(Found.NOT_FOUND))
    call_command("notify", "explain", "report-ready/r-1", stdout=out)
    assert "the provider was asked: not found." in out.getvalue()
    words = ("retry", "report-ready/r-1", "--reason-code", "evidence_not_sent", "--reason", EXPLAINED)
    with pytest.raises(CommandError, match="Confirm that you have read"):
        call_command("review", *words, stdout=out)
    call_command("review", *words, "--confirm", stdout=out)
    assert now(intent).state == "retry"
