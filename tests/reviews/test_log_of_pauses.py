"""Pauses stand in the log of human actions, in its filter and in what leaves it; a slip at a terminal does not."""

from __future__ import annotations

import csv
import html as markup
import io
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command

from notifications.pausing import pause, resume
from reviews.models import Review
from tests.reviews.cases import login, make_case, post
from tests.reviews.deciding import decide

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]


def some_pauses() -> None:
    made = pause("workspace", "acme", span=timedelta(hours=1), reason=("maintenance", ""), actor="user:lena")
    resume(made.pk, reason="The maintenance is over.", actor="user:olga")
    pause("workspace", "", span=timedelta(hours=1), reason=("other", "An owner asked for it."), actor="user:lena")


def listed(query: str = "") -> str:
    return str(login("vera").get(f"/reviews/log/{query}").content.decode())


def test_pauses_and_their_ends_are_in_the_log_the_filter_and_the_export() -> None:
    some_pauses()
    html = listed()
    for told in ("Pause of sending", "End of a pause", "Workspace acme", "Workspace (default)", "Maintenance",
                 "The maintenance is over.", "Another reason", "An owner asked for it."):  # fmt: skip
        assert told in html, told
    assert listed("?verb=pause").count('data-label="Decision"') == 2
    assert listed("?verb=pause_end&who=olga").count('data-label="Decision"') == 1
    assert listed("?reason=maintenance").count('data-label="Decision"') == 1
    assert listed("?outcome=refused").count('data-label="Decision"') == 0
    answer = login("lena").get("/reviews/log/export?verb=pause")
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode("utf-8-sig"))))  # type: ignore[attr-defined]
    assert [(row["workspace"], row["paused_scope"], row["reason_code"]) for row in rows] == [
        ("", "workspace", "other"),
        ("acme", "workspace", "maintenance"),
    ]


def test_the_export_names_the_workspace_of_a_case() -> None:
    decide("close", make_case(), "olga", "duplicate", text="")
    answer = login("lena").get("/reviews/log/export")
    (row,) = csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode("utf-8-sig")))  # type: ignore[attr-defined]
    assert (row["workspace"], row["bulk_run"], row["paused_scope"]) == ("", "", "")


def test_a_reason_is_told_without_what_a_form_says_of_it() -> None:
    intent = make_case()
    assert "Test data (explain)" in login("olga").get(f"/reviews/{intent.pk}/").content.decode()
    decide("close", intent, "olga", "test_data")
    assert "Test data" in listed()
    assert "(explain)" not in listed()
    assert "(explain)" not in login("vera").get("/reviews/watching/").content.decode()


def test_a_slip_at_the_terminal_is_no_decision_and_a_refusal_says_the_same_on_record() -> None:
    intent = make_case()
    with pytest.raises(CommandError, match="This reason does not exist here"):
        call_command("review", "close", intent.notification_id, "--reason-code", "duplicat")
    assert not Review.objects.exists()
    with pytest.raises(CommandError) as refused:
        call_command("review", "undo", intent.notification_id)
    assert str(refused.value) in markup.unescape(login("vera").get(f"/reviews/{intent.pk}/").content.decode())
    with pytest.raises(CommandError) as refused:
        call_command(
            "review", "reopen", intent.notification_id, "--reason-code", "owner_asked", "--reason", "Ten or more."
        )
    assert str(refused.value) in markup.unescape(login("vera").get(f"/reviews/{intent.pk}/").content.decode())


def test_a_refused_form_marks_its_field_and_a_wrong_login_keeps_the_name() -> None:
    intent = make_case()
    html = post(login("olga"), intent, "close", reason_code="test_data").content.decode()
    assert html.count("autofocus") == 1
    assert 'aria-invalid="true" autofocus aria-describedby="fault-close help-close"' in html
    assert '<small class="fault" id="fault-close">This reason needs a text' in html
    wrong = login("olga")
    wrong.logout()
    page = wrong.post("/login/", {"username": "olga", "password": "wrong"}).content.decode()
    assert 'value="olga"' in page
