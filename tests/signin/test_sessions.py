"""A session has an end, by age and by disuse; nothing of it is written by looking at pages; cookies fit the site."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from notifications.models import Intent
from reviews.signin import proof
from reviews.signin.gate import SEEN
from tests.reviews.cases import login, make_case, post
from tests.signin.factors import put_back, shown

pytestmark = pytest.mark.django_db(transaction=True)
BASE = Path(__file__).resolve().parents[2]
TO_LOGIN = "/login/?next=/reviews/"


def test_a_session_ends_at_its_age_however_busy(settings: Any) -> None:
    client = login("olga")
    assert client.get("/reviews/").status_code == 200
    put_back(client, proof.BEGAN, settings.NOTIFYOPS_SESSION_S + 1)
    assert client.get("/reviews/")["Location"] == TO_LOGIN
    assert not Session.objects.exists()


def test_a_session_that_nobody_used_ends_sooner(settings: Any) -> None:
    client = login("olga")
    put_back(client, proof.BEGAN, settings.NOTIFYOPS_SESSION_IDLE_S + 1)
    assert client.get("/reviews/")["Location"] == TO_LOGIN


def test_use_keeps_it_and_what_a_page_fetches_by_itself_does_not(settings: Any, monkeypatch: Any) -> None:
    client, intent = login("olga"), make_case()
    now = time.time()
    ahead = settings.NOTIFYOPS_SESSION_IDLE_S - 60
    monkeypatch.setattr(time, "time", lambda: now + ahead)
    assert client.get("/reviews/").status_code == 200
    monkeypatch.setattr(time, "time", lambda: now + 2 * ahead)
    fetched = client.get(f"/reviews/{intent.pk}/answers", headers={"HX-Request": "true"})
    assert (fetched.status_code, SEEN in fetched.cookies) == (286, False), "it waits for no answer"
    monkeypatch.setattr(time, "time", lambda: now + 2 * ahead + 120)
    assert client.get("/reviews/")["Location"] == TO_LOGIN


def test_nobody_writes_himself_a_longer_session(settings: Any) -> None:
    """The cookie is signed, and good for the login that it was given to."""
    client = login("olga")
    client.get("/reviews/")
    others = client.cookies[SEEN].value
    for forged in ("9999999999", "9999999999:x", others.replace(":", "0:", 1)):
        victim = login("olga")
        victim.cookies[SEEN] = forged
        put_back(victim, proof.BEGAN, settings.NOTIFYOPS_SESSION_IDLE_S + 1)
        assert victim.get("/reviews/")["Location"] == TO_LOGIN, forged
    other = login("lena")
    other.cookies[SEEN] = others
    put_back(other, proof.BEGAN, settings.NOTIFYOPS_SESSION_IDLE_S + 1)
    assert other.get("/reviews/")["Location"] == TO_LOGIN


def test_its_key_changes_at_the_login_and_when_the_second_factor_is_shown() -> None:
    from django.contrib.auth.models import User

    from tests.signin.factors import SHOW, code_of, enrolled

    person, device = enrolled("olga")
    User.objects.filter(pk=person.pk).update(password="")
    person.refresh_from_db()
    person.set_password("pw")
    person.save()
    client = Client()
    client.cookies["sessionid"] = "planted0planted0planted0planted0"
    client.post("/login/", {"username": "olga", "password": "pw"})
    first = client.cookies["sessionid"].value
    client.post(SHOW, {"code": code_of(device)})
    second = client.cookies["sessionid"].value
    assert len({"planted0planted0planted0planted0", first, second}) == 3
    assert not Session.objects.filter(pk=first).exists()


def test_a_session_over_in_the_middle_of_a_decision_leads_htmx_to_the_login(settings: Any) -> None:
    """H-UI-1: the page comes back, the fragment does not; nothing was done, and nothing is done by coming back."""
    client, intent = login("olga"), make_case()
    put_back(client, proof.BEGAN, settings.NOTIFYOPS_SESSION_S + 1)
    headers = {"HX-Request": "true", "HX-Current-URL": f"http://testserver/reviews/{intent.pk}/?a=1"}
    answer = post(client, intent, "close", reason_code="duplicate", headers=headers)
    assert (answer.status_code, answer.content) == (401, b"")
    assert answer["HX-Redirect"] == f"/login/?next=%2Freviews%2F{intent.pk}%2F%3Fa%3D1"
    assert "HX-Request" in answer["Vary"]
    assert Intent.objects.get(pk=intent.pk).seq == intent.seq


@pytest.mark.parametrize("path", ["/reviews/", "/reviews/runs/", "/reviews/pauses/", "/reviews/0/", "/admin/"])
def test_caches_keep_fragments_and_pages_apart_and_persons_too(path: str) -> None:
    answer = login("lena").get(path)
    vary = {word.strip().lower() for word in answer["Vary"].split(",")}
    assert {"hx-request", "cookie"} <= vary
    assert "no-store" in answer["Cache-Control"] or "private" in answer["Cache-Control"]


@pytest.mark.parametrize("mode", ["sandbox", "live"])
def test_cookies_and_transport_fit_the_site_mode(tmp_path: Path, mode: str) -> None:
    names = "SESSION_COOKIE_NAME CSRF_COOKIE_NAME SESSION_COOKIE_SECURE CSRF_COOKIE_SECURE LANGUAGE_COOKIE_SECURE "
    names += "SESSION_COOKIE_HTTPONLY SESSION_COOKIE_SAMESITE SECURE_HSTS_SECONDS SECURE_SSL_REDIRECT "
    names += "NOTIFYOPS_SECOND_FACTOR"
    program = (
        f"import json; from notifyops import settings as s; print(json.dumps([vars(s)[n] for n in {names.split()!r}]))"
    )
    env = os.environ | {"NOTIFYOPS_SITE_MODE": mode, "NOTIFYOPS_HOME": str(tmp_path)}
    env["NOTIFYOPS_TRUSTED_PROXIES"] = "127.0.0.1"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=BASE, env=env, capture_output=True, text=True, check=True
    )
    live = ["__Host-sessionid", "__Host-csrftoken", True, True, True, True, "Lax", 31_536_000, True, "required"]
    plain = ["sessionid", "csrftoken", False, False, False, True, "Lax", 0, False, "optional"]
    assert json.loads(done.stdout) == (live if mode == "live" else plain)


def test_django_finds_nothing_to_mend_on_a_live_site(tmp_path: Path) -> None:
    env = os.environ | {"NOTIFYOPS_SITE_MODE": "live", "NOTIFYOPS_TRUSTED_PROXIES": "10.0.0.1"}
    env |= {"NOTIFYOPS_HOME": str(tmp_path), "NOTIFYOPS_SECRET_KEY": "aB3dE6gH9k" * 6}
    argv = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    done = subprocess.run(argv, cwd=BASE, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_live_site_cannot_be_told_to_do_without(tmp_path: Path) -> None:
    env = os.environ | {"NOTIFYOPS_SITE_MODE": "live", "NOTIFYOPS_SECOND_FACTOR": "optional"}
    env["NOTIFYOPS_HOME"] = str(tmp_path)
    argv = [sys.executable, "manage.py", "check"]
    done = subprocess.run(argv, cwd=BASE, env=env, capture_output=True, text=True, check=False)
    assert done.stderr == "NOTIFYOPS_SECOND_FACTOR is 'optional': it must be one of required.\n"


def test_looking_at_pages_leaves_the_session_as_it_is() -> None:
    client = shown("lena")
    before = list(Session.objects.values_list("session_key", "session_data", "expire_date"))
    for url in ("/reviews/", "/admin/", "/second-factor/", "/reviews/runs/"):
        client.get(url)
    assert list(Session.objects.values_list("session_key", "session_data", "expire_date")) == before
