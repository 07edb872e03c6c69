"""On paper, in a chosen theme, and with motion unwanted: what a person asked for holds in a real browser."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.console_site import Chromium, log_in
from tests.browser.test_pictures import keep
from tests.reviews import cases
from tests.reviews.cases import login, make_case, make_person, post

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
SAID = "Asked the owner of the report."
# What can only be clicked or typed into, and so is not for paper.
CLICKED = "nav, .me, .theme, .filters, .views, .bulk, .decision, .handing, button, input, select, textarea"
_SEEN = "all => all.filter(one => one.checkVisibility()).map(one => one.outerHTML.slice(0, 80))"
_COLOURS = """() => ['html', 'main', '.badge', 'section', 'table'].flatMap(each => {
    const found = document.querySelector(each);
    if (!found) return [];
    const style = getComputedStyle(found);
    return [style.backgroundColor];
})"""
_TOO_WIDE = "[...document.querySelectorAll('main *')].some(one => one.getBoundingClientRect().right > innerWidth + 1)"
PAPER = {"rgb(255, 255, 255)", "rgba(0, 0, 0, 0)"}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_case_log_and_figures_print_black_on_white_whole_and_with_nothing_to_click(
    chromium: Chromium, site: str, theme: Any
) -> None:
    make_person("lena")
    intent = make_case(cases.RETRIED)
    post(login("lena"), intent, "note", reason=SAID)

    def look(page: Page) -> dict[str, list[str]]:
        log_in(page, site, "lena")
        faults = {}
        page.emulate_media(media="print", color_scheme=theme)
        page.set_viewport_size({"width": 718, "height": 1000})  # A4 between the margins
        for path in (f"/reviews/{intent.pk}/", "/reviews/log/", "/reviews/stats/"):
            page.goto(site + path)
            found = page.locator(CLICKED).evaluate_all(_SEEN)
            found += [colour for colour in page.evaluate(_COLOURS) if colour not in PAPER]
            if page.evaluate(_TOO_WIDE):
                found.append("wider than the paper")
            faults[path] = found
            if path.endswith("/stats/"):
                assert page.locator("details td").first.is_visible(), "the numbers are folded away"
            elif path != "/reviews/log/":
                assert page.locator("[aria-labelledby=h-log] tbody tr").count() == page.locator(
                    "[aria-labelledby=h-log] tbody tr:visible").count() > 8  # fmt: skip
            keep(page, f"print-{theme}-{path.strip('/').replace('/', '-')}")
        return faults

    assert {path: found for path, found in chromium.run(look).items() if found} == {}


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_a_chosen_theme_wins_over_the_device_and_is_there_on_the_next_page(
    chromium: Chromium, site: str, scripts: bool
) -> None:
    make_person("lena")
    intent = make_case(cases.UNKNOWN)

    def ground(page: Page) -> str:
        return page.locator("html").evaluate("one => getComputedStyle(one).backgroundColor") if scripts else ""

    def look(page: Page) -> list[str]:
        page.goto(f"{site}/login/")
        light = ground(page)
        page.get_by_role("button", name="Dark").click()
        assert page.url == f"{site}/login/"
        dark = ground(page)
        log_in(page, site, "lena")
        faults = []
        for path in ("/reviews/", f"/reviews/{intent.pk}/", "/reviews/stats/", "/api/v1/docs", "/reviews/0/"):
            page.goto(site + path)
            assert page.get_attribute("html", "data-theme") == "dark"
            assert ground(page) == dark
            if scripts:
                faults += [f"{path}: {one['id']}" for one in Axe().run(page).response["violations"]]
        page.goto(f"{site}/reviews/")
        assert page.get_by_role("button", name="Dark").get_attribute("aria-pressed") == "true"
        page.get_by_role("button", name="As the device").click()
        assert page.get_attribute("html", "data-theme") is None
        assert ground(page) == light
        assert not scripts or dark != light
        return faults

    assert chromium.run(look, answers=[404], color_scheme="light", java_script_enabled=scripts) == []


@pytest.mark.parametrize("wanted", ["reduce", "no-preference"])
def test_nothing_moves_where_motion_is_unwanted(chromium: Chromium, site: str, wanted: str) -> None:
    make_person("lena")
    intent = make_case(cases.UNKNOWN)
    moving = """() => [...document.querySelectorAll('*')].filter(one => {
        const style = getComputedStyle(one);
        return style.transitionDuration.split(',').some(each => parseFloat(each) > 0) || style.animationName !== 'none';
    }).length"""

    def look(page: Page) -> int:
        log_in(page, site, "lena", f"/reviews/{intent.pk}/")
        return int(page.evaluate(moving))

    found = chromium.run(look, reduced_motion=wanted)
    assert (found == 0) == (wanted == "reduce")
