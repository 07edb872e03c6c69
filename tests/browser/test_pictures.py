"""The console with the demo's cases, as the README shows it; `make screenshots` keeps the pictures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.core.management import call_command
from playwright.sync_api import Page

from notifications.models import Intent
from tests.browser.console_site import Chromium, log_in
from tests.reviews.cases import make_person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
LOOKS = [
    (width, theme, language)
    for width in (320, 1280)
    for theme in ("light", "dark")
    for language in ("English", "简体中文")
]


@pytest.mark.parametrize(("width", "theme", "language"), LOOKS)
def test_the_demo_fills_queue_and_case(chromium: Chromium, site: str, width, theme, language) -> None:
    call_command("seed_demo")
    make_person("lena")
    case = Intent.objects.get(notification_id="report-ready/demo-101").pk

    def look(page: Page) -> list[int]:
        page.goto(f"{site}/login/")
        if language != "English":
            page.click(f"text={language}")
        log_in(page, site, "lena")
        counts = []
        for name, path in (("queue", "/reviews/"), ("case", f"/reviews/{case}/")):
            page.goto(site + path)
            keep(page, f"{name}-{width}-{theme}-{'en' if language == 'English' else 'zh'}")
            counts.append(page.locator("main a").count())
        return counts

    links = chromium.run(look, viewport={"width": width, "height": 800}, color_scheme=theme)
    assert min(links) > 0
    assert links[0] >= Intent.objects.filter(state="needs_review").count()


def keep(page: Page, name: str) -> None:
    folder = os.environ.get("NOTIFYOPS_TEST_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)
