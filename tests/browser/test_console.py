"""An operator's journeys through the console in Chromium, with and without JavaScript."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from notifications.models import Intent, LogEntry
from reviews.models import Review
from tests.browser.console_site import Chromium, log_in
from tests.reviews import cases
from tests.reviews.cases import make_case, make_person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
LINE = ".case .banner:not([hidden])"


@pytest.mark.parametrize("javascript", [True, False])
def test_an_operator_finds_a_422_and_closes_it_with_a_reason(chromium: Chromium, site: str, javascript) -> None:
    make_person("olga")
    make_case(cases.UNKNOWN)
    intent = make_case(cases.RECIPIENT, "wanted")

    def journey(page: Page) -> None:
        log_in(page, site, "olga")
        page.fill("[name=q]", "wanted")
        page.click("#filters button")
        expect(page.locator("table.cases tbody tr")).to_have_count(1)
        assert "q=wanted" in page.url
        page.click(f"a.id[href='/reviews/{intent.pk}/']")
        page.select_option("#close [name=reason_code]", "recipient_gone")
        page.fill("#close [name=reason]", "The customer left the company in May.")
        page.click("#close button")
        expect(page.locator(LINE)).to_contain_text("Closed. It stays in the log")
        expect(page.locator("#h-deeds ~ ol")).to_contain_text("The customer left the company in May.")
        expect(page.locator(LINE)).to_be_focused()
        page.click("text=Back to the queue")
        assert "q=wanted" in page.url

    chromium.run(journey, java_script_enabled=javascript)
    review = Review.objects.get(intent_id=intent.pk)
    assert (review.action, review.actor, review.reason_code) == ("close", "user:olga", "recipient_gone")
    assert LogEntry.objects.filter(intent_id=intent.pk, kind="closed", actor="user:olga").count() == 1


def test_a_retry_can_be_undone_from_the_page_that_ordered_it(chromium: Chromium, site: str) -> None:
    make_person("olga")
    intent = make_case(cases.NOT_SENT)

    def journey(page: Page) -> None:
        log_in(page, site, "olga", f"/reviews/{intent.pk}/")
        page.select_option("#retry [name=reason_code]", "provider_recovered")
        page.dblclick("#retry button")
        expect(page.locator(LINE)).to_contain_text("Retry queued")
        page.click("#undo button")
        expect(page.locator(LINE)).to_contain_text("Retry undone")

    chromium.run(journey)
    assert Intent.objects.get(pk=intent.pk).state == "needs_review"
    assert [review.action for review in Review.objects.filter(intent_id=intent.pk).order_by("id")] == ["retry", "undo"]


def test_of_two_operators_the_slower_sees_who_was_faster_and_keeps_the_text(chromium: Chromium, site: str) -> None:
    make_person("olga")
    make_person("lena")
    intent = make_case(cases.NOT_SENT)

    def journey(page: Page) -> None:
        log_in(page, site, "olga", f"/reviews/{intent.pk}/")
        page.select_option("#close [name=reason_code]", "test_data")
        page.fill("#close [name=reason]", "Left over from the load test.")
        other = page.context.browser.new_context()  # type: ignore[union-attr]
        hers = other.new_page()
        log_in(hers, site, "lena", f"/reviews/{intent.pk}/")
        hers.select_option("#retry [name=reason_code]", "code_fixed")
        hers.click("#retry button")
        expect(hers.locator(LINE)).to_contain_text("Retry queued")
        other.close()
        page.click("#close button")
        expect(page.locator(LINE)).to_contain_text("Retry ordered, by lena")
        expect(page.locator("#close [name=reason]")).to_have_value("Left over from the load test.")

    chromium.run(journey, answers=[409])
    assert Intent.objects.get(pk=intent.pk).state == "retry"


def test_a_text_field_that_somebody_made_larger_breaks_no_rule_of_the_page(chromium: Chromium, site: str) -> None:
    """The browser keeps its size in a style attribute, which must not be copied into the new form as markup."""
    make_person("olga")
    intent = make_case(cases.NOT_SENT)

    def journey(page: Page) -> None:
        log_in(page, site, "olga", f"/reviews/{intent.pk}/")
        for field in page.locator("textarea").all():
            field.evaluate("field => { field.style.height = '120px'; }")
        page.fill("#note [name=reason]", "Worth a long remark in a large field.")
        page.click("#note button")
        expect(page.locator(LINE)).to_contain_text("Note added.")
        expect(page.locator("#note [name=reason]")).to_have_value("")

    chromium.run(journey)


def test_a_text_is_required_where_the_chosen_reason_asks_for_it(chromium: Chromium, site: str) -> None:
    make_person("olga")
    intent = make_case(cases.NOT_SENT)

    def journey(page: Page) -> None:
        log_in(page, site, "olga", f"/reviews/{intent.pk}/")
        text = page.locator("#close [name=reason]")
        for code, wants in (("", False), ("test_data", True), ("duplicate", False), ("recipient_gone", True)):
            page.select_option("#close [name=reason_code]", code)
            assert text.evaluate("field => field.required") == wants, code
        page.click("#close button")  # the browser itself asks for it
        expect(text).to_be_focused()
        assert page.locator("#note [name=reason]").evaluate("field => field.required")
        page.fill("#close [name=reason]", "She left the company in May.")
        page.click("#close button")
        expect(page.locator(LINE)).to_contain_text("Closed.")

    chromium.run(journey)


def test_an_ended_session_leads_to_the_login_and_back_and_does_nothing(chromium: Chromium, site: str) -> None:
    make_person("olga")
    intent = make_case(cases.NOT_SENT)

    def journey(page: Page) -> None:
        log_in(page, site, "olga", f"/reviews/{intent.pk}/")
        page.select_option("#close [name=reason_code]", "duplicate")
        page.context.clear_cookies(name="sessionid")
        page.click("#close button")
        page.wait_for_url(f"{site}/login/?next=%2Freviews%2F{intent.pk}%2F")
        assert page.locator("#case").count() == 0

    chromium.run(journey, answers=[401])
    assert Intent.objects.get(pk=intent.pk).state == "needs_review"


def test_a_login_in_another_tab_gives_a_message_and_keeps_the_text(chromium: Chromium, site: str) -> None:
    make_person("olga")
    intent = make_case(cases.NOT_SENT)

    def journey(page: Page) -> None:
        log_in(page, site, "olga", f"/reviews/{intent.pk}/")
        page.fill("#note [name=reason]", "A note that must survive.")
        other = page.context.new_page()
        other.goto(f"{site}/reviews/")
        other.click("text=Log out")
        log_in(other, site, "olga")
        page.click("#note button")
        expect(page.locator("#trouble")).to_contain_text("Nothing was done, and your text is kept here")
        expect(page.locator("#note [name=reason]")).to_have_value("A note that must survive.")

    chromium.run(journey, answers=[403])


def test_going_back_shows_the_whole_page_with_its_filters(chromium: Chromium, site: str) -> None:
    make_person("olga")
    intent = make_case(cases.NOT_SENT)
    make_case(cases.UNKNOWN)

    def journey(page: Page) -> None:
        log_in(page, site, "olga")
        page.click("#filters summary")
        page.select_option("[name=known]", "not_sent")
        expect(page.locator("table.cases tbody tr")).to_have_count(1)
        page.click(f"a.id[href='/reviews/{intent.pk}/']")
        page.go_back()
        assert "known=not_sent" in page.url
        expect(page.locator("header .brand")).to_be_visible()
        expect(page.locator("table.cases tbody tr")).to_have_count(1)

    chromium.run(journey)


def test_the_keyboard_alone_finds_a_case_and_closes_it(chromium: Chromium, site: str) -> None:
    make_person("olga")
    intent = make_case(cases.NOT_SENT)

    def journey(page: Page) -> None:
        log_in(page, site, "olga")
        _tab_to(page, f"a.id[href='/reviews/{intent.pk}/']")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{site}/reviews/{intent.pk}/")
        _tab_to(page, "#close select")
        page.keyboard.press("D")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator(LINE)).to_contain_text("Closed.")

    chromium.run(journey)
    assert Intent.objects.get(pk=intent.pk).state == "closed"


def _tab_to(page: Page, target: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("target => document.activeElement.matches(target)", target):
            return
    raise AssertionError(f"{target} is not reached by the Tab key")
