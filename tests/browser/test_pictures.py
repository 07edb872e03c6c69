"""The console with the demo's cases, as README and docs show it; `make screenshots` keeps the pictures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone
from playwright.sync_api import Page

from notifications.models import Intent, WorkerBeat
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
    now = timezone.now()
    WorkerBeat.objects.using("owner").create(worker="w", host="h", role="loop", slot=1, started_at=now, beat_at=now)
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


def test_the_pictures_of_the_docs_show_one_screen_each(chromium: Chromium, site: str) -> None:
    call_command("seed_demo")
    make_person("lena")
    now = timezone.now()
    WorkerBeat.objects.using("owner").create(worker="w", host="h", role="loop", slot=1, started_at=now, beat_at=now)
    case = Intent.objects.get(notification_id="report-ready/demo-101").pk
    pages = {"queue": "/reviews/", "case": f"/reviews/{case}/", "figures": "/reviews/stats/"}

    def look(page: Page) -> list[str]:
        log_in(page, site, "lena")
        seen = []
        for name, path in pages.items():
            page.goto(site + path)
            keep(page, f"docs/{name}", is_whole=False)
            seen.append(page.inner_text("h1"))
        page.emulate_media(color_scheme="dark")
        page.goto(site + pages["queue"])
        keep(page, "docs/queue-dark", is_whole=False)
        return seen

    seen = chromium.run(look, viewport={"width": 1280, "height": 860}, color_scheme="light")
    assert seen == ["Review queue", "report-ready/demo-101", "Figures of the queue"]


def keep(page: Page, name: str, *, is_whole: bool = True) -> None:
    """Keep the page as a picture, or only what fits the screen, where `make screenshots` asks for pictures."""
    folder = os.environ.get("NOTIFYOPS_TEST_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=is_whole)
