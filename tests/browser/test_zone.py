"""Times on a page are the device's, which a script tells the server; without one, or by choice, another zone's."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.console_site import Chromium, log_in
from tests.browser.test_live import close, meanwhile
from tests.reviews import cases
from tests.reviews.cases import make_case, make_person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_from_the_login_on_every_time_is_the_devices_and_what_comes_while_a_page_is_open(
    chromium: Chromium, site: str
) -> None:
    make_person("olga")
    intent = make_case(cases.UNKNOWN)

    def look(page: Page) -> None:
        log_in(page, site, "olga")
        expect(page.locator("header .standing")).to_contain_text("UTC+8 Asia/Shanghai")
        assert re.fullmatch(r"\d\d-\d\d \d\d:\d\d UTC\+8", page.inner_text("td.c-time time >> nth=0"))
        page.goto(f"{site}/reviews/{intent.pk}/")
        meanwhile(lambda: close(intent))
        expect(page.locator("#news")).to_contain_text(re.compile(r"by lena at \d\d:\d\d:\d\d UTC\+8: Closed"))

    chromium.run(look, timezone_id="Asia/Shanghai")


def test_without_scripts_pages_are_in_utc_until_somebody_chooses(chromium: Chromium, site: str) -> None:
    make_person("olga")

    def look(page: Page) -> None:
        log_in(page, site, "olga")
        assert page.inner_text("footer p").endswith("Times are those of UTC. Another time zone")
        page.click("footer >> text=Another time zone")
        page.select_option("#id_zone", "America/St_Johns")
        page.click("main button.primary")
        page.wait_for_url(f"{site}/reviews/")
        assert "Times are those of America/St_Johns." in page.inner_text("footer")

    chromium.run(look, java_script_enabled=False, timezone_id="Asia/Shanghai")
