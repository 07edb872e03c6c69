"""A resend at all costs: one lead asks, another one confirms, and it is marked for ever as maybe a second message."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from notifications import outbox
from notifications.cli import seed
from notifications.models import Intent
from notifications.states import Found
from reviews.models import ApprovalRequest, Review
from reviews.refusals import BadReason, NotAllowedNow, NotPermitted
from tests.reviews import cases
from tests.reviews.cases import login, make_case, post
from tests.reviews.deciding import TEXT, decide, last, now, put_on

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]


def ask(intent: Intent, who: str = "lena", **more: Any) -> None:
    decide("resend", intent, who, **{"typed": intent.report_id, "confirmed": True, **more})


def confirm(intent: Intent, who: str = "bob_lead", **more: Any) -> None:
    decide("approve", now(intent), who, **{"confirmed": True, **more})


def asked() -> Intent:
    intent = make_case(cases.UNDECIDED, "r-1")
    ask(intent)
    return now(intent)


def page(intent: Intent, who: str) -> str:
    return str(login(who).get(f"/reviews/{intent.pk}/").content.decode())


def test_asking_sends_nothing_and_shows_on_the_case_and_in_the_queue() -> None:
    intent = asked()
    make_case(cases.UNDECIDED, "r-2")
    assert (intent.state, last(intent).kind) == ("needs_review", "resend_asked")
    html = page(intent, "bob_lead")
    assert "resend asked for" in html
    assert "lena asks to send it anew under a new key." in html
    queue = login("vera").get("/reviews/?waiting=second").content.decode()
    assert ("report-ready/r-1" in queue, "report-ready/r-2" in queue) == (True, False)
    assert login("vera").get("/reviews/").content.decode().count("resend asked for") == 1


def test_the_second_lead_confirms_and_it_is_queued_for_a_new_key() -> None:
    intent = asked()
    confirm(intent)
    row, entry = now(intent), last(intent)
    assert (row.state, row.manual, entry.reason_code) == ("retry", True, "forced_resend")
    assert (entry.detail or {})["asked_by"] == "user:lena"
    assert ApprovalRequest.objects.get().outcome == "confirmed"
    for who in ("vera", "lena"):
        assert "may be a duplicate" in page(row, who)
    decide("undo", row, "bob_lead", "clicked_by_mistake")
    assert (now(intent).state, "may be a duplicate" in page(row, "lena")) == ("needs_review", True)
    with pytest.raises(NotAllowedNow, match="does not wait for approval"):
        confirm(intent)
    assert "may be a duplicate" in login("vera").get("/reviews/").content.decode()


def test_the_story_tells_who_asked_who_confirmed_and_what_it_may_be() -> None:
    intent = asked()
    confirm(intent)
    told = "\n".join(outbox.explain(intent.notification_id))
    assert "a second message was asked for by user:lena" in told
    assert "one more attempt was ordered by user:bob_lead, reason forced_resend, although the first message " in told
    out = StringIO()
    call_command("review", "show", intent.notification_id, "--json", stdout=out)
    assert json.loads(out.getvalue())["may_duplicate"] is True


def test_nobody_confirms_what_they_asked_for_and_no_operator_does() -> None:
    intent = asked()
    with pytest.raises(NotPermitted, match="a second lead must confirm"):
        confirm(intent, "lena")
    for name in ("olga", "vera", "sam"):
        with pytest.raises(NotPermitted):
            confirm(intent, name)
    assert now(intent).state == "needs_review"
    refused = Review.objects.filter(outcome="refused").values_list("refusal", flat=True)
    assert "same_person" in refused


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"typed": "r-2"}, "Type the report ID"),
        ({"typed": ""}, "Type the report ID"),
        ({"confirmed": False}, "Confirm that you have read"),
        ({"text": ""}, "needs a text"),
    ],
)
def test_nobody_asks_by_the_way(more, sentence) -> None:
    intent = make_case(cases.UNDECIDED, "r-1")
    with pytest.raises(BadReason, match=sentence):
        ask(intent, **more)
    assert now(intent).seq == intent.seq


def test_nobody_confirms_by_the_way() -> None:
    intent = asked()
    with pytest.raises(BadReason, match="Confirm that you have read"):
        confirm(intent, confirmed=False)
    assert now(intent).state == "needs_review"


@pytest.mark.parametrize(("who", "outcome"), [("lena", "withdrawn"), ("bob_lead", "declined")])
def test_a_request_is_taken_back_or_declined_and_can_be_made_again(who, outcome) -> None:
    intent = asked()
    decide("decline", intent, who, "no_longer_needed")
    assert ApprovalRequest.objects.get().outcome == outcome
    assert (now(intent).state, last(intent).kind) == ("needs_review", "resend_dropped")
    with pytest.raises(NotAllowedNow):
        confirm(intent)
    ask(now(intent))
    confirm(intent)
    assert now(intent).state == "retry"


def test_a_request_that_nobody_confirmed_lapses() -> None:
    intent = asked()
    put_on(1801)
    with pytest.raises(NotAllowedNow, match="does not wait for approval"):
        confirm(intent)
    assert "resend asked for" not in page(intent, "lena")
    assert "report-ready/r-1" not in login("vera").get("/reviews/?waiting=second").content.decode()
    cases.go_on(intent, seed.evidence(Found.INCONCLUSIVE))
    ask(now(intent), "bob_lead")
    assert sorted(ApprovalRequest.objects.values_list("outcome", flat=True)) == ["", "expired"]


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        (cases.WINDOW_OVER, "The provider must be asked first"),
        (cases.ABSENT, "a retry on that evidence is enough"),
        (cases.FOUND_TWICE, "A resend is for what may have arrived"),
        (cases.UNKNOWN, "A resend is for what may have arrived"),
        (cases.BOUNCED, "A resend is for what may have arrived"),
        (cases.ACCEPTED, "Only a case that needs review"),
    ],
)
def test_it_is_for_what_nobody_can_tell(steps, sentence) -> None:
    intent = make_case(steps)
    with pytest.raises(NotAllowedNow, match=sentence):
        ask(intent)


def test_an_answer_of_eleven_minutes_ago_is_asked_for_again() -> None:
    intent = make_case(cases.UNDECIDED)
    put_on(660)
    with pytest.raises(NotAllowedNow, match="ask it again"):
        ask(intent)


def test_both_forms_work_without_javascript() -> None:
    intent = make_case(cases.UNDECIDED, "r-1")
    html = page(intent, "lena")
    assert 'name="typed"' in html
    fields = {"reason": TEXT, "typed": "r-1", "confirmed": "yes"}
    assert post(login("lena"), intent, "resend", **fields).status_code == 303
    assert post(login("bob_lead"), now(intent), "approve", confirmed="yes").status_code == 303
    assert now(intent).state == "retry"
