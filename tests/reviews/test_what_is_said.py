"""What a case's headline, log, confirmation and suggestion say is true of that case; `notify explain` says the same."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections

from notifications import door
from notifications.cli import seed
from notifications.models import Intent
from notifications.pausing import pause
from notifications.states import DeliveryStatus, EntryKind, Known, NextAction, State
from reviews import done_words
from tests.intake.notify_cli import notify
from tests.reviews import cases
from tests.reviews.cases import login, make_case, owner, post
from tests.reviews.deciding import decide, now

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
SECOND = "5e9d0000-demo-4000-8000-000000000999"
TWO = "the recipient may have got both"
DEFERRED = seed.accepted(8, seed.receipt(DeliveryStatus.DEFERRED))


def page(intent: Intent, who: str = "olga") -> str:
    return str(login(who).get(f"/reviews/{intent.pk}/").content.decode())


def hear_of_a_second(intent: Intent) -> Intent:
    """Keep a receipt about another message of the same key, as receipts/apply.py writes it."""
    event = seed._event(intent.pk, owner())
    detail = {"event": event, "says": "delivered", "second": SECOND}
    facts: dict[str, Any] = {"code": "second_message", "known": Known.ACCEPTED, "next_action": NextAction.ASK_LEAD}
    entry = door.Entry(id=intent.pk, to_state=State.NEEDS_REVIEW, detail=detail, **facts)
    (done,) = door.append(EntryKind.CONTRADICTED, [entry], worker=seed.WORKER, actor=None, using=owner())
    assert done.refused is None
    return now(intent)


def reopened(steps: tuple[seed.Step, ...], *, with_second: bool = False) -> Intent:
    intent = make_case(steps)
    if with_second:
        intent = hear_of_a_second(intent)
    decide("close", intent, code="duplicate")
    decide("reopen", now(intent), code="closed_by_mistake")
    return now(intent)


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (cases.ACCEPTED, "no receipt has confirmed that it arrived"),
        (cases.DELIVERED, "The provider accepted it, and the receiving server took it."),
        (DEFERRED, "and the receiving server puts it off so far."),
    ],
)
def test_the_headline_of_a_reopened_case_agrees_with_its_receipts(steps: tuple[seed.Step, ...], said: str) -> None:
    html = page(reopened(steps))
    assert said in html
    assert ("no receipt has confirmed" in html) is (steps is cases.ACCEPTED)


def test_while_the_log_names_a_second_message_the_headline_says_so_and_the_row_gives_its_id() -> None:
    first = hear_of_a_second(make_case(cases.DELIVERED))
    again = reopened(cases.DELIVERED, with_second=True)
    for intent in (first, again):
        html = page(intent)
        assert TWO in html
        assert "no receipt has confirmed" not in html
        assert f"about another message of this notification: {SECOND}" in html
        assert SECOND in notify("explain", intent.notification_id).out
    assert TWO not in page(make_case(cases.DELIVERED))


@pytest.mark.parametrize("steps", [cases.WINDOW_OVER, cases.FOUND_TWICE, cases.NOT_SENT, cases.RECIPIENT])
def test_setting_aside_promises_a_question_only_where_one_is_asked(steps: tuple[seed.Step, ...]) -> None:
    """Compared with what delivery/discovery.py asks about, not with a list of ours."""
    intent = make_case(steps)
    done = decide("wait", intent, "olga", text="", minutes=5)
    with connections[owner()].cursor() as cursor:
        cursor.execute(
            "SELECT i.state = 'needs_review' AND i.attempt_count > 0 AND i.known IN ('unknown', 'conflict', 'accepted')"
            " FROM notifyops_private.notifications_intent i WHERE i.id = %s",
            [intent.pk],
        )
        (asks,) = cursor.fetchone()
    assert ("the provider is asked then" in str(done_words.done_sentence(done))) is asks
    assert asks is (steps in (cases.WINDOW_OVER, cases.FOUND_TWICE))


def test_explain_ends_with_what_is_there_and_nothing_else() -> None:
    for steps in (cases.NOT_SENT, cases.UNKNOWN, cases.BOUNCED, cases.RECIPIENT):
        told = notify("explain", make_case(steps).notification_id).out
        assert "set aside" not in told
        assert " ." not in told
        assert "suggested at first: ;" not in told
    held = make_case((), type="report_approved")
    told = notify("explain", held.notification_id).out
    assert told.endswith("suggested at first: approve (approve).\nsuggested now: Approve or decline it.\n")


def test_what_waits_for_a_pause_says_for_which_on_its_page_and_in_its_story() -> None:
    due, other = make_case(()), make_case((), workspace="acme")
    for scope, name, told in (("type", "report_ready", "Type report_ready"), ("workspace", "acme", "Workspace acme")):
        made = pause(scope, name, span=timedelta(hours=1), reason=("too_many", ""), actor="user:lena")
        if scope == "type":
            assert f"It waits for pause {made.pk} ({told})." in page(due)
            assert f"; waits for pause {made.pk} (type report_ready)." in notify("explain", due.notification_id).out
        else:  # the one that ends last holds it longest
            line = notify("explain", other.notification_id, "--workspace", "acme").out
            assert f"; waits for pause {made.pk} (workspace acme)." in line
            assert f"It waits for pause {made.pk} ({told})." in page(other)
    assert "waits for pause" not in page(make_case(cases.NOT_SENT))
    assert "waits for pause" not in notify("explain", make_case(cases.ACCEPTED).notification_id).out


def test_who_may_not_correct_an_address_is_not_told_to_end_the_case() -> None:
    intent = make_case(cases.RECIPIENT)
    html = page(intent, "olga")
    assert "Ask a lead to correct the address" in html
    assert re.search(r'id="h-wait"><svg .*</svg> Set aside <span class="tag">recommended', html)
    assert re.search(r'id="h-close"><svg .*</svg> Close</h3>', html)
    unwanted = page(make_case(cases.COMPLAINED), "olga")
    assert "Ask a lead" not in unwanted
    assert re.search(r'id="h-close"><svg .*</svg> Close <span class="tag">recommended', unwanted)
    leads = page(intent, "lena")
    assert re.search(r'id="h-correct"><svg .*</svg> Correct the address <span class="tag">recommended', leads)
    assert "Ask a lead" not in leads


def test_a_pause_page_speaks_in_words_and_stacks() -> None:
    made = pause("type", "report_ready", span=timedelta(hours=1), reason=("wrong_content", ""), actor="user:lena")
    for step in ("stands", "is over"):
        html = str(login("lena").get("/reviews/pauses/").content.decode())
        shown = html.split("Pause something", maxsplit=1)[0] if step == "stands" else html.split('id="h-over"')[1]
        assert f"{made.pk} · Type" in shown
        assert "The content is wrong" in shown
        assert "wrong_content" not in shown
        assert "user:lena" not in shown
        login("lena").post(f"/reviews/pauses/{made.pk}/resume", {"reason": "The template was mended."})


def test_resuming_what_never_was_says_that_there_is_none() -> None:
    answer = notify("resume", "99", "--reason", "The template was mended.")
    assert (answer.code, answer.err) == (1, "There is no pause 99; see notify pauses.\n")
    made = pause("type", "report_ready", span=timedelta(hours=1), reason=("too_many", ""), actor="user:lena")
    assert notify("resume", str(made.pk), "--reason", "The template was mended.").code == 0
    assert "over already" in notify("resume", str(made.pk), "--reason", "The template was mended.").err


def test_the_form_to_set_aside_says_what_it_came_to() -> None:
    intent = make_case(cases.NOT_SENT)
    answer = post(login("olga"), intent, "wait", minutes="15", headers={"HX-Request": "true"})
    html = answer.content.decode()
    assert "Set aside: it comes back by itself, or with any news." in html
    assert "the provider is asked then" not in html
