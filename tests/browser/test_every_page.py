"""Every page of the site at four widths: nothing is wider than the screen, and axe finds nothing, in the admin too."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.console_site import Chromium, log_in
from tests.browser.every_page import admin_pages, make_admin_rows, make_site

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
WIDTHS = (320, 768, 1000, 1280)
# What somebody asked for that is not there, or that nobody may do.
ANSWERS = [403, 404, 422]
_WIDE = """() => {
    const most = document.documentElement.clientWidth;
    if (document.scrollingElement.scrollWidth <= most) return [];
    const right = one => one.getBoundingClientRect().right;
    const outside = [...document.body.querySelectorAll('*')].filter(one => right(one) > most + 1);
    return outside.slice(-2).map(one => one.outerHTML.slice(0, 120));
}"""


def test_no_page_is_wider_than_the_screen(chromium: Chromium, site: str) -> None:
    pages = make_site()
    make_admin_rows()
    pages |= {f"admin-{name}": url for name, url in admin_pages().items()}

    def look(page: Page) -> list[str]:
        log_in(page, site, "lena")
        return [fault for name, url in pages.items() for fault in _wide(page, name, site + url)]

    assert chromium.run(look, answers=ANSWERS) == []


def _wide(page: Page, name: str, url: str) -> list[str]:
    page.goto(url)
    faults = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        faults += [f"{name} at {width}: {one}" for one in page.evaluate(_WIDE)]
        _keep(page, f"{name}-{width}")
    return faults


def _keep(page: Page, name: str) -> None:
    folder = os.environ.get("NOTIFYOPS_TEST_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


# Each width and each theme once: what one shows of the admin's own pages the other does not hide.
@pytest.mark.parametrize(("width", "theme"), [(320, "light"), (1280, "dark")])
def test_axe_finds_nothing_in_the_admin(chromium: Chromium, site: str, width, theme) -> None:
    make_site()
    make_admin_rows()
    pages = admin_pages()

    def look(page: Page) -> list[str]:
        log_in(page, site, "lena")
        faults = []
        for name, url in pages.items():
            page.goto(site + url)
            found = Axe().run(page).response["violations"]
            faults += [f"{name}: {one['id']}: {node['html'][:150]}" for one in found for node in one["nodes"]]
        return faults

    # Axe puts styles of its own into the frame of a preview.
    window = {"width": width, "height": 800}
    assert chromium.run(look, answers=ANSWERS, viewport=window, color_scheme=theme, bypass_csp=True) == []
