"""Every screen at two widths and in both themes: no fault for assistive technology, nothing wider than the screen."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.utils import timezone
from playwright.sync_api import Page

from notifications.models import Intent, Run, RunItem
from notifications.pausing import pause, resume
from tests.browser.console_site import Chromium, log_in
from tests.reviews import cases
from tests.reviews.cases import login, make_case, make_person, post

SAID = "Asked the owner of the report."
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def screens() -> list[str]:
    """Make a case of each look; give the addresses."""
    made = [make_case(steps) for steps in (cases.UNKNOWN, cases.WINDOW_OVER, cases.BOUNCED, cases.DELIVERED)]
    made.append(make_case(cases.RETRIED))  # with four attempts in its picture
    made.append(make_case((), type="report_approved"))
    post(login("lena"), made[0], "note", reason=SAID)
    post(login("lena"), made[2], "retry", reason_code="owner_asked")
    made += ways_out()
    pages = [f"/reviews/{intent.pk}/" for intent in made]
    run = Run.objects.create(kind="import", key="a", title="notify import a.jsonl", started_by="cli:ana", total_count=9)
    RunItem.objects.create(run=run, place=4, code="refused")
    refused = Run.objects.create(kind="import", key="b", title="notify import b.jsonl", started_by="cli:ana",
                                 state="failed", code="rejected", failed_count=1, ended_at=timezone.now())  # fmt: skip
    RunItem.objects.create(run=refused, place=2, code="invalid_line")
    pauses()
    return [
        "/reviews/",
        "/reviews/?state=any&known=unknown",
        "/reviews/?cod=1",
        "/reviews/?code=none",
        "/reviews/0/",
        "/reviews/runs/",
        f"/reviews/runs/{run.pk}/",
        f"/reviews/runs/{refused.pk}/",
        "/reviews/pauses/",
        *pages,
    ]


def pauses() -> None:
    """Leave one pause on and two over, with the longest that their columns may hold."""
    hour = timedelta(hours=1)
    over = pause("workspace", "a-workspace-with-a-long-name", span=hour, reason=("other", SAID), actor="user:lena")
    resume(over.pk, reason=SAID, actor="user:bob_lead")
    resume(pause("type", "report_once", span=hour, reason=("wrong_content", ""), actor="user:lena").pk, reason=SAID,
           actor="user:lena")  # fmt: skip
    pause("type", "report_once", span=hour, reason=("too_many", ""), actor="user:lena")


def ways_out() -> list[Intent]:
    """Make what the ways out leave behind: a resend to be asked for and one that is, aside, corrected, erased."""
    lena = login("lena")
    undecided, asked, aside, old, gone = [
        make_case(steps)
        for steps in (cases.UNDECIDED, cases.UNDECIDED, cases.UNKNOWN, cases.BOUNCED, cases.WINDOW_OVER)
    ]
    said = {"reason": SAID}
    post(login("bob_lead"), asked, "resend", typed=asked.report_id, confirmed="yes", **said)
    post(lena, aside, "wait", minutes="60")
    post(lena, old, "correct", address="bea@example.com", **said)
    post(lena, gone, "withdraw", reason_code="privacy_request", erase="yes", **said)
    return [undecided, asked, aside, old, Intent.objects.get(supersedes_id=old.pk), gone]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_every_screen_is_clean_for_axe_and_fits(chromium: Chromium, site: str, width, theme) -> None:
    make_person("lena")
    urls = screens()

    def look(page: Page) -> list[str]:
        faults = _faults(page, f"{site}/login/")
        log_in(page, site, "lena")
        for url in (*urls, "/api/v1/docs"):
            faults += _faults(page, site + url)
        return faults

    assert chromium.run(look, answers=[404], viewport={"width": width, "height": 800}, color_scheme=theme) == []


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


@pytest.mark.parametrize("width", [320, 1280])
def test_a_box_to_tick_stands_small_before_its_words(chromium: Chromium, site: str, width) -> None:
    make_person("lena")
    intent = make_case(cases.ABSENT)

    def look(page: Page) -> None:
        log_in(page, site, "lena", f"/reviews/{intent.pk}/")
        boxes = page.locator("input[type=checkbox]")
        assert boxes.count() == 2  # the retry's mark, and the withdrawal's
        for place in range(2):
            box, label = boxes.nth(place).bounding_box(), boxes.nth(place).locator("xpath=..").bounding_box()
            assert box is not None
            assert label is not None
            assert (box["width"], box["height"]) == (20, 20)
            assert box["x"] - label["x"] < 4
            assert box["y"] - label["y"] < 12
            words = boxes.nth(place).evaluate(_FIRST_WORD)
            assert words["top"] < box["y"] + box["height"]
            assert words["left"] > box["x"] + box["width"]

    chromium.run(look, viewport={"width": width, "height": 800})


# Where the first word beside a box stands.
_FIRST_WORD = """box => {
    const range = document.createRange();
    range.setStart(box.nextSibling, 1); range.setEnd(box.nextSibling, 2);
    const found = range.getBoundingClientRect();
    return {top: found.top + scrollY, left: found.left + scrollX};
}"""


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

    assert chromium.run(look, answers=[404]) == []


def _english(text: str) -> list[str]:
    """Find runs of two English words or more that are no code, id or product name."""
    runs = re.findall(r"\b[A-Za-z]{2,}(?: [a-z]{2,})+\b", text)
    names = {SAID.rstrip("."), "make up", "notify import", "idempotent request", "validation error"}
    names |= {"invalid idempotent request", "py notify preview", "intent report", "notify webhook"}
    return [run for run in runs if run not in names]
