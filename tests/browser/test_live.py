"""What comes while a page is open, in a real browser: told in one line, shown when asked for; nothing else moves."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.db import connections
from playwright.sync_api import Page, Route, expect

from notifications.models import Intent
from tests.browser.console_site import Chromium, log_in
from tests.reviews import cases
from tests.reviews.cases import login, make_case, make_person, post

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def meanwhile(act: Callable[[], Any]) -> Any:
    """Do something outside of the browser's thread, in which Django refuses to work."""

    def done() -> Any:
        try:
            return act()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(done).result()


def close(intent: Intent) -> Any:
    answer = post(login("lena"), Intent.objects.get(pk=intent.pk), "close", reason_code="duplicate")
    assert answer.status_code == 303
    return answer


def opened(page: Page, site: str, where: str = "/reviews/") -> None:
    """Log in, and open the page with its stream: what happens from then on is heard."""
    log_in(page, site, "olga")
    hearing(page, f"{site}{where}")


def hearing(page: Page, url: str) -> None:
    with page.expect_response(lambda answer: "/reviews/live?after=" in answer.url):
        page.goto(url)


TABLE = "table => table.outerHTML"


def test_what_comes_while_rows_are_ticked_leaves_the_table_alone_until_it_is_shown(
    chromium: Chromium, site: str
) -> None:
    first, second, third = (make_case(cases.UNKNOWN, f"r-{number}") for number in range(3))
    make_person("olga")

    def work(page: Page) -> None:
        opened(page, site)
        page.check(f"#case-{first.pk} input[name=id]")
        page.focus(f"#case-{third.pk} a.id")
        before = page.locator("table.cases").evaluate(TABLE)
        tops = page.locator("table.cases").bounding_box()
        meanwhile(lambda: (close(second), make_case(cases.UNKNOWN, "r-4"), make_case(cases.BOUNCED, "r-5")))
        expect(page.locator("#news")).to_have_text("2 new, 1 changed")
        assert page.locator("table.cases").evaluate(TABLE) == before, "the table was touched"
        assert page.locator("table.cases").bounding_box() == tops, "the table moved"
        assert page.locator(f"#case-{first.pk} input[name=id]").is_checked()
        as_of = page.locator("header .standing time").text_content()
        page.keyboard.press(".")
        expect(page.locator("table.cases tbody tr")).to_have_count(4)
        assert page.locator(f"#case-{second.pk}").count() == 0
        assert page.locator(f"#case-{first.pk} input[name=id]").is_checked(), "what was ticked is lost"
        assert page.evaluate("document.activeElement.closest('tr')?.id") == f"case-{third.pk}", "the focus is lost"
        expect(page.locator("#show-news")).to_be_hidden()
        assert page.locator("#news").text_content() == ""
        assert page.locator("header .standing time").text_content() != as_of
        # Nobody has to ask twice: the list that was shown anew hears what comes next.
        meanwhile(lambda: make_case(cases.UNKNOWN, "r-6"))
        expect(page.locator("#news")).to_have_text("1 new")
        page.click("#show-news")
        expect(page.locator("table.cases tbody tr")).to_have_count(5)
        assert page.evaluate("document.activeElement.id") == "live", "who clicked stands at the top of what is new"

    chromium.run(work, viewport={"width": 1280, "height": 800})


def test_only_what_the_list_would_show_is_new(chromium: Chromium, site: str) -> None:
    make_case(cases.UNKNOWN, "r-1")
    make_person("olga")

    def work(page: Page) -> None:
        opened(page, site, "/reviews/?known=unknown")
        meanwhile(lambda: (make_case(cases.BOUNCED, "r-2"), make_case(cases.UNKNOWN, "r-3")))
        expect(page.locator("#news")).to_have_text("1 new")
        assert page.url.endswith("?known=unknown")
        page.click("#show-news")
        expect(page.locator("table.cases tbody tr")).to_have_count(2)
        assert page.url.endswith("?known=unknown")

    chromium.run(work)


def test_a_case_that_somebody_else_decides_says_so_and_keeps_what_is_typed(chromium: Chromium, site: str) -> None:
    intent = make_case(cases.UNKNOWN, "r-1")
    make_person("olga")

    def work(page: Page) -> None:
        opened(page, site, f"/reviews/{intent.pk}/")
        page.fill("#note textarea", "Half of a sentence")
        meanwhile(lambda: make_case(cases.UNKNOWN, "r-2"))
        meanwhile(lambda: close(intent))
        expect(page.locator("#news")).to_contain_text("Changed by lena")
        expect(page.locator("#news")).to_contain_text("Closed")
        expect(page.locator(".title .badges")).to_contain_text("Needs review")
        assert page.input_value("#note textarea") == "Half of a sentence"
        page.keyboard.press("Escape")
        page.click("#show-news")
        expect(page.locator(".title .badges")).to_contain_text("Closed")
        expect(page.locator("#note textarea")).to_have_value("Half of a sentence")

    chromium.run(work, viewport={"width": 320, "height": 800})


def test_groups_say_that_they_changed(chromium: Chromium, site: str) -> None:
    make_case(cases.UNKNOWN, "r-1")
    make_person("olga")

    def work(page: Page) -> None:
        opened(page, site, "/reviews/groups/")
        meanwhile(lambda: (make_case(cases.UNKNOWN, "r-2"), make_case(cases.BOUNCED, "r-3")))
        expect(page.locator("#news")).to_have_text("1 new, 1 changed")
        page.keyboard.press(".")
        expect(page.locator("table.groups tbody tr")).to_have_count(2)
        expect(page.locator("#show-news")).to_be_hidden()

    chromium.run(work)


def test_without_a_stream_the_page_asks_by_itself(chromium: Chromium, site: str) -> None:
    make_case(cases.UNKNOWN, "r-1")
    make_person("olga")

    def no_stream(route: Route) -> None:
        if "text/event-stream" in (route.request.headers.get("accept") or ""):
            route.fulfill(status=204)
        else:
            route.continue_()

    def work(page: Page) -> None:
        page.clock.install()
        page.route("**/reviews/live**", no_stream)
        log_in(page, site, "olga")
        page.goto(f"{site}/reviews/")
        page.wait_for_timeout(500)
        meanwhile(lambda: make_case(cases.UNKNOWN, "r-2"))
        with page.expect_response(lambda answer: "of=queue" in answer.url):
            page.clock.run_for(21_000)
        expect(page.locator("#news")).to_have_text("1 new")
        page.keyboard.press(".")
        expect(page.locator("table.cases tbody tr")).to_have_count(2)

    chromium.run(work)


HIDE = """hidden => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_a_hidden_page_leaves_its_place_and_catches_up_when_it_is_seen(chromium: Chromium, site: str) -> None:
    make_case(cases.UNKNOWN, "r-1")
    make_person("olga")

    def work(page: Page) -> None:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/reviews/live" in request.url else None)
        opened(page, site)
        page.evaluate(HIDE, True)
        asked.clear()
        meanwhile(lambda: make_case(cases.UNKNOWN, "r-2"))
        page.wait_for_timeout(4000)
        assert asked == []
        assert page.locator("#news").text_content() == ""
        page.evaluate(HIDE, False)
        expect(page.locator("#news")).to_have_text("1 new")

    chromium.run(work)


def test_who_was_logged_out_is_told_that_nothing_is_told_any_more(chromium: Chromium, site: str) -> None:
    make_case(cases.UNKNOWN, "r-1")
    make_person("olga")

    def work(page: Page) -> None:
        opened(page, site)
        page.context.clear_cookies()
        meanwhile(lambda: make_case(cases.UNKNOWN, "r-2"))
        expect(page.locator("#news")).to_contain_text("your login is over")
        expect(page.locator("#live .as-of a")).to_have_attribute("href", "/reviews/")

    chromium.run(work)


def test_without_scripts_the_page_says_as_of_when_it_is_and_how_to_see_more(chromium: Chromium, site: str) -> None:
    make_case(cases.UNKNOWN, "r-1")
    make_person("olga")

    def work(page: Page) -> None:
        log_in(page, site, "olga")
        for where in ("/reviews/?known=unknown", "/reviews/groups/", "/reviews/watching/?who=all"):
            page.goto(f"{site}{where}")
            expect(page.locator("#live")).to_contain_text("Data as of")
            expect(page.locator("#show-news")).to_be_hidden()
            page.click("#live .as-of a")
            assert page.url == f"{site}{where}"

    chromium.run(work, java_script_enabled=False)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_the_line_is_clean_for_axe_and_fits_in_both_languages(chromium: Chromium, site: str, width, theme) -> None:
    intent = make_case(cases.UNKNOWN, "r-1")
    make_person("olga")

    def faults(page: Page) -> list[str]:
        found = Axe().run(page).response["violations"]
        said = [f"{one['id']}: {one['nodes'][0]['html'][:150]}" for one in found]
        is_wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        return [*said, "wider than the screen"] if is_wide else said

    def work(page: Page) -> list[str]:
        opened(page, site)
        meanwhile(lambda: make_case(cases.UNKNOWN, "r-3"))
        expect(page.locator("#news")).to_have_text("1 new")
        found = faults(page)
        page.click("button[name=language]")
        hearing(page, f"{site}/reviews/{intent.pk}/")
        meanwhile(lambda: close(intent))
        expect(page.locator("#news")).to_contain_text("lena 于")
        return found + faults(page)

    assert chromium.run(work, viewport={"width": width, "height": 800}, color_scheme=theme) == []


def test_who_shows_what_is_new_learns_who_took_the_rows_that_left(chromium: Chromium, site: str) -> None:
    first, second = (make_case(cases.UNKNOWN, f"r-{number}") for number in range(2))
    make_person("olga")

    def work(page: Page) -> None:
        opened(page, site)
        meanwhile(lambda: close(second))
        expect(page.locator("#news")).to_have_text("1 changed")
        assert page.locator("#gone").inner_text() == ""
        page.keyboard.press(".")
        told = page.locator("#gone a")
        expect(told).to_have_text(re.compile(r"report-ready/r-1: handled by lena at .* \(Closed\)"))
        assert told.get_attribute("href") == f"/reviews/{second.pk}/"
        assert page.locator("table.cases tbody tr").get_attribute("id") == f"case-{first.pk}"

    chromium.run(work, viewport={"width": 1280, "height": 800})
