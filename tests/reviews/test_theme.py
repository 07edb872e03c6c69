"""Light, dark, or as the device: kept in a cookie, on the page before it is painted, and leading nowhere else."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.reviews.cases import login

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]


def choose(client: Client, theme: str, to: str = "/reviews/") -> Any:
    return client.post("/theme/", {"theme": theme, "next": to})


def head(client: Client, path: str = "/login/") -> str:
    return client.get(path).content.decode().partition("<body")[0]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_choice_is_on_the_next_page_and_as_the_device_takes_it_back(theme: str) -> None:
    client = Client()
    assert "data-theme" not in head(client)
    assert choose(client, theme)["Location"] == "/reviews/"
    assert f'data-theme="{theme}"' in head(client)
    assert f'<meta name="color-scheme" content="{theme}">' in head(client)
    choose(client, "system")
    assert "data-theme" not in head(client)
    assert 'content="light dark"' in head(client)


def test_it_holds_on_the_pages_of_the_console_of_the_api_and_of_a_missing_address() -> None:
    client = login("vera")
    choose(client, "dark")
    for path in ("/reviews/", "/reviews/help/", "/api/v1/docs", "/nothing/"):
        assert 'data-theme="dark"' in head(client, path), path


def test_the_cookie_is_for_a_year_and_for_no_script() -> None:
    cookie = choose(Client(), "dark").cookies["theme"]
    assert (cookie["max-age"], cookie["httponly"], cookie["samesite"]) == (31_536_000, True, "Lax")


@pytest.mark.parametrize("to", ["https://example.com/", "//example.com", "javascript:alert(1)", ""])
def test_it_leads_to_no_other_site(to: str) -> None:
    assert choose(Client(), "dark", to)["Location"] == "/"


def test_a_cookie_that_somebody_else_wrote_says_nothing() -> None:
    client = Client()
    client.cookies["theme"] = '"><script>'
    assert "data-theme" not in head(client)


def test_looking_changes_nothing_and_a_form_of_another_site_is_refused() -> None:
    assert Client().get("/theme/").status_code == 405
    assert Client(enforce_csrf_checks=True).post("/theme/", {"theme": "dark"}).status_code == 403
