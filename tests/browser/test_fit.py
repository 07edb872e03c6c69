"""How the parts of pages fit: the header's rows, banners, tables of a case, the ways above a run."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page

from notifications.models import Circuit, ProviderAccount, WorkerBeat
from notifications.pausing import pause
from tests.browser.console_site import Chromium, log_in
from tests.reviews import cases
from tests.reviews.bulk_cases import make_cases, planned
from tests.reviews.cases import make_case, make_person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
_BOXES = """selector => [...document.querySelectorAll(selector)].map(one => {
    const box = one.getBoundingClientRect();
    return [box.left, box.top, box.right, box.bottom];
})"""
_LINES = """selector => [...document.querySelectorAll(selector)].map(one => {
    const range = document.createRange();
    range.selectNodeContents(one);
    return new Set([...range.getClientRects()].map(line => Math.round(line.top))).size;
})"""

# Of each code, on how many lines it stands, and of how many words it is.
_PIECES = """selector => [...document.querySelectorAll(selector)].map(one => {
    const range = document.createRange();
    range.selectNodeContents(one);
    const lines = new Set([...range.getClientRects()].filter(line => line.width).map(line => Math.round(line.top)));
    return [lines.size, one.querySelectorAll('wbr').length + 1];
})"""

# Of each row, how far apart the first lines of its first and its last cell stand.
_APART = """selector => [...document.querySelectorAll(selector)].map(row => {
    const [first, last] = [row.cells[0], row.cells[row.cells.length - 1]].map(cell => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return range.getClientRects()[0].top;
    });
    return Math.abs(first - last);
})"""


def boxes(page: Page, selector: str) -> list[list[float]]:
    found: list[list[float]] = page.evaluate(_BOXES, selector)
    return found


def stop_and_pause() -> None:
    account = ProviderAccount.objects.get()
    Circuit.objects.using("owner").update_or_create(
        account=account, defaults={"open_until": timezone.now() + timedelta(hours=1), "code": "not_sent.refused"}
    )
    pause("type", "report_ready", span=timedelta(hours=1), reason=("too_many", ""), actor="user:lena")


def alive() -> None:
    now = timezone.now()
    WorkerBeat.objects.using("owner").create(worker="w", host="h", role="loop", slot=1, started_at=now, beat_at=now)


def keep(page: Page, name: str) -> None:
    folder = os.environ.get("NOTIFYOPS_TEST_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"fit-{name}.png", full_page=True)


@pytest.mark.parametrize("language", ["English", "简体中文"])
@pytest.mark.parametrize(("width", "theme"), [(320, "dark"), (768, "light"), (1280, "light")])
def test_header_and_banners(chromium: Chromium, site: str, width: int, theme: Any, language: str) -> None:
    make_person("lena")
    make_case()
    alive()
    stop_and_pause()

    def look(page: Page) -> tuple[float, list[list[float]], int]:
        log_in(page, site, "lena")
        if language != "English":
            page.locator(".me button[name=language]").click()
        page.goto(f"{site}/reviews/")
        keep(page, f"queue-{width}-{theme}-{'en' if language == 'English' else 'zh'}")
        (header,) = boxes(page, "header.top")
        wide: int = page.evaluate("document.scrollingElement.scrollWidth")
        return header[3] - header[1], boxes(page, "body > .banner"), wide

    height, banners, wide = chromium.run(look, viewport={"width": width, "height": 800}, color_scheme=theme)
    assert wide <= width
    assert len(banners) == 2
    first, second = banners
    assert (first[0], first[2]) == (second[0], second[2])
    assert first[0] >= 12
    assert second[1] - first[3] >= 8
    # Two rows where there is room for them; on a phone half of what its words would take.
    assert height <= {320: 200, 768: 140, 1280: 90}[width]


def test_what_stands_in_a_row_of_a_case_is_whole_and_on_one_line(chromium: Chromium, site: str) -> None:
    make_person("olga")
    intent = make_case(cases.RETRIED)

    def look(page: Page) -> tuple[list[int], list[list[float]], list[float]]:
        log_in(page, site, "olga")
        page.goto(f"{site}/reviews/{intent.pk}/")
        keep(page, "case-1280")
        ends = [
            [round(box[3] - first[3], 1) for box in row]
            for table in ("h-log", "h-attempts")
            for n in range(1, 4)
            for row in [boxes(page, f"[aria-labelledby={table}] tbody tr:nth-child({n}) td")]
            for first in row[:1]
        ]
        lines: list[int] = page.evaluate(_LINES, "table.stacked td.id, table.stacked td.whole")
        return lines, ends, page.evaluate(_APART, "table.stacked tbody tr")

    lines, ends, apart = chromium.run(look, viewport={"width": 1280, "height": 800})
    assert len(lines) > 10
    assert set(lines) == {1}
    assert {end for row in ends for end in row} == {0}
    assert max(apart) < 8  # a smaller type has a lower top, and a row's second line would be 20 lower


def test_the_ways_above_a_run_stand_on_one_line(chromium: Chromium, site: str) -> None:
    make_person("olga")
    bulk = planned(make_cases(2))

    def look(page: Page) -> list[list[float]]:
        log_in(page, site, "olga")
        page.goto(f"{site}/reviews/bulk/{bulk.pk}/")
        return boxes(page, ".way a")

    one, other = chromium.run(look, viewport={"width": 1280, "height": 800})
    assert (one[1], one[3]) == (other[1], other[3])


@pytest.mark.parametrize("width", [768, 1000, 1280])
def test_a_code_breaks_at_its_words_and_the_causes_stay_in_their_card(
    chromium: Chromium, site: str, width: int
) -> None:
    make_person("lena")
    for steps in (cases.NOT_SENT, cases.NOT_SENT, cases.UNKNOWN, cases.UNKNOWN, cases.RECIPIENT, cases.RECIPIENT):
        make_case(steps)

    def look(page: Page) -> tuple[list[list[int]], list[list[float]], list[list[float]]]:
        log_in(page, site, "lena")
        page.goto(f"{site}/reviews/stats/")
        keep(page, f"stats-{width}")
        pieces: list[list[int]] = page.evaluate(_PIECES, "td code")
        return pieces, boxes(page, "[aria-labelledby=h-causes]"), boxes(page, ".causes")

    pieces, (card,), (table,) = chromium.run(look, viewport={"width": width, "height": 800})
    assert len(pieces) >= 6
    assert [piece for piece in pieces if piece[0] > piece[1]] == []
    assert table[2] <= card[2]


@pytest.mark.parametrize("width", [320, 1280])
def test_from_a_page_that_is_not_for_her_an_operator_comes_to_the_login(
    chromium: Chromium, site: str, width: int
) -> None:
    make_person("olga")

    def go(page: Page) -> tuple[list[int], str, str]:
        log_in(page, site, "olga")
        wide: list[int] = []
        page.goto(f"{site}/reviews/views")
        keep(page, f"405-{width}")
        wide.append(page.evaluate("document.scrollingElement.scrollWidth"))
        page.get_by_role("link", name="To the page that it belongs to").click()
        back = page.url
        page.goto(f"{site}/admin/")
        keep(page, f"403-{width}")
        wide.append(page.evaluate("document.scrollingElement.scrollWidth"))
        page.get_by_role("button", name="Log in as somebody else").click()
        page.wait_for_url("**/login/**")
        return wide, back, page.locator("form.verb input[name=next]").input_value()

    wide, back, onward = chromium.run(go, answers=[403, 405], viewport={"width": width, "height": 800})
    assert max(wide) <= width
    assert (back, onward) == (f"{site}/reviews/", "/admin/")
