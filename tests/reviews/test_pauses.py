"""The page of pauses: who sees it, who may pause, resume and close, and what every page says of it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client

from notifications.models import Circuit, ConfigRevision, Pause, ProviderAccount
from tests.intake.notify_cli import notify
from tests.reviews.cases import login, make_case

pytestmark = pytest.mark.django_db(transaction=True)
URL = "/reviews/pauses/"
FORM = {"scope": "type", "name": "report_ready", "minutes": "60", "reason_code": "too_many", "reason": ""}
MENDED = "The template was mended."


def begin(client: Client, **changes: str) -> Any:
    return client.post(f"{URL}pause", FORM | changes)


def open_circuit(until: str = "'infinity'") -> ProviderAccount:
    account = ProviderAccount.objects.get(name="resend")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO notifyops_private.notifications_circuit (account_id, open_until, reason, code) "
            f"VALUES (%s, {until}, 'monthly_quota', 'resend.429.monthly_quota_exceeded')",
            [account.pk],
        )
    return account


def test_a_lead_pauses_and_every_page_says_so_until_it_is_resumed() -> None:
    case = make_case()
    lena = login("lena")
    response = begin(lena)
    assert (response.status_code, response["Location"]) == (303, URL)
    made = Pause.objects.get()
    assert (made.scope, made.name, made.actor, made.reason_code) == ("type", "report_ready", "user:lena", "too_many")
    assert (made.ends_at - made.began_at).total_seconds() == 3600
    for page in ("/reviews/", f"/reviews/{case.pk}/", URL):
        assert "Paused: type report_ready." in login("olga").get(page).content.decode()
    assert "Paused until" in lena.get(URL).content.decode()
    resumed = lena.post(f"{URL}{made.pk}/resume", {"reason": MENDED})
    assert resumed.status_code == 303
    made.refresh_from_db()
    assert (made.resumed_by, made.resume_reason) == ("user:lena", MENDED)
    html = lena.get(URL).content.decode()
    assert "Paused: type" not in html
    assert MENDED in html


@pytest.mark.parametrize(
    ("name", "sees", "may"), [("sam", 403, False), ("vera", 200, False), ("olga", 200, False), ("lena", 200, True)]
)
def test_only_leads_may_pause_resume_and_close(name: str, sees: int, may: bool) -> None:
    account = open_circuit()
    client = login(name)
    page = client.get(URL)
    assert page.status_code == sees
    if sees == 200:
        html = page.content.decode()
        assert ("Pause something" in html, "Call it again" in html) == (may, may)
    assert begin(client).status_code == (303 if may else 403)
    begin(login("lena"))
    number = Pause.objects.get().pk
    assert client.post(f"{URL}{number}/resume", {"reason": MENDED}).status_code == (303 if may else 403)
    closing = client.post(f"{URL}accounts/{account.pk}/close", {"reason": "The plan was upgraded."})
    assert closing.status_code == (303 if may else 403)
    assert (Circuit.objects.values_list("reason", flat=True).get() is None) == may


def test_a_stranger_is_sent_to_the_login() -> None:
    for method, path in (("get", URL), ("post", f"{URL}pause"), ("post", f"{URL}1/resume")):
        assert getattr(Client(), method)(path)["Location"].startswith("/login/")
    assert not Pause.objects.exists()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"name": "no_such"}, "There is no notification type no_such"),
        ({"minutes": "100000"}, "from one minute to 24 hours"),
        ({"minutes": "-5"}, "from one minute to 24 hours"),
        ({"minutes": "١"}, "from one minute to 24 hours"),
        ({"reason_code": ""}, "Choose a reason"),
        ({"scope": "<b>"}, "Choose what to pause"),
        ({"reason_code": "other", "reason": "write to ana@example.com"}, "refer by ID"),
        ({"scope": "workspace", "name": "<script>"}, "up to 64"),
    ],
)
def test_a_form_that_cannot_be_used_comes_back_with_what_was_typed(changes: dict[str, str], told: str) -> None:
    response = begin(login("lena"), **changes)
    html = response.content.decode()
    assert (response.status_code, told in html) == (422, True)
    assert "<script>" not in html.split("<main")[1]
    assert 'value="report_ready"' in html or "name" in changes
    assert not Pause.objects.exists()


def test_two_leads_who_pause_the_same_leave_one_pause() -> None:
    assert begin(login("lena")).status_code == 303
    again = begin(login("lena"))
    assert (again.status_code, Pause.objects.count()) == (422, 1)
    assert "paused already, by user:lena" in again.content.decode()


def test_closing_a_circuit_leaves_a_revision_and_a_second_click_is_told() -> None:
    account = open_circuit()
    lena = login("lena")
    assert "Call account resend again" in lena.get(URL).content.decode()
    path = f"{URL}accounts/{account.pk}/close"
    assert lena.post(path, {"reason": "short"}).status_code == 422
    assert lena.post(path, {"reason": "The plan was upgraded."}).status_code == 303
    revision = ConfigRevision.objects.get()
    assert (revision.actor, revision.reason, revision.after) == (
        "user:lena",
        "The plan was upgraded.",
        {"circuit": None},
    )
    assert revision.before is not None
    assert revision.before["circuit"]["reason"] == "monthly_quota"
    assert lena.post(path, {"reason": "The plan was upgraded."}).status_code == 422
    assert lena.post(f"{URL}accounts/999999/close", {"reason": MENDED}).status_code == 404


def test_the_page_speaks_chinese() -> None:
    lena = login("lena")
    lena.post("/i18n/setlang/", {"language": "zh-hans", "next": URL})
    begin(lena)
    html = lena.get(URL).content.decode()
    for word in ("Pause something", "Resume now", "Its name", "Paused:"):
        assert word not in html


def test_the_command_line_pauses_lists_and_resumes_under_the_name_of_its_caller() -> None:
    made = notify("pause", "type", "report_ready", "--for", "2h", "--reason", "wrong_content")
    assert (made.code, "Paused until" in made.out) == (0, True)
    row = Pause.objects.get()
    assert row.actor.startswith("cli:")
    assert "@" in row.actor
    assert (row.ends_at - row.began_at).total_seconds() == 7200
    assert "report_ready" in notify("pauses").out
    (listed,) = notify("pauses", "--json").document
    assert (listed["scope"], listed["actor"]) == ("type", row.actor)
    assert "pause        type report_ready until" in notify("status").out
    assert [one["id"] for one in notify("status", "--json").document["pauses"]] == [row.pk]
    assert notify("resume", str(row.pk), "--reason", MENDED).code == 0
    assert notify("pauses").out == "Nothing is paused.\n"
    assert MENDED in notify("pauses", "--all", "--json").out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("pause", "type", "report_ready", "--for", "2d", "--reason", "too_many"), "such as 30min or 2h"),
        (("pause", "type", "report_ready", "--for", "25h", "--reason", "too_many"), "24 hours"),
        (("pause", "type", "report_ready", "--for", "1h", "--reason", "other"), "Say why"),
        (("pause", "account", "nobody", "--for", "1h", "--reason", "too_many"), "no provider account"),
        (("resume", "4711", "--reason", MENDED), "There is no pause 4711; see notify pauses."),
        (("close-circuit", "nobody", "--reason", MENDED), "there are: resend"),
        (("close-circuit", "resend", "--reason", MENDED), "closed already"),
    ],
)
def test_the_command_line_says_what_to_mend(arguments: tuple[str, ...], told: str) -> None:
    answer = notify(*arguments)
    assert (answer.code, told in answer.err) == (1, True), answer
    assert not Pause.objects.exists()


def test_the_command_line_closes_a_circuit_that_waits_for_a_person() -> None:
    open_circuit()
    assert "until a person closes it" in notify("status").out
    closed = notify("close-circuit", "resend", "--reason", "The plan was upgraded.")
    assert (closed.code, "resend.429.monthly_quota_exceeded" in closed.out) == (0, True)
    assert ConfigRevision.objects.get().actor.startswith("cli:")
    assert "resend: closed" in notify("status").out
