"""The provider's answer comes to the page that waits for it, and takes nothing from whoever works there."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections
from playwright.sync_api import Page, expect

from notifications.cli import seed
from notifications.models import Intent, Question
from notifications.states import Found
from tests.browser.console_site import Chromium, log_in
from tests.reviews import cases
from tests.reviews.cases import go_on, make_case, make_person, owner

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
LONG_MS = 60_000
TYPED = "Asked the owner, who waits for it."
WATCH = """
window.changes = 0;
// Who looks on is told in a line of its own.
new MutationObserver((seen) => { changes += seen.filter((one) => one.target.id !== "present").length; })
    .observe(document.querySelector("#case"), {childList: true, subtree: true});
"""
RETRY = "#decision form[action$='/retry']"


def answer(intent: Intent) -> None:
    """Answer as the chores do."""
    try:
        go_on(intent, seed.evidence(Found.NOT_FOUND))
        Question.objects.using(owner()).filter(intent_id=intent.pk).update(wanted_at=None, wanted_by=None, due_at=None)
    finally:
        connections.close_all()


def answered(intent: Intent) -> None:
    """Let the answer come; in the browser's own thread Django refuses to work."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(answer, intent).result()


def ask(page: Page, site: str, intent: Intent) -> None:
    log_in(page, site, "olga", f"/reviews/{intent.pk}/")
    page.click("#query button")
    expect(page.locator("#answers")).to_contain_text("being asked")
    expect(page.locator(".case .banner").first).to_be_focused()


def asked_for(page: Page) -> list[str]:
    seen: list[str] = []
    page.on("request", lambda request: seen.append(request.url) if request.url.endswith("/answers") else None)
    return seen


def test_the_answer_and_what_it_allows_come_by_themselves_and_the_page_looks_no_more(
    chromium: Chromium, site: str
) -> None:
    make_person("olga")
    intent = make_case(cases.WINDOW_OVER)

    def journey(page: Page) -> int:
        looks = asked_for(page)
        ask(page, site, intent)
        assert page.locator(RETRY).count() == 0
        answered(intent)
        expect(page.locator("#answers")).to_contain_text("The answer has come", timeout=LONG_MS)
        expect(page.locator("#answers")).to_contain_text("Not found")
        expect(page.locator("#kept")).to_be_hidden()
        expect(page.locator(RETRY)).to_be_visible()
        before = len(looks)
        page.wait_for_timeout(5000)
        assert len(looks) == before
        page.click("#answers a")
        expect(page.locator("#answers")).not_to_contain_text("The answer has come")
        page.select_option("#retry [name=reason_code]", "evidence_not_sent")
        page.fill("#retry [name=reason]", "The provider has no such message.")
        page.check("#retry [name=confirmed]")
        page.click("#retry button")
        expect(page.locator(".case .banner").first).to_contain_text("Retry queued")
        return before

    assert chromium.run(journey) > 0
    assert Intent.objects.get(pk=intent.pk).state == "retry"


def test_what_is_typed_stays_and_the_page_says_that_the_answer_has_come(chromium: Chromium, site: str) -> None:
    make_person("olga")
    intent = make_case(cases.WINDOW_OVER)

    def journey(page: Page) -> None:
        ask(page, site, intent)
        page.fill("#note [name=reason]", TYPED)
        page.evaluate("document.activeElement.blur()")
        answered(intent)
        expect(page.locator("#kept")).to_be_visible(timeout=LONG_MS)
        expect(page.locator("#answers")).to_contain_text("Not found")
        expect(page.locator("#note [name=reason]")).to_have_value(TYPED)
        assert page.locator(RETRY).count() == 0
        page.click("#note button")
        expect(page.locator(".case .banner").first).to_contain_text("Note added.")

    chromium.run(journey)


@pytest.mark.parametrize(
    "using",
    [
        "document.querySelector('#close select').focus()",
        "getSelection().selectAllChildren(document.querySelector('#why-retry'))",
        "document.querySelector('#close select').value = 'duplicate'",
    ],
    ids=["focus", "selection", "choice"],
)
def test_a_decision_in_use_is_left_alone(chromium: Chromium, site: str, using) -> None:
    make_person("olga")
    intent = make_case(cases.WINDOW_OVER)

    def journey(page: Page) -> None:
        ask(page, site, intent)
        page.evaluate(using)
        page.evaluate("window.before = document.querySelector('#decision')")
        answered(intent)
        expect(page.locator("#kept")).to_be_visible(timeout=LONG_MS)
        assert page.evaluate("window.before === document.querySelector('#decision')")

    chromium.run(journey)


def test_answers_that_somebody_selects_are_left_alone_and_the_new_one_is_announced(
    chromium: Chromium, site: str
) -> None:
    make_person("olga")
    intent = make_case(cases.ABSENT)

    def journey(page: Page) -> None:
        looks = asked_for(page)
        ask(page, site, intent)
        page.evaluate("getSelection().selectAllChildren(document.querySelector('#answers tbody'))")
        chosen = page.evaluate("getSelection().toString()")
        assert "Not found" in chosen
        answered(intent)
        expect(page.locator("#came")).to_be_visible(timeout=LONG_MS)
        assert page.evaluate("getSelection().toString()") == chosen
        expect(page.locator("#answers tbody tr")).to_have_count(1)
        before = len(looks)
        page.wait_for_timeout(5000)
        assert len(looks) == before

    chromium.run(journey)


def test_while_it_waits_nothing_in_the_page_is_replaced_and_a_login_that_ended_takes_nothing(
    chromium: Chromium, site: str
) -> None:
    make_person("olga")
    intent = make_case(cases.WINDOW_OVER)

    def journey(page: Page) -> None:
        ask(page, site, intent)
        page.evaluate(WATCH)
        with page.expect_response(lambda response: response.url.endswith("/answers") and response.status == 204):
            pass
        page.fill("#note [name=reason]", TYPED)
        page.context.clear_cookies(name="sessionid")
        with page.expect_response(lambda response: response.url.endswith("/answers") and response.status == 286):
            pass
        page.wait_for_timeout(3000)
        assert page.evaluate("window.changes") == 0
        expect(page.locator("#note [name=reason]")).to_have_value(TYPED)
        assert page.url == f"{site}/reviews/{intent.pk}/"

    chromium.run(journey)


def test_without_javascript_a_link_shows_the_answer(chromium: Chromium, site: str) -> None:
    make_person("olga")
    intent = make_case(cases.WINDOW_OVER)

    def journey(page: Page) -> None:
        ask(page, site, intent)
        answered(intent)
        expect(page.locator("#came")).to_be_hidden()
        page.click("#look")
        expect(page.locator("#answers")).to_contain_text("Not found")
        expect(page.locator(RETRY)).to_be_visible()

    chromium.run(journey, java_script_enabled=False)
