"""The admin's lists of what nobody edits: cut with a word, and every row found by its notification id."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notifications.models import LogEntry, read_only_admin
from tests.reviews import cases
from tests.reviews.cases import login, make_case

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
LISTS = ("/admin/notifications/intent/", "/admin/notifications/logentry/")


def shown(where: str, **query: str) -> str:
    answer = login("lena").get(where, query)
    assert answer.status_code == 200, (where, answer.status_code)
    return unescape(answer.content.decode())


@pytest.mark.parametrize("where", LISTS)
def test_a_list_that_is_cut_says_so_and_one_that_is_whole_does_not(where: str, monkeypatch) -> None:
    for number in range(3):
        make_case(cases.UNKNOWN, f"r-{number}")
    assert "There are more" not in shown(where)
    rows = {LISTS[0]: 3, LISTS[1]: LogEntry.objects.count()}[where]
    monkeypatch.setattr(read_only_admin, "MOST_ROWS", rows)
    assert "There are more" not in shown(where)
    monkeypatch.setattr(read_only_admin, "MOST_ROWS", 2)
    html = shown(where)
    assert "There are more: only the newest 2 are listed." in html
    foot = re.search(r'<p class="paginator">(.*?)</p>', html, re.DOTALL)
    assert foot is not None
    assert "the newest 2" in foot[1]
    assert "Show all" not in html  # it would not


@pytest.mark.parametrize("where", LISTS)
def test_any_row_is_found_by_its_notification_id_and_by_no_part_of_it(where: str) -> None:
    old, new = make_case(cases.UNKNOWN, "r-old"), make_case(cases.UNKNOWN, "r-new")
    with CaptureQueriesContext(
        connection,
    ) as asked:
        found = shown(where, q=f" {old.notification_id} ")
    assert f"/reviews/{old.pk}/" in found
    assert f"/reviews/{new.pk}/" not in found
    assert not [one for one in asked.captured_queries if "LIKE" in one["sql"].upper()]
    nothing = shown(where, q=old.notification_id[:-1])
    assert f"/reviews/{old.pk}/" not in nothing


def test_times_are_to_the_second_and_name_their_zone() -> None:
    intent = make_case(cases.UNKNOWN)
    assert f"{intent.created_at:%Y-%m-%d %H:%M:%S} UTC" in shown(LISTS[0])
