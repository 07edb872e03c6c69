"""Deciding together in a real browser: by keyboard and mouse, at two widths and in both themes, in both languages."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from notifications.cli import seed
from notifications.models import ConfigRevision, ProviderAccount
from notifications.states import NextAction
from reviews.bulk.models import BulkItem, BulkRun
from tests.browser.console_site import Chromium, log_in
from tests.browser.test_console_looks import _english
from tests.browser.test_pictures import keep
from tests.reviews import cases
from tests.reviews.bulk_cases import Provider, carried, make_cases, planned, started
from tests.reviews.cases import make_case, make_person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
WRONG = seed.rejected("resend.403.validation_error", 403, NextAction.FIX_CONFIG)


@pytest.fixture
def screens(transactional_db: None, settings: Any) -> list[str]:
    """Make a plan, a run that stopped by itself, one that is under way; give the addresses of all screens."""
    settings.NOTIFYOPS_UNDO_S = 0
    make_person("lena")
    make_cases(3, WRONG)
    account = ProviderAccount.objects.get()
    ConfigRevision.objects.create(account=account, revision=2, actor="user:lena", reason="New sender.", after={})
    make_case(cases.BOUNCED)
    plan = planned(query="state=needs_review")
    stopped = started(planned(make_cases(8)), rate=200)
    carried(stopped, Provider(stopped, fails=2))
    under_way = started(planned(make_cases(4, cases.UNKNOWN)))
    carried(under_way, lambda: BulkItem.objects.filter(bulk=under_way, outcome="released").exists())
    BulkRun.objects.filter(pk=plan.pk).update(eligible_count=412, total_count=500)
    return [
        *("/reviews/", "/reviews/groups/", "/reviews/bulk/new?known=invalid", "/reviews/bulk/new?cod=1"),
        *(f"/reviews/bulk/{bulk.pk}/" for bulk in (plan, stopped, under_way)),
        f"/reviews/bulk/{stopped.pk}/?outcome=failed",
    ]


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_every_screen_is_clean_for_axe_and_fits(
    chromium: Chromium, site: str, screens: list[str], width: int, theme: str, language: str
) -> None:
    def look(page: Page) -> list[str]:
        page.context.add_cookies([{"name": "django_language", "value": language, "url": site}])
        log_in(page, site, "lena")
        faults = []
        for place, url in enumerate(screens):
            page.goto(site + url)
            found = Axe().run(page).response["violations"]
            faults += [f"{url}: {one['id']}: {one['nodes'][0]['html'][:150]}" for one in found]
            if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
                faults.append(f"{url}: wider than the screen")
            faults += _english(page.inner_text("main")) if language != "en" else []
            keep(page, f"bulk-{place}-{width}-{theme}-{language[:2]}")
        return faults

    assert chromium.run(look, answers=[422], viewport={"width": width, "height": 800}, color_scheme=theme) == []


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_from_the_queue_to_a_started_run(chromium: Chromium, site: str, scripts: bool) -> None:
    make_person("olga")
    chosen, other = make_cases(2), make_case(cases.UNKNOWN)

    def go(page: Page) -> str:
        log_in(page, site, "olga")
        for intent in chosen:
            page.get_by_label(f"Select {intent.notification_id}").check()
        page.get_by_role("button", name="Plan a retry").click()
        page.get_by_label("Reason", exact=True).select_option("provider_recovered")
        page.get_by_role("button", name="Retry 2 cases").click()
        page.get_by_role("heading", name="Progress").wait_for()
        return page.inner_text("#progress")

    told = chromium.run(go, java_script_enabled=scripts)
    assert "0 of 2 with an outcome" in told
    bulk = BulkRun.objects.get()
    assert set(BulkItem.objects.filter(bulk=bulk).values_list("intent_id", flat=True)) == {one.pk for one in chosen}
    assert other.pk not in set(BulkItem.objects.values_list("intent_id", flat=True))


def test_the_page_of_a_run_moves_by_itself(chromium: Chromium, site: str, settings: Any) -> None:
    settings.NOTIFYOPS_UNDO_S = 0
    make_person("vera")
    bulk = started(planned(make_cases(2)))
    is_open, told = threading.Event(), list[str]()

    def look(page: Page) -> None:
        log_in(page, site, "vera", f"/reviews/bulk/{bulk.pk}/")
        told.append(page.inner_text("#progress"))
        is_open.set()
        page.get_by_text("2 of 2 with an outcome").wait_for(timeout=60_000)
        told.append(page.inner_text("#progress"))

    reader = threading.Thread(target=lambda: chromium.run(look))
    reader.start()
    assert is_open.wait(60)
    carried(bulk, Provider(bulk))
    reader.join(90)
    assert "0 of 2 with an outcome" in told[0]
    assert "Accepted by provider" in told[1]
