"""After a retry the page shows by itself what became of it, and takes nothing from whoever works there."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections
from playwright.sync_api import Page, expect

from notifications.cli import seed
from notifications.models import Intent
from notifications.states import Found
from tests.browser.console_site import Chromium, log_in
from tests.reviews import cases
from tests.reviews.cases import go_on, make_case, make_person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
LONG_MS = 60_000
TYPED = "Asked the owner, who waits for it."


def deliver(intent: Intent) -> None:
    """Take it and have it accepted, as a worker does; in the browser's own thread Django refuses to work."""

    def work() -> None:
        try:
            go_on(Intent.objects.get(pk=intent.pk), *seed.accepted(1))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


def retry(page: Page, site: str, intent: Intent) -> None:
    log_in(page, site, "olga", f"/reviews/{intent.pk}/")
    page.select_option("#retry [name=reason_code]", "code_fixed")
    page.click("#retry button")
    expect(page.locator(".case .banner").first).to_contain_text("Retry queued")
    expect(page.locator("#undo [data-count]")).to_contain_text("s left")
    expect(page.locator("#undo [data-count]")).to_contain_text("Too late", timeout=LONG_MS)
    expect(page.locator("#undo button")).to_be_disabled()


def test_the_undo_counts_down_and_the_outcome_comes_by_itself(chromium: Chromium, site: str) -> None:
    make_person("olga")
    intent = make_case(cases.NOT_SENT)

    def journey(page: Page) -> None:
        retry(page, site, intent)
        deliver(intent)
        expect(page.locator(".case .banner").first).to_contain_text("Accepted by provider", timeout=LONG_MS)
        expect(page.locator(".case .title")).to_contain_text("Accepted by provider")
        expect(page.locator("#watch")).to_have_count(0)

    chromium.run(journey)


def test_what_is_typed_stays_and_the_page_says_that_the_attempt_has_ended(chromium: Chromium, site: str) -> None:
    make_person("olga")
    intent = make_case(cases.NOT_SENT)

    def journey(page: Page) -> None:
        retry(page, site, intent)
        page.fill("#note [name=reason]", TYPED)
        page.evaluate("document.activeElement.blur()")
        deliver(intent)
        expect(page.locator("#moved")).to_be_visible(timeout=LONG_MS)
        expect(page.locator("#note [name=reason]")).to_have_value(TYPED)
        page.click("#moved a")
        expect(page.locator(".case .title")).to_contain_text("Accepted by provider")

    chromium.run(journey)


def test_a_lead_adopts_what_the_provider_has(chromium: Chromium, site: str) -> None:
    make_person("lena")
    intent = make_case((*cases.WINDOW_OVER, seed.evidence(Found.FOUND, "id-1")))

    def journey(page: Page) -> None:
        log_in(page, site, "lena", f"/reviews/{intent.pk}/")
        expect(page.locator("#adopt")).to_contain_text("recommended")
        page.select_option("#adopt [name=reason_code]", "evidence_found")
        page.click("#adopt button")
        expect(page.locator(".case .title")).to_contain_text("Accepted by provider")

    chromium.run(journey)
    found = Intent.objects.get(pk=intent.pk)
    assert (found.state, found.provider_message_id) == ("accepted", "id-1")


def test_a_searchs_address_holds_nothing_that_was_left_empty(chromium: Chromium, site: str) -> None:
    make_person("olga")
    make_case(cases.NOT_SENT, "r-1")

    def journey(page: Page) -> None:
        log_in(page, site, "olga")
        page.fill("#id_q", "r-1")
        page.click("#filters button")
        page.wait_for_url(f"{site}/reviews/?q=r-1")
        expect(page.locator("#queue")).to_contain_text("case matches")

    chromium.run(journey)
