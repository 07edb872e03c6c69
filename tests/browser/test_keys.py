"""The console's own keys in a real browser: each leads to a place, none decides, and they can be switched off."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from notifications.models import Intent
from reviews.help_page import SHORTCUTS
from reviews.models import Review
from tests.browser.console_site import Chromium, log_in
from tests.reviews import cases
from tests.reviews.cases import make_case, make_person
from tests.reviews.deciding import decide, now

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def focused(page: Page, place: str) -> bool:
    return bool(page.evaluate("place => document.activeElement.matches(place)", place))


def settled(page: Page) -> None:
    """Wait until no swap is under way or settles: its end moves the focus, faster than any person's next key."""
    expect(page.locator(".htmx-request, .htmx-swapping, .htmx-settling, .htmx-added")).to_have_count(0)
    page.wait_for_timeout(100)


def lead(page: Page, key: str, place: str) -> None:
    """Press the key until the focus stands there: a swap that settles just then has moved it."""
    settled(page)
    for _ in range(30):
        page.keyboard.press(key)
        if focused(page, place):
            return
        page.wait_for_timeout(200)
    raise AssertionError(f"{key} does not lead to {place}")


def choose(page: Page, key: str, place: str) -> None:
    """Go there by the key and choose the first reason by its digit, as above until it has got there."""
    for _ in range(30):
        lead(page, key, place)
        page.keyboard.press("1")
        if page.input_value(place) != "":
            return
        page.keyboard.press("Escape")
    raise AssertionError(f"1 chooses no reason in {place}")


def order(page: Page, key: str, place: str, said: str) -> None:
    """Go there by the key, and order it by Enter."""
    lead(page, key, place)
    page.keyboard.press("Enter")
    expect(page.locator("#case .banner").first).to_contain_text(said)


def test_find_take_ask_retry_and_undo_by_the_consoles_own_keys(chromium: Chromium, site: str) -> None:
    first, second = make_case(cases.UNKNOWN, "r-1"), make_case(cases.UNKNOWN, "r-2")
    make_person("olga")

    def work(page: Page) -> None:
        log_in(page, site, "olga")
        page.goto(f"{site}/reviews/")
        page.keyboard.press("j")
        page.keyboard.press("j")
        assert focused(page, f"#case-{second.pk} a.id")
        page.keyboard.press("x")
        assert page.locator("input[name=id]:checked").count() == 1
        page.keyboard.press("k")
        page.keyboard.press("/")
        assert focused(page, "input[name=q]")
        page.keyboard.type("r-1")
        assert page.input_value("input[name=q]") == "r-1", "in a field the keys are letters"
        page.keyboard.press("Enter")
        expect(page.locator(".cases a.id")).to_have_count(1)
        settled(page)
        page.keyboard.press("Escape")
        lead(page, "j", f"#case-{first.pk} a.id")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{site}/reviews/{first.pk}/")
        order(page, "a", "#take button", "Taken")
        order(page, "p", "#query button", "The question is queued")
        lead(page, "c", "#close select")
        page.keyboard.press("Escape")
        choose(page, "r", "#retry select")
        assert focused(page, "#retry button")
        assert page.locator("#undo").count() == 0, "nothing is ordered yet"
        page.keyboard.press("Enter")
        expect(page.locator("#case .banner").first).to_contain_text("Retry queued")
        order(page, "u", "#undo button", "Retry undone")

    chromium.run(work, viewport={"width": 1280, "height": 800})
    assert Intent.objects.get(pk=first.pk).state == "needs_review"


def test_no_key_decides_by_itself_and_all_of_them_can_be_switched_off(chromium: Chromium, site: str) -> None:
    intent = make_case(cases.NOT_SENT, "r-1")
    make_person("olga")

    def work(page: Page) -> None:
        log_in(page, site, "olga")
        for _keys, _word in SHORTCUTS:
            for key in _keys.replace(", 1–6, Enter", "").replace("1–9", "1").replace("Ctrl", "Control").split():
                if key != "Enter":
                    page.goto(f"{site}/reviews/{intent.pk}/")
                    page.keyboard.press(key)
        page.goto(f"{site}/reviews/{intent.pk}/")
        page.keyboard.press("?")
        page.click("dialog[open] #keys-switch")
        expect(page.locator("#keys-switch")).to_have_text("Switch the shortcuts on")
        page.goto(f"{site}/reviews/{intent.pk}/")
        page.keyboard.press("c")
        assert focused(page, "body")
        page.goto(f"{site}/reviews/help/")
        page.click("#keys-switch")
        page.goto(f"{site}/reviews/{intent.pk}/")
        page.keyboard.press("c")
        assert focused(page, "#close select")

    chromium.run(work, viewport={"width": 320, "height": 800})
    assert Intent.objects.get(pk=intent.pk).seq == intent.seq
    assert not Review.objects.exists()
    decide("close", now(intent), "olga", "duplicate", text="")
    assert Review.objects.count() == 1, "a decision would have been seen"


def without_list(route: Route) -> None:
    """Answer a script with another page, as a login that ended does; let the browser itself go there."""
    if route.request.is_navigation_request():
        route.continue_()
    else:
        route.fulfill(status=200, content_type="text/html", body="<p>Log in</p>")


def test_the_list_of_keys_lies_over_the_page_and_gives_the_focus_back(chromium: Chromium, site: str) -> None:
    intent = make_case(cases.NOT_SENT, "r-1")
    make_person("olga")

    def work(page: Page) -> None:
        log_in(page, site, "olga")
        here = f"{site}/reviews/{intent.pk}/"
        page.goto(here)
        lead(page, "c", "#close select")
        page.keyboard.press("Escape")
        lead(page, "r", "#retry select")
        page.locator("#retry button").focus()
        dialog = page.locator("dialog#keys")
        for away in ("Escape", "?", "button"):
            page.keyboard.press("?")
            expect(dialog).to_be_visible(timeout=30_000)
            expect(dialog.get_by_role("heading", name="Shortcuts")).to_be_visible()
            expect(dialog.locator("kbd")).to_have_count(len(SHORTCUTS))
            expect(dialog.locator("h2")).to_be_in_viewport()  # it begins at its top, whatever it holds
            page.keyboard.press("c")
            assert focused(page, "dialog h2"), "what lies under it does not listen"
            if away == "button":
                dialog.get_by_role("button", name="Back to the page").click()
            else:
                page.keyboard.press(away)
            expect(dialog).to_have_count(0)
            assert focused(page, "#retry button"), away
        assert page.url == here
        page.route("**/reviews/help/", without_list)
        page.keyboard.press("?")
        page.wait_for_url(f"{site}/reviews/help/#shortcuts", timeout=30_000)

    chromium.run(work, viewport={"width": 320, "height": 600})
    assert Intent.objects.get(pk=intent.pk).seq == intent.seq


def test_on_the_help_page_the_key_leads_to_its_own_list(chromium: Chromium, site: str) -> None:
    make_person("olga")

    def work(page: Page) -> None:
        log_in(page, site, "olga")
        page.goto(f"{site}/reviews/help/")
        expect(page.get_by_role("button", name="Back to the page")).to_have_count(0)
        page.keyboard.press("?")
        page.wait_for_url(f"{site}/reviews/help/#shortcuts")
        expect(page.locator("dialog")).to_have_count(0)

    chromium.run(work)
