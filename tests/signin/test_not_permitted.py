"""Who may not see a page is told so, and how to come as somebody else; a typed address of a form leads to its page."""

from __future__ import annotations

import html as entities
import re
from typing import Any
from urllib.parse import urljoin

import pytest
from django.test import Client

from reviews.signin.errors import way_up
from tests.reviews.cases import login, make_case

pytestmark = pytest.mark.django_db(transaction=True)


def said(answer: Any) -> str:
    return entities.unescape(answer.content.decode())


@pytest.mark.parametrize("who", ["olga", "vera", "sam"])
@pytest.mark.parametrize(
    "path", ["/admin/", "/admin/reviews/review/", "/admin/jsi18n/", "/admin/logout/", "/admin/nothing/"]
)
def test_the_admin_tells_who_may_not_use_it(who: str, path: str) -> None:
    client = login(who)
    for url in (path, f"/admin/login/?next={path}", f"/login/?next={path}"):
        answer = client.get(url, follow=True)
        assert answer.status_code == (200 if path == "/admin/logout/" and url != path and who != "sam" else 403), url
    html = said(client.get(path))
    assert f"You are logged in as <b>{who}</b>." in html
    assert "This account may not use the admin" in html
    assert ("To the queue" in html) is (who != "sam")


def test_who_may_not_see_a_page_can_come_to_it_as_somebody_else() -> None:
    make_case()
    browser, lena = login("olga"), login("lena").get("/login/").wsgi_request.user
    lena.set_password("pw")
    lena.save()
    html = said(browser.get("/admin/notifications/intent/?all=&q=a"))
    form = re.search(
        r'<form method="post" action="/logout/" class="verb">.*?name="next" value="([^"]*)"', html, re.DOTALL
    )
    assert form is not None
    assert form[1] == "/login/?next=/admin/notifications/intent/%3Fall%3D%26q%3Da"
    page = browser.post("/logout/", {"next": form[1]}, follow=True)
    assert page.redirect_chain == [(form[1], 302)]
    onward = re.search(r'name="next" value="([^"]*)"', said(page).partition('action="/login/"')[2])
    assert onward is not None
    fields = {"username": "lena", "password": "pw", "next": onward[1]}
    assert browser.post("/login/", fields, follow=True).wsgi_request.path == "/admin/notifications/intent/"


def test_a_login_that_is_led_to_the_login_goes_to_the_queue() -> None:
    client = login("vera")
    for onward in ("/login/", "/login/?next=/login/", "/admin/login/?next=/login/", "/logout/", "/admin/logout/"):
        answer = client.get("/login/", {"next": onward}, follow=True)
        assert (answer.status_code, answer.wsgi_request.path) == (200, "/reviews/"), onward


@pytest.mark.parametrize(
    ("path", "above"),
    [
        ("/reviews/views", "/reviews/"),
        ("/reviews/views/3/delete", "/reviews/"),
        ("/reviews/17/close", "/reviews/17/"),
        ("/reviews/bulk/4/start", "/reviews/bulk/4/"),
        ("/reviews/runs/4/pause", "/reviews/runs/4/"),
        ("/reviews/pauses/4/resume", "/reviews/pauses/"),
        ("/second-factor/off", "/second-factor/"),
        ("/logout/", "/"),
    ],
)
def test_an_address_that_takes_a_form_alone_leads_back_to_its_page(path: str, above: str) -> None:
    assert urljoin(path, way_up(path)) == above
    for client in (login("vera"), Client()):
        answer = client.get(path)
        assert (answer.status_code, answer["Allow"]) in ((405, "POST"), (405, "POST, OPTIONS"))
        html = said(answer)
        assert "Not a page" in html
        assert f'<p><a href="{way_up(path)}">' in html
        assert "no-store" in answer["Cache-Control"]


def test_a_page_that_takes_nothing_leads_to_itself_and_programs_get_no_page() -> None:
    client = login("vera")
    assert '<p><a href="/reviews/groups/">' in said(client.post("/reviews/groups/"))
    assert client.get("/reviews/views", headers={"HX-Request": "true"}).content == b""
    assert client.post("/healthz").content == b""
