"""The second factor: taken into use, shown, lost, and taken away; never readable, never good twice."""

from __future__ import annotations

from io import StringIO
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from reviews.signin.models import AccessRecord
from tests.reviews import cases
from tests.reviews.cases import login, make_case, make_person
from tests.signin.factors import ENROL, SHOW, code_of, enrolled, required, shown, wrong_code

pytestmark = pytest.mark.django_db(transaction=True)
WHY = "She lost her phone on the way here."


def codes_in(html: str) -> list[str]:
    return [part.partition("<")[0] for part in html.split('<code class="id">')[1:]]


def test_taking_an_app_into_use_step_by_step() -> None:
    client = login("olga")
    assert "Show the picture to scan" in client.get(ENROL).content.decode()
    assert client.get(f"{ENROL}picture.svg").status_code == 404
    assert not TOTPDevice.objects.exists(), "opening the page made a secret"
    assert client.post(ENROL).status_code == 303
    device = TOTPDevice.objects.get()
    html = client.get(ENROL).content.decode()
    assert f'src="{ENROL}picture.svg"' in html
    picture = client.get(f"{ENROL}picture.svg")
    assert (picture.status_code, picture["Content-Type"]) == (200, "image/svg+xml")
    assert "style=" not in picture.content.decode()
    assert "no-store" in picture["Cache-Control"]
    assert client.post(ENROL, {"code": wrong_code(device)}).status_code == 422
    assert not TOTPDevice.objects.get().confirmed
    done = client.post(ENROL, {"code": code_of(device)})
    codes = codes_in(done.content.decode())
    assert (done.status_code, len(codes), len(set(codes))) == (200, 10, 10)
    assert "no-store" in done["Cache-Control"]
    assert client.get(f"{ENROL}picture.svg").status_code == 404, "a secret in use is never shown again"
    kept = {token.token for token in StaticToken.objects.all()}
    assert len(kept) == 10
    assert not kept & {code.replace("-", "") for code in codes}, "the database holds the codes themselves"
    assert list(AccessRecord.objects.values_list("deed", "actor")) == [("enrolled", "user:olga")]


def test_outside_a_live_site_it_is_voluntary_and_asked_of_whoever_has_one() -> None:
    assert login("vera").get("/reviews/").status_code == 200
    person, device = enrolled("olga")
    client = Client()
    client.force_login(person)
    answer = client.get("/reviews/?code=x")
    assert (answer.status_code, answer["Location"]) == (302, "/second-factor/?next=/reviews/%3Fcode%3Dx")
    shown = client.post(SHOW, {"code": code_of(device), "next": "/reviews/?code=x"})
    assert (shown.status_code, shown["Location"]) == (303, "/reviews/?code=x")
    assert client.get("/reviews/").status_code == 200


def test_on_a_live_site_nobody_works_without_one(settings: Any) -> None:
    required(settings)
    intent = make_case()
    client = login("lena")
    for url in ("/reviews/", f"/reviews/{intent.pk}/", "/admin/", "/admin/notifications/intent/"):
        assert client.get(url)["Location"].startswith("/second-factor/?next="), url
    done = cases.post(client, intent, "close", reason_code="duplicate")
    assert (done.status_code, type(intent).objects.get().state) == (302, intent.state)
    assert "nobody works with a password alone" in client.get(SHOW).content.decode()
    for url in ("/login/", "/healthz", "/api/v1/docs"):
        assert client.get(url).status_code in (200, 302), url
    assert client.post("/logout/").status_code == 302
    client = shown_live = shown("lena")
    for url in ("/reviews/", f"/reviews/{intent.pk}/", "/admin/"):
        assert shown_live.get(url).status_code == 200, url


def test_htmx_is_led_to_the_page_and_what_waits_by_itself_stays_quiet(settings: Any) -> None:
    required(settings)
    intent = make_case()
    client = login("olga")
    shown_at = f"http://testserver/reviews/{intent.pk}/?x=1"
    headers = {"HX-Request": "true", "HX-Current-URL": shown_at}
    answer = cases.post(client, intent, "close", reason_code="duplicate", headers=headers)
    assert (answer.status_code, answer.content) == (401, b"")
    assert answer["HX-Redirect"] == f"/second-factor/?next=%2Freviews%2F{intent.pk}%2F%3Fx%3D1"
    polled = client.get(f"/reviews/{intent.pk}/answers", headers=headers)
    assert (polled.status_code, polled["HX-Reswap"]) == (286, "none")


def test_a_code_is_good_once_and_too_many_wrong_ones_make_wait() -> None:
    person, device = enrolled("olga")
    client = Client()
    client.force_login(person)
    code = code_of(device)
    assert client.post(SHOW, {"code": code}).status_code == 303
    again = Client()
    again.force_login(person)
    assert again.post(SHOW, {"code": code}).status_code == 422
    assert again.post(SHOW, {"code": code}).status_code == 429, "the next try is put off"
    TOTPDevice.objects.update(throttling_failure_count=8)
    wait = again.post(SHOW, {"code": code})
    assert 60 < int(wait["Retry-After"]) <= 129
    assert "not the right one either" in wait.content.decode()


@pytest.mark.parametrize(
    "typed", ["", "12345", "1234567", "１２３４５６", "abcdef", "-12345", "0x1234", "\x00" * 6, "9" * 4000]
)
def test_what_is_no_code_is_refused_and_costs_no_wait(typed: str) -> None:
    person, _device = enrolled("olga")
    client = Client()
    client.force_login(person)
    assert client.post(SHOW, {"code": typed}).status_code == 422
    assert TOTPDevice.objects.get().throttling_failure_count == 0


def test_a_recovery_code_lets_in_once_whatever_its_spelling() -> None:
    client = login("olga")
    client.post(ENROL)
    codes = codes_in(client.post(ENROL, {"code": code_of(TOTPDevice.objects.get())}).content.decode())
    person = User.objects.get(username="olga")
    for number, typed in enumerate([codes[0].upper(), f" {codes[1].replace('-', '')} "], start=1):
        fresh = Client()
        fresh.force_login(person)
        answer = fresh.post(SHOW, {"code": typed, "next": "/reviews/?code=x"}, follow=True)
        assert f"{10 - number} recovery codes are left" in answer.content.decode()
        assert 'href="/reviews/?code=x"' in answer.content.decode()
        assert fresh.get("/reviews/").status_code == 200
        again = Client()
        again.force_login(person)
        assert again.post(SHOW, {"code": typed}).status_code == 422
        from django_otp.plugins.otp_static.models import StaticDevice

        StaticDevice.objects.update(throttling_failure_count=0)
    assert AccessRecord.objects.filter(deed="code_used").count() == 2


def test_the_codes_of_another_person_are_nothing() -> None:
    person, _device = enrolled("olga")
    _other, others = enrolled("lena")
    client = Client()
    client.force_login(person)
    assert client.post(SHOW, {"code": code_of(others)}).status_code == 422


def test_a_password_alone_changes_nothing_about_it() -> None:
    person, device = enrolled("olga")
    thief = Client()
    thief.force_login(person)
    for url in (ENROL, "/second-factor/codes", "/second-factor/off"):
        assert thief.post(url)["Location"].startswith(SHOW), url
    assert thief.get(ENROL)["Location"].startswith(SHOW)
    assert TOTPDevice.objects.get().pk == device.pk
    assert StaticToken.objects.count() == 10


def test_a_new_app_takes_the_place_of_the_old_one_whose_sessions_end_their_trust() -> None:
    client = shown("olga")
    elsewhere = shown_again = Client()
    elsewhere.force_login(User.objects.get(username="olga"))
    elsewhere.post(SHOW, {"code": code_of(TOTPDevice.objects.get())})
    assert shown_again.get("/reviews/").status_code == 200
    client.post(ENROL)
    device = TOTPDevice.objects.get(confirmed=False)
    assert client.post(ENROL, {"code": code_of(device)}).status_code == 200
    assert TOTPDevice.objects.get().pk == device.pk
    assert client.get("/reviews/").status_code == 200
    assert AccessRecord.objects.filter(deed="replaced").exists()
    assert elsewhere.get(SHOW)["Location"].startswith("/login/")


def test_whoever_takes_an_app_into_use_is_logged_out_everywhere_else() -> None:
    client, elsewhere, stranger = login("olga"), Client(), login("vera")
    elsewhere.force_login(User.objects.get(username="olga"))
    assert elsewhere.get("/reviews/").status_code == 200
    client.post(ENROL)
    done = client.post(ENROL, {"code": code_of(TOTPDevice.objects.get(confirmed=False))})
    assert "1 other login of yours has ended" in done.content.decode()
    assert elsewhere.get("/reviews/")["Location"].startswith("/login/")
    assert client.get("/reviews/").status_code == stranger.get("/reviews/").status_code == 200


def test_it_can_be_switched_off_only_where_none_is_required(settings: Any) -> None:
    client = shown("olga")
    required(settings)
    assert client.post("/second-factor/off").status_code == 403
    settings.NOTIFYOPS_SECOND_FACTOR = "optional"
    assert client.post("/second-factor/off").status_code == 303
    assert not TOTPDevice.objects.exists()
    assert client.get("/reviews/").status_code == 200


def test_whoever_lost_it_is_helped_by_a_named_person_with_a_reason(settings: Any) -> None:
    required(settings)
    client = shown("olga")
    out = StringIO()
    with pytest.raises(CommandError, match="Say why"):
        call_command("people", "otp-reset", "olga")
    call_command("people", "otp-reset", "olga", "--reason", WHY, stdout=out)
    assert "sessions ended: 1" in out.getvalue()
    assert client.get("/reviews/")["Location"] == "/login/?next=/reviews/"
    assert not TOTPDevice.objects.exists()
    assert not StaticToken.objects.exists()
    assert AccessRecord.objects.filter(deed="reset", reason=WHY).exists()
    with pytest.raises(CommandError, match="has no second factor"):
        call_command("people", "otp-reset", "olga", "--reason", WHY)


def test_where_it_leads_afterwards_is_ours() -> None:
    person, device = enrolled("olga")
    for place in ("https://evil.example.com/", "//evil.example.com/", "/\\evil.example.com", "javascript:alert(1)"):
        client = Client()
        client.force_login(person)
        assert client.post(SHOW, {"code": code_of(device), "next": place})["Location"] == "/reviews/"


def test_no_secret_is_read_by_workers_or_shown_in_the_admin(as_role: Any) -> None:
    enrolled("olga")
    boss = make_person("lena")
    User.objects.filter(pk=boss.pk).update(is_superuser=True)
    for model in ("otp_totp/totpdevice", "otp_static/staticdevice", "axes/accessattempt"):
        assert login("lena").get(f"/admin/{model}/").status_code == 404
    worker = as_role("worker")
    for table in ("otp_totp_totpdevice", "otp_static_statictoken", "django_session", "axes_accessattempt"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            worker.execute(f"SELECT * FROM notifyops_private.{table}")
    for column, table in (("password", "auth_user"), ("email", "auth_user"), ("digest", "notifications_apitoken")):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            worker.execute(f"SELECT {column} FROM notifyops_private.{table}")


def test_what_was_done_about_accounts_only_grows(as_role: Any) -> None:
    enrolled("olga")
    for deed in (
        "UPDATE notifyops_private.reviews_accessrecord SET deed = 'reset'",
        "TRUNCATE notifyops_private.reviews_accessrecord",
    ):
        with pytest.raises(psycopg.Error, match="only grows"):
            as_role("owner").execute(deed)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        as_role("web").execute("DELETE FROM notifyops_private.reviews_accessrecord")
