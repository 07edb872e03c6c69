"""Every answer carries the policy and its companions: pages, errors, files, downloads, refusals before Django."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from django.core.exceptions import SuspiciousOperation
from django.http import HttpResponse
from django.test import Client
from django.urls import path

from notifyops import urls
from notifyops.bodies import limited
from notifyops.headers import ALWAYS, policy
from tests.reviews.cases import login
from tests.safe.routes import asked, logged_in, routes
from tests.safe.test_permission_matrix import things

pytestmark = pytest.mark.django_db(transaction=True)
INLINE = re.compile(r"<script(?![^>]*\ssrc=)[^>]*>|<style|\sstyle=|\son[a-z]+=|javascript:", re.IGNORECASE)
HTMLS_OWN = re.compile(r"<script[^>]*type=\"application/json\"")


def assert_safe(answer: Any, about: object) -> None:
    headers = {name.lower(): value for name, value in answer.headers.items()}
    given = {part.strip() for part in headers["content-security-policy"].split(";")}
    assert given == {part.strip() for part in policy().split(";")}, about
    for name, value in ALWAYS.items():
        assert headers[name.lower()] == value, (about, name)
    assert "unsafe" not in headers["content-security-policy"]


@pytest.mark.slow
@pytest.mark.usefixtures("quiet")
def test_every_address_and_no_page_has_anything_inline() -> None:
    named = things()
    for who in ("anonymous", "superuser"):
        browser = logged_in(who)
        for route in routes():
            answer = asked(browser, "GET", route.url(named))
            assert_safe(answer, (who, route.path))
            if answer.headers.get("Content-Type", "").startswith("text/html"):
                html = HTMLS_OWN.sub("", answer.content.decode())
                assert INLINE.findall(html) == [], (who, route.path)


def broken(_request: Any) -> HttpResponse:
    raise RuntimeError("CANARY-TEXT")


def suspicious(_request: Any) -> HttpResponse:
    raise SuspiciousOperation("CANARY-TEXT")


handler403, handler404 = urls.handler403, urls.handler404
urlpatterns = [*urls.urlpatterns, path("broken", broken), path("suspicious", suspicious)]


@pytest.mark.urls("tests.safe.test_headers")
@pytest.mark.usefixtures("quiet")
def test_every_error_too_and_none_says_why_to_a_stranger() -> None:
    client = Client(raise_request_exception=False)
    strict = Client(enforce_csrf_checks=True)
    answers = {
        400: client.get("/suspicious"),
        "host": client.get("/login/", headers={"host": "evil.example.com"}),
        403: login("sam").get("/reviews/"),
        "csrf": strict.post("/login/", {}),
        404: client.get("/nothing-here"),
        405: client.get("/logout/"),
        500: client.get("/broken"),
        "file": client.get("/static/console.css"),
        "no file": client.get("/static/none.css"),
        "icon": client.get("/favicon.ico"),
        "api": client.get("/api/v1/outcomes"),
        "api 404": client.get("/api/v1/none"),
        "receipts": client.post("/api/v1/providers/resend/events", b"{}", content_type="application/json"),
        "large form": client.post("/login/", {"username": "x" * 5_000_000}),
    }
    wanted = {"host": 400, "csrf": 403, "file": 200, "no file": 404, "icon": 301, "api": 401, "api 404": 404}
    wanted |= {"receipts": 401, "large form": 400}
    for about, answer in answers.items():
        assert answer.status_code == wanted.get(str(about), about), about
        assert_safe(answer, about)
        if not answer.streaming:
            assert "CANARY-TEXT" not in answer.content.decode(), about
            assert "Traceback" not in answer.content.decode(), about
        answer.close()


def test_what_is_refused_before_django_has_begun() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def nothing(*_given: Any) -> Any:
        raise AssertionError("it got through")

    scope = {"type": "http", "path": "/login/", "headers": [(b"content-length", b"101")]}
    asyncio.run(limited(nothing, prefix="/", most=100)(scope, nothing, send))
    found = HttpResponse(headers={name.decode(): value.decode() for name, value in sent[0]["headers"]})
    assert sent[0]["status"] == 413
    assert_safe(found, 413)


def test_the_database_s_absence_is_said_with_them_as_well() -> None:
    """Admin, login and second factor have no words of their own for it: the gate has."""
    from django.db import connection

    browsers = [login("lena"), Client()]
    port = connection.settings_dict["PORT"]
    connection.close()
    connection.settings_dict["PORT"] = "1"
    try:
        answers = {
            (number, url): browser.get(url)
            for number, browser in enumerate(browsers)
            for url in ("/reviews/", "/admin/", "/second-factor/", "/reviews/pauses/", "/nothing-here")
        }
        answers[2, "/login/"] = browsers[0].get("/login/")
        answers[3, "/login/"] = browsers[1].post("/login/", {"username": "olga", "password": "pw"})
    finally:
        connection.close()
        connection.settings_dict["PORT"] = port
    for (number, url), answer in answers.items():
        assert_safe(answer, url)
        if number != 1:
            assert answer.status_code == 503, (number, url)
            assert "The database does not answer." in answer.content.decode(), url
            assert answer["Retry-After"] == "5"


@pytest.mark.parametrize("is_secure", [False, True])
def test_a_live_site_tells_browsers_to_stay_with_tls(settings: Any, is_secure: bool) -> None:
    settings.SECURE_HSTS_SECONDS = 31_536_000
    answer = Client().get("/healthz", secure=is_secure)
    assert answer.headers.get("Strict-Transport-Security") == ("max-age=31536000" if is_secure else None)
