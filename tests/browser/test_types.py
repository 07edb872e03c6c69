"""Types in the admin, in a real browser: the override with its reason, and a preview in which nothing runs."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from notifications.models import TypeRevision
from tests.browser.console_site import Chromium, log_in
from tests.browser.test_pictures import keep
from tests.reviews.bulk_cases import make_cases, planned, started, steered
from tests.reviews.cases import make_person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
TYPES = "/admin/notifications/notificationtyperow/"
LOOKS = [
    (width, theme, language)
    for width in (320, 1280)
    for theme in ("light", "dark")
    for language in ("English", "简体中文")
]


@pytest.mark.parametrize(("width", "theme", "language"), LOOKS)
def test_the_pages_fit_and_axe_finds_nothing(
    chromium: Chromium, site: str, width: int, theme: Any, language: str
) -> None:
    make_person("lena")
    bulk = started(planned(make_cases(3)))
    steered(bulk, "pause")
    pages = {
        "types": TYPES,
        "type": f"{TYPES}report_ready/change/",
        "preview": f"{TYPES}report_ready/preview/",
        "bulk-said": f"/reviews/bulk/{bulk.pk}/",
        "log-bulk": "/reviews/log/",
    }

    def look(page: Page) -> dict[str, list[str]]:
        page.goto(f"{site}/login/")
        if language != "English":
            page.click(f"text={language}")
        log_in(page, site, "lena")
        found = {}
        for name, path in pages.items():
            page.goto(site + path)
            keep(page, f"{name}-{width}-{theme}-{'en' if language == 'English' else 'zh'}")
            # Django's own pages have faults of their own, which are theirs; ours are looked at.
            part = "#content-main" if path.startswith(TYPES) else "body"
            faults = Axe().run(page, part).response["violations"]
            found[name] = [f"{one['id']}: {one['nodes'][0]['html'][:120]}" for one in faults]
            if page.evaluate("document.scrollingElement.scrollWidth > innerWidth + 1") and path.endswith("preview/"):
                found[name].append("it is wider than the screen")
        return found

    # Pictures and axe put styles of their own into the frame; that the policy forbids nothing else is the other test's.
    found = chromium.run(look, viewport={"width": width, "height": 800}, color_scheme=theme, bypass_csp=True)
    assert found == {name: [] for name in pages}


def test_a_lead_overrides_a_type_and_looks_at_its_message(chromium: Chromium, site: str) -> None:
    make_person("lena")

    def play(page: Page) -> tuple[str, str, str]:
        log_in(page, site, "lena", to=f"{TYPES}report_ready/change/")
        page.check("text=Every new one waits")
        page.fill("[name=reason]", "Finance asked us to hold the reports of this quarter.")
        page.click("text=Override >> nth=-1")
        said = page.inner_text(".messagelist")
        page.goto(f"{site}{TYPES}report_ready/preview/")
        page.fill("[name=values]", '{"title": "<script>document.title = \'run\'</script>"}')
        page.click("text=Show this message")
        inside = page.frame_locator("iframe").locator("body").inner_text()
        return said, inside, page.title()

    said, inside, title = chromium.run(play)
    assert "counts from now on" in said
    assert "document.title" in inside
    assert title != "run"
    assert TypeRevision.objects.get().after == {"approval": "required"}
