"""An open page of a run follows it in a real browser, and moves nothing that somebody uses."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from playwright.sync_api import Page

from reviews.bulk.models import BulkRun
from tests.browser.console_site import Chromium, log_in
from tests.reviews.bulk_cases import Provider, carried, make_cases, planned, started
from tests.reviews.cases import make_person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
_SELECT = """() => { const range = document.createRange();
    range.selectNodeContents(document.querySelector("#bulk table a.id"));
    getSelection().removeAllRanges(); getSelection().addRange(range); }"""


def _followed(chromium: Chromium, site: str, bulk: BulkRun, *, selects: bool) -> dict[str, Any]:
    """Have the page of a run open while it is carried out; give what stands there at the end."""
    is_open, told = threading.Event(), dict[str, Any]()

    def look(page: Page) -> None:
        log_in(page, site, "lena", f"/reviews/bulk/{bulk.pk}/")
        told["before"] = page.inner_text("header .standing time")
        if selects:
            page.evaluate(_SELECT)
        is_open.set()
        if selects:
            page.locator("#held").wait_for(timeout=60_000)
            told["buttons"] = page.get_by_role("button", name="Cancel for good").count()
            page.evaluate("getSelection().removeAllRanges()")
        page.get_by_text("2 of 2 with an outcome").wait_for(timeout=60_000)
        page.locator("#bulk table .badge", has_text="Left").first.wait_for(state="detached", timeout=60_000)
        told["after"] = page.inner_text("header .standing time")
        told["last"] = page.get_by_role("button", name="Cancel for good").count()
        told["bar"] = page.evaluate(
            "document.getElementById('bar').offsetWidth / document.getElementById('progress').clientWidth"
        )
        told["text"] = page.inner_text("#bulk")

    reader = threading.Thread(target=lambda: chromium.run(look))
    reader.start()
    assert is_open.wait(60)
    carried(bulk, Provider(bulk))
    reader.join(90)
    return told


@pytest.mark.parametrize("selects", [False, True], ids=["nobody uses it", "an ID is selected"])
def test_list_and_buttons_follow_the_end_of_the_run(
    chromium: Chromium, site: str, settings: Any, selects: bool
) -> None:
    settings.NOTIFYOPS_UNDO_S = 0
    make_person("lena")
    told = _followed(chromium, site, started(planned(make_cases(2))), selects=selects)
    assert told.get("buttons", 1) == 1
    assert told["last"] == 0
    assert "Accepted by provider" in told["text"].split("Cases of this run")[1]
    assert told["after"] > told["before"]
    assert told["bar"] > 0.9
