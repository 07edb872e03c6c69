"""What was replaced, superseded, expired or sent anew shows why, and leads to what goes on; commands say the same."""

from __future__ import annotations

import io
import json
import re
import sys
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notifications import outbox
from notifications.cli import seed
from notifications.models import Intent
from notifications.states import EntryKind, State
from reviews.refusals import NotAllowedNow
from tests.intake.notify_cli import notify
from tests.reviews import cases
from tests.reviews.cases import login, make_case
from tests.reviews.deciding import NEW, TEXT, correct, decide, last, now

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]


def page(intent: Intent, who: str = "lena") -> str:
    return str(login(who).get(f"/reviews/{intent.pk}/").content.decode())


def review(*words: str) -> Any:
    out = io.StringIO()
    call_command("review", *words, "--json", stdout=out, stderr=io.StringIO())
    return json.loads(out.getvalue())


def expire(intent: Intent) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE notifyops_private.notifications_intent DISABLE TRIGGER USER")
        cursor.execute(
            "UPDATE notifyops_private.notifications_intent SET expires_at = '2020-01-01Z' WHERE id = %s", [intent.pk]
        )


def test_a_superseded_one_names_its_successor_and_back() -> None:
    old = make_case((), "r-1")
    owed = outbox.enqueue("report_ready", "r-1", NEW, {"title": "T"}, supersedes=old.notification_id,
                          notification_id="newer")  # fmt: skip
    new = Intent.objects.get(pk=owed.id)
    assert "Replaced by" in page(old)
    assert f'href="/reviews/{new.pk}/">newer<' in page(old)
    assert "Replaces" in page(new)
    assert f'href="/reviews/{old.pk}/"' in page(new)
    told = notify("explain", old.notification_id).out
    assert "replaced by a newer notification, in its place: newer. pending → cancelled." in told
    assert review("show", old.notification_id)["replaced_by"] == "newer"
    assert review("show", "newer")["replaces"] == old.notification_id


def test_a_corrected_one_is_linked_on_both_sides_for_everybody() -> None:
    old = make_case(cases.BOUNCED)
    new = correct(old)
    for who in ("vera", "olga", "lena"):
        assert f'href="/reviews/{new.pk}/"' in page(old, who)
        assert f'href="/reviews/{old.pk}/"' in page(new, who)
    assert "a•••@e•••.com → b•••@e•••.com" in page(old)
    told = notify("explain", old.notification_id).out
    assert f"closed by user:lena, reason address_corrected, in its place: {new.notification_id}" in told
    assert "address a•••@e•••.com → b•••@e•••.com" in told
    assert review("show", new.notification_id)["replaces"] == old.notification_id


def test_an_expired_one_says_why_and_its_case_says_that_nothing_can_be_ordered() -> None:
    gone = make_case((), "r-1")
    expire(gone)
    cases.go_on(gone, seed.Step(EntryKind.EXPIRED, {"to_state": State.CANCELLED, "code": "expired"}))
    assert "The notification&#x27;s expiry passed" in page(gone)
    case = make_case(cases.NOT_SENT)
    held = make_case((), type="report_approved")
    for intent, verb, code in ((case, "retry", "owner_asked"), (held, "approve", "content_checked")):
        expire(intent)
        assert "is cancelled by the next claim" in page(intent)
        with pytest.raises(NotAllowedNow, match="the next claim would cancel it"):
            decide(verb, intent, code=code)
    assert "its expiry has passed" in notify("explain", case.notification_id).out
    decide("close", now(case), code="no_longer_needed")


def test_setting_aside_stands_in_the_story() -> None:
    intent = make_case(cases.WINDOW_OVER)
    answer = review("wait", intent.notification_id, "--minutes", "30")
    assert answer["state"] == "needs_review"
    assert "set aside until" in notify("explain", intent.notification_id).out
    assert review("list") == []
    assert [row["id"] for row in review("list", "--waiting", "aside")] == [intent.pk]
    assert review("show", intent.notification_id)["snoozed_until"] is not None
    review("resume", intent.notification_id)
    assert len(review("list")) == 1


@pytest.mark.parametrize("way", ["stdin", "argument"])
def test_the_terminal_takes_an_address_and_prints_none(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    intent = make_case(cases.BOUNCED)
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{NEW}\n"))
    given = ("--to", NEW) if way == "argument" else ()
    answer = review("correct", intent.notification_id, "--reason", TEXT, *given)
    assert answer["continued_as"] == f"{intent.notification_id}~a2"
    assert "canary" not in json.dumps(answer)
    with pytest.raises(CommandError, match="Only a case that needs review"):
        review("correct", intent.notification_id, "--reason", TEXT, "--to", "other@example.com")


def test_the_terminal_withdraws_and_says_what_may_be_out() -> None:
    intent = make_case(cases.WINDOW_OVER)
    answer = review("withdraw", intent.notification_id, "--reason-code", "privacy_request", "--reason", TEXT, "--erase")
    assert (answer["state"], answer["maybe_sent"], answer["erased"]) == ("cancelled", True, 1)
    assert "may have reached the recipient" in answer["sentence"]


def test_the_terminal_asks_for_a_resend_that_the_same_person_cannot_confirm_on_the_page() -> None:
    intent = make_case(cases.UNDECIDED, "r-1")
    with pytest.raises(CommandError, match="Type the report ID"):
        review("resend", intent.notification_id, "--reason", TEXT, "--confirm")
    review("resend", intent.notification_id, "--reason", TEXT, "--confirm", "--report-id", "r-1")
    assert review("show", intent.notification_id)["resend_asked_by"].startswith("cli:")
    with pytest.raises(CommandError, match="a second lead must confirm"):
        review("approve", intent.notification_id, "--confirm")
    decide("approve", now(intent), "lena", confirmed=True)
    assert last(intent).reason_code == "forced_resend"


def test_the_page_of_a_linked_case_takes_no_more_than_six_queries_beside_the_logins() -> None:
    old = make_case(cases.BOUNCED)
    new = correct(old)
    asked = make_case(cases.UNDECIDED, "r-1")
    decide("resend", asked, typed="r-1", confirmed=True)
    client = login("lena")
    for intent in (old, new, asked):
        with CaptureQueriesContext(connection) as seen:
            client.get(f"/reviews/{intent.pk}/")
        ours = [one["sql"] for one in seen if not re.search(r"SAVEPOINT|django_session|auth_", one["sql"])]
        assert len(ours) <= 6, ours
