"""Whether an answer that goes on may go on: the same rules as at its beginning, read anew from the database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client

from notifications.live.hub import HUB
from reviews.signin import gate
from tests.reviews.cases import login
from tests.signin.factors import put_back, shown

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
MAY = "reviews.view_case"


def request_of(client: Client) -> Any:
    return client.get("/reviews/help/").wsgi_request


def no_group(_client: Client) -> None:
    User.objects.get(username="olga").groups.clear()


def switched_off(_client: Client) -> None:
    User.objects.filter(username="olga").update(is_active=False)


def other_password(_client: Client) -> None:
    User.objects.filter(username="olga").update(password="!other")


def no_session(_client: Client) -> None:
    Session.objects.all().delete()


def too_old(client: Client) -> None:
    put_back(client, "began_at", 100_000)


@pytest.mark.parametrize("end", [no_group, switched_off, other_password, no_session, too_old])
def test_what_ends_a_login_ends_what_goes_on(end: Callable[[Client], None]) -> None:
    olga = login("olga")
    request = request_of(olga)
    assert gate.still_stands(request, MAY)
    assert not gate.still_stands(request, "reviews.reopen_intent")
    end(olga)
    assert not gate.still_stands(request, MAY)


def test_a_session_that_nobody_uses_ends_it_too(settings: Any) -> None:
    olga = login("olga")
    request = request_of(olga)
    put_back(olga, "began_at", 100)
    request.COOKIES.pop("seen", None)
    assert gate.still_stands(request, MAY)
    settings.NOTIFYOPS_SESSION_IDLE_S = 60
    assert not gate.still_stands(request, MAY)


def test_without_the_second_factor_that_is_asked_for_nothing_goes_on(settings: Any) -> None:
    settings.NOTIFYOPS_SECOND_FACTOR = "required"
    assert not gate.still_stands(request_of(login("olga")), MAY)
    assert gate.still_stands(request_of(shown("lena")), MAY)


def test_pages_take_no_mark_while_nobody_listens() -> None:
    assert HUB.mark() == ""
    assert 'data-mark=""' in login("olga").get("/reviews/").content.decode()
