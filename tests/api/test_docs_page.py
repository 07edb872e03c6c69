"""The readable page of the API, looked at in a browser; and what keeps it free of anything from elsewhere."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client
from playwright.sync_api import Page

from tests.browser.conftest import chromium, served_site, site
from tests.browser.console_site import Chromium

__all__ = ["chromium", "served_site", "site"]
pytestmark = pytest.mark.django_db(databases=["default", "owner"])


def test_it_needs_no_token_no_script_and_no_other_host() -> None:
    answer = Client().get("/api/v1/docs")
    html = answer.content.decode()
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    assert not re.search(r"<script|style=|https?://|//cdn", html)
    for call in ("POST", "/api/v1/intents/batch", "/api/v1/outcomes", "notification_type", "options.not_before"):
        assert call in html
    assert Client().get("/api/v1/openapi.json").json()["openapi"].startswith("3.1")
    assert Client().post("/api/v1/docs").json()["code"] == "method_not_allowed"


@pytest.mark.slow
@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_it_is_clean_for_axe_and_fits(chromium: Chromium, site: str, width: int, theme: str) -> None:
    def look(page: Page) -> list[str]:
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.goto(f"{site}/api/v1/docs#problem-key_reused")
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        said += [f"{one['id']}: {one['nodes'][0]['html'][:150]}" for one in Axe().run(page).response["violations"]]
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            said.append("wider than the screen")
        return said

    assert chromium.run(look, viewport={"width": width, "height": 800}, color_scheme=theme) == []
