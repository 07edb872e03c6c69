"""Several people in real browsers: their pages are clean and fit; presence, taking and next work as they look."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from notifications.models import Intent
from reviews.models import Hold, Presence, Review
from tests.browser.console_site import Chromium, log_in
from tests.browser.test_console_looks import _english, _faults
from tests.reviews import cases
from tests.reviews.cases import login, make_case, make_person, post
from tests.reviews.deciding import decide, now

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
LOOKS = [(width, theme) for width in (320, 1280) for theme in ("light", "dark")]


def make_team() -> dict[str, str]:
    """Make what several people leave behind; give the screens by name."""
    make_person("lena")
    unsure, sure = (cases.UNKNOWN, cases.NOT_SENT, cases.NOT_SENT), (cases.RECIPIENT, cases.WINDOW_OVER, cases.BOUNCED)
    made = [make_case(steps, f"r-{number}") for number, steps in enumerate((*unsure, *sure, cases.RETRIED))]
    mine, theirs, done, other = made[0], made[1], made[2], made[3]
    decide("take", mine, "lena", text="")
    decide("take", theirs, "olga", text="")
    decide("retry", done, "olga", "code_fixed", text="")
    decide("close", other, "olga", "cannot_be_fixed", text="The owner of the report is away for good.")
    decide("reopen", now(other), "lena", "new_information", text="The owner of the report is back again.")
    decide("note", other, "olga", text="=1+1 stands in the report's title.")
    post(login("vera"), theirs, "close", reason_code="duplicate")
    login("olga").post("/reviews/views", {"name": "What nobody knows", "query": "known=unknown", "share": "yes"})
    login("olga").post(f"/reviews/{mine.pk}/beat")
    return {
        "queue": "/reviews/?taken=any",
        "mine": f"/reviews/{mine.pk}/",
        "theirs": f"/reviews/{theirs.pk}/",
        "watching": "/reviews/watching/",
        "watching-mine": "/reviews/watching/?who=mine",
        "log": "/reviews/log/",
        "log-none": "/reviews/log/?verb=lose",
        "stats": "/reviews/stats/",
        "help": "/reviews/help/",
    }


@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_every_screen_is_clean_for_axe_and_fits(chromium: Chromium, site: str, width, theme) -> None:
    screens = make_team()

    def look(page: Page) -> list[str]:
        log_in(page, site, "lena")
        faults = []
        for name, url in screens.items():
            faults += _faults(page, site + url)
            for summary in page.locator("summary").all():
                summary.click()
            keep(page, f"{name}-{width}-{theme}-en")
        return faults

    assert chromium.run(look, viewport={"width": width, "height": 800}, color_scheme=theme) == []


@pytest.mark.parametrize("width", [320, 1280])
def test_in_chinese_no_sentence_of_ours_stays_english(chromium: Chromium, site: str, width) -> None:
    screens = make_team()
    said = {"The owner of the report is away for good", "The owner of the report is back again"}
    said |= {"stands in the report", "What nobody knows", "title", "notify vapid-key"}

    def look(page: Page) -> list[str]:
        page.goto(f"{site}/login/")
        page.click("text=简体中文")
        log_in(page, site, "lena")
        left = []
        for name, url in screens.items():
            page.goto(site + url)
            keep(page, f"{name}-{width}-light-zh")
            left += [run for run in _english(page.inner_text("body")) if not any(run in one for one in said)]
        return left

    assert chromium.run(look, viewport={"width": width, "height": 800}) == []


def keep(page: Page, name: str) -> None:
    folder = os.environ.get("NOTIFYOPS_TEST_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def test_a_case_is_taken_seen_by_others_and_given_back_with_the_next_one(chromium: Chromium, site: str) -> None:
    first, second = make_case(cases.WINDOW_OVER), make_case(cases.UNKNOWN)
    make_person("olga")
    login("lena").post(f"/reviews/{first.pk}/beat")

    def work(page: Page) -> None:
        log_in(page, site, "olga")
        page.click("#next button")
        page.wait_for_url(f"{site}/reviews/{first.pk}/")
        expect(page.locator("#present")).to_contain_text("yours until")
        expect(page.locator("#present")).to_contain_text("lena has it open too")
        page.click("#next button")
        page.wait_for_url(f"{site}/reviews/{second.pk}/")
        page.click("#release button")
        expect(page.locator("#present")).to_contain_text("taken by nobody")
        page.click("#take button")
        expect(page.locator("#present")).to_contain_text("yours until")
        page.click("#previous")
        page.wait_for_url(f"{site}/reviews/{first.pk}/")

    chromium.run(work, viewport={"width": 1280, "height": 800})
    assert list(Hold.objects.values_list("intent_id", "holder")) == [(second.pk, "olga")]
    assert Presence.objects.filter(person="olga").count() == 2


def test_without_javascript_taking_next_and_giving_back_work_and_nothing_beats(chromium: Chromium, site: str) -> None:
    intent = make_case()
    make_person("olga")

    def work(page: Page) -> None:
        log_in(page, site, "olga")
        page.click("#next button")
        page.wait_for_url(f"{site}/reviews/{intent.pk}/")
        assert "yours until" in page.inner_text("#present")
        page.click("#release button")
        page.wait_for_url(f"{site}/reviews/{intent.pk}/")
        assert "taken by nobody" in page.inner_text("#present")

    chromium.run(work, java_script_enabled=False)
    assert not Hold.objects.exists()
    assert not Presence.objects.exists()


def test_by_keyboard_alone_a_case_is_found_taken_asked_about_retried_and_undone(chromium: Chromium, site: str) -> None:
    """Plain keys of every browser; the console's own shortcuts come on top of them."""
    intent = make_case(cases.UNKNOWN, "r-keys")
    make_person("olga")

    def work(page: Page) -> None:
        log_in(page, site, "olga")
        reach(page, "#id_q")
        page.keyboard.type("r-keys")
        page.keyboard.press("Enter")
        expect(page.locator(".cases a.id")).to_have_count(1)
        reach(page, ".cases a.id")
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(rf"/reviews/{intent.pk}/"))
        for form, done in (("take", "Taken"), ("query", "The question is queued")):
            reach(page, f"#{form} button")
            page.keyboard.press("Enter")
            expect(page.locator("#case .banner").first).to_contain_text(done)
        reach(page, "#retry select")
        page.keyboard.press("ArrowDown")
        reach(page, "#retry button")
        page.keyboard.press("Enter")
        expect(page.locator("#case .banner").first).to_contain_text("Retry queued")
        reach(page, "#undo button")
        page.keyboard.press("Enter")
        expect(page.locator("#case .banner").first).to_contain_text("Retry undone")

    chromium.run(work, viewport={"width": 1280, "height": 800})
    assert Intent.objects.get(pk=intent.pk).state == "needs_review"


def reach(page: Page, place: str) -> None:
    """Press Tab until the focus is there."""
    for _ in range(150):
        if page.evaluate("place => document.activeElement?.matches(place)", place):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"no way to {place} by Tab")


def test_a_page_beats_while_somebody_works_on_it_and_falls_silent_when_nobody_does(
    chromium: Chromium, site: str
) -> None:
    intent = make_case()
    make_person("olga")

    def work(page: Page) -> list[int]:
        beats: list[str] = []
        page.on("request", lambda request: beats.append(request.url) if request.url.endswith("/beat") else None)
        log_in(page, site, "olga")
        page.clock.install()
        counts = []
        with page.expect_response("**/beat"):
            page.goto(f"{site}/reviews/{intent.pk}/")
        with page.expect_response("**/beat"):
            page.clock.run_for(46_000)
        counts.append(len(beats))
        page.clock.run_for(12 * 60_000)
        silent_from = len(beats)
        page.clock.run_for(5 * 60_000)
        counts.append(len(beats) - silent_from)
        page.mouse.move(200, 200)
        with page.expect_response("**/beat"):
            page.clock.run_for(46_000)
        return counts

    assert chromium.run(work) == [2, 0]


def test_a_lead_downloads_the_log_from_a_served_site_in_pieces(chromium: Chromium, site: str) -> None:
    intent = make_case()
    make_person("lena")
    Review.objects.bulk_create(
        Review(intent_id=intent.pk, action="close", actor="user:olga", outcome="refused", refusal="changed")
        for _ in range(2500)
    )

    def work(page: Page) -> tuple[str, str]:
        log_in(page, site, "lena", "/reviews/log/")
        answer = page.context.request.get(f"{site}{page.get_attribute('a[download]', 'href')}")
        return answer.headers["content-disposition"], answer.text()

    name, text = chromium.run(work)
    assert re.fullmatch(r'attachment; filename="human-actions-\d{8}-\d{6}Z.csv"', name)
    lines = text.splitlines()
    assert len(lines) == 2501
    assert lines[0].startswith('\ufeff"at_utc","case","notification_id"')
