"""The log of human actions: what it lists, in pages, and what leaves it as CSV."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviews import export, human_log, team_pages
from reviews.models import Review
from tests.reviews.cases import login, make_case, post
from tests.reviews.deciding import TEXT, decide

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]


def shown(query: str = "", who: str = "vera") -> list[tuple[str, str]]:
    """Give who and what, row by row."""
    html = login(who).get(f"/reviews/log/{query}").content.decode()
    rows = re.findall(r'<tr role="row">\s*<td.*?</tr>', html, re.DOTALL)
    cells = [
        [re.sub(r"<[^>]+>", " ", cell).split() for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)] for row in rows
    ]
    return [(cell[1][0], cell[2][0]) for cell in cells]


def some_history() -> None:
    first, second = make_case(report_id="r-1"), make_case(report_id="r-2")
    decide("note", first, "olga")
    decide("close", first, "olga", "duplicate", text="")
    post(login("vera"), second, "close", reason_code="duplicate")
    decide("close", second, "lena", "cannot_be_fixed")


def test_everything_that_people_did_is_listed_newest_first_refused_tries_and_notes_too() -> None:
    some_history()
    assert shown() == [("lena", "Close"), ("vera", "Close"), ("olga", "Close"), ("olga", "Add")]
    html = login("vera").get("/reviews/log/").content.decode()
    assert "The permission for it was missing." in html
    assert "Needs review → Closed" in html
    assert TEXT in html


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("?who=olga", 2),
        ("?who=user:lena", 1),
        ("?who=ol", 0),
        ("?verb=close", 3),
        ("?verb=note", 1),
        ("?outcome=refused", 1),
        ("?outcome=done", 3),
        ("?reason=duplicate", 2),
        ("?case=report-ready/r-1", 2),
        ("?case=r-1+r-2", 4),
        ("?case=nothing", 0),
        ("?since=2020-01-01", 4),
        ("?until=2020-01-01", 0),
        ("?verb=close&who=olga", 1),
    ],
)
def test_each_filter_chooses(query, count) -> None:
    some_history()
    assert len(shown(query)) == count


@pytest.mark.parametrize(
    "query",
    ["?verb=lose", "?outcome=maybe", "?since=yesterday", "?after=x", "?wo=olga", "?reason=none", "?until=2026-13-01"],
)
def test_an_unreadable_filter_lists_nothing_and_says_why(query) -> None:
    some_history()
    assert shown(query) == []
    html = login("vera").get(f"/reviews/log/{query}").content.decode()
    assert "Nothing is listed, because a filter could not be read." in html


def test_a_search_that_finds_too_much_says_so_and_is_not_cut_in_silence() -> None:
    for number in range(201):
        make_case((), f"many-{number}")
    html = login("vera").get("/reviews/log/?case=many-").content.decode()
    assert "More than 200 notifications match" in html


@pytest.mark.slow
def test_pages_go_through_all_of_it_once() -> None:
    intent = make_case()
    for number in range(30):
        decide("note", intent, "olga", text=f"Remark number {number} of thirty.")
        post(login("vera"), intent, "close")
    seen: list[str] = []
    url = "?size=25"
    while url:
        html = login("vera").get(f"/reviews/log/{url}").content.decode()
        seen += re.findall(r'<tr role="row">\s*<td', html)
        found = re.search(r'href="/reviews/log/(\?[^"]+)" rel="next"', html)
        url = found[1].replace("&amp;", "&") if found else ""
    assert len(seen) == 60


def test_a_page_takes_three_queries_beside_the_logins() -> None:
    some_history()
    client = login("vera")
    for url in ("/reviews/log/", "/reviews/log/?case=r-1&who=olga"):
        with CaptureQueriesContext(connection) as caught:
            client.get(url)
        ours = [one["sql"] for one in caught if not re.search(r"SAVEPOINT|django_session|auth_", one["sql"])]
        assert len(ours) <= 3, ours


def exported(who: str = "lena", query: str = "") -> Any:
    return login(who).get(f"/reviews/log/export{query}")


def rows_of(answer: Any) -> list[dict[str, str]]:
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def test_a_lead_exports_what_the_filters_choose_in_utc() -> None:
    some_history()
    answer = exported()
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    rows = rows_of(answer)
    assert [row["action"] for row in rows] == ["close", "close", "close", "note"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", rows[0]["at_utc"])
    assert rows[0]["notification_id"] == "report-ready/r-2"
    assert (rows[1]["outcome"], rows[1]["refusal"]) == ("refused", "not_permitted")
    assert [row["actor"] for row in rows_of(exported(query="?who=olga&verb=note"))] == ["user:olga"]


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_a_slow_reader_of_the_export_keeps_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team_pages, "_BLOCK", 2)
    monkeypatch.setattr(human_log, "_EXPORTED_AT_ONCE", 1)
    some_history()
    answer = exported()
    found, held = [], []
    for block in answer.streaming_content:
        held.append(connection.connection is not None)
        found.append(block)
    assert len(found) >= 2
    assert not any(held)
    assert len(list(csv.DictReader(io.StringIO(b"".join(found).decode("utf-8-sig"))))) == 4


@pytest.mark.parametrize(("name", "status"), [("sam", 403), ("vera", 403), ("olga", 403), ("lena", 200)])
def test_the_export_is_a_leads(name, status) -> None:
    answer = exported(name)
    assert answer.status_code == status
    html = login(name).get("/reviews/log/").content.decode()
    assert ("/reviews/log/export" in html) is (name == "lena")


def test_an_unreadable_export_is_refused_and_not_everything() -> None:
    some_history()
    answer = exported(query="?since=yesterday")
    assert (answer.status_code, answer.content) == (422, b"A day is written as 2026-11-30, in UTC.")


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", " =", "\n@", "\uff1d"])
def test_a_cell_that_a_spreadsheet_would_run_is_neutralised(start) -> None:
    assert export.cell(f"{start}1+1") == f"'{start}1+1"
    assert export.cell("plain = text") == "plain = text"


def test_an_exported_reason_cannot_be_a_formula() -> None:
    intent = make_case()
    decide("note", intent, "olga", text='=HYPERLINK("x";"y")')
    (row,) = rows_of(exported())
    assert row["reason"] == '\'=HYPERLINK("x";"y")'


@pytest.mark.slow
def test_a_long_export_is_read_in_pieces_and_whole() -> None:
    intent = make_case()
    Review.objects.bulk_create(
        Review(intent_id=intent.pk, action="close", actor="user:olga", outcome="refused", refusal="changed")
        for _ in range(2100)
    )
    assert len(rows_of(exported())) == 2100


@pytest.mark.parametrize(
    "query", ["until=9999-12-31", "since=0001-01-01", "who=a%00b", "case=%00", "after=2026-99-99T00:00:00_r_1"]
)
def test_an_odd_filter_is_read_or_refused_in_words(query: str) -> None:
    client = login("lena")
    for url in (f"/reviews/log/?{query}", f"/reviews/log/export?{query}"):
        assert client.get(url).status_code in (200, 422), url
