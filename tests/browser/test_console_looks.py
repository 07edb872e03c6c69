"""Every screen at two widths and in both themes: no fault for assistive technology, nothing wider than the screen."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.console_site import Chromium, log_in
from tests.reviews import cases
from tests.reviews.cases import login, make_case, make_person, post

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def screens() -> list[str]:
    """Make a case of each look; give the addresses."""
    made = [make_case(steps) for steps in (cases.UNKNOWN, cases.WINDOW_OVER, cases.BOUNCED, cases.DELIVERED)]
    made.append(make_case((), type="report_approved"))
    post(login("lena"), made[0], "note", reason="Asked the owner of the report.")
    post(login("lena"), made[2], "retry", reason_code="owner_asked")
    pages = [f"/reviews/{intent.pk}/" for intent in made]
    return [
        "/reviews/",
        "/reviews/?state=any&known=unknown",
        "/reviews/?cod=1",
        "/reviews/?code=none",
        "/reviews/0/",
        *pages,
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_every_screen_is_clean_for_axe_and_fits(chromium: Chromium, site: str, width, theme) -> None:
    make_person("lena")
    urls = screens()

    def look(page: Page) -> list[str]:
        faults = _faults(page, f"{site}/login/")
        log_in(page, site, "lena")
        for url in urls:
            faults += _faults(page, site + url)
        return faults

    assert chromium.run(look, viewport={"width": width, "height": 800}, color_scheme=theme) == []


def _faults(page: Page, url: str) -> list[str]:
    page.goto(url)
    found = Axe().run(page).response["violations"]
    told = [f"{url}: {one['id']}: {one['nodes'][0]['html'][:150]}" for one in found]
    if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
        told.append(f"{url}: wider than the screen")
    if page.evaluate(
        "innerWidth <= 640 && [...document.querySelectorAll('.scroll')].some(box => box.scrollWidth > box.clientWidth)"
    ):
        told.append(f"{url}: a table scrolls sideways")
    return told


def test_in_chinese_no_sentence_of_ours_stays_english(chromium: Chromium, site: str) -> None:
    make_person("lena")
    urls = screens()

    def look(page: Page) -> list[str]:
        page.goto(f"{site}/login/")
        page.click("text=简体中文")
        log_in(page, site, "lena")
        left: list[str] = []
        for url in ["/reviews/?state=any", *urls]:
            page.goto(site + url)
            assert page.get_attribute("html", "lang") == "zh-hans"
            left += _english(page.inner_text("body"))
        return left

    assert chromium.run(look) == []


def _english(text: str) -> list[str]:
    """Find runs of two English words or more that are no code, id or product name."""
    runs = re.findall(r"\b[A-Za-z]{2,}(?: [a-z]{2,})+\b", text)
    said = "Asked the owner of the report"  # a person's own words
    names = {said, "make up", "idempotent request", "validation error", "invalid idempotent request"}
    return [run for run in runs if run not in names]
