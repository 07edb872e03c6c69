"""Cells that spreadsheets would run stay text; everything else stays what it is."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews import export

FORMULAS = [
    "=1+1", "+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "＋1", "－1", "＠A1", " =1", "\u00a0=1",
    "\u3000＝1",
    "\ufeff=1", "\x00=1", "\u200b=1", '=HYPERLINK("https://evil.example.com","x")', "=cmd|' /C calc'!A0", "-",
]  # fmt: skip


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


@pytest.mark.parametrize("text", FORMULAS)
def test_what_begins_a_formula_is_text(text: str) -> None:
    assert export.cell(text).startswith("'")
    assert export.cell(text)[1:] == text.replace("\x00", "")


@pytest.mark.parametrize(
    "text", ["", "demo-001", "report-ready/demo-001", "a=b", "1-2", "user:olga", "'", "报告", "100%"]
)
def test_what_begins_none_is_left_alone(text: str) -> None:
    assert export.cell(text) == text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""), (-5, "-5"), (-0.5, "-0.5"), (True, "true"), (False, "false"),
        (datetime(2026, 12, 1, 9, 30, tzinfo=timezone(timedelta(hours=8))), "2026-12-01T01:30:00+00:00"),
        (datetime(2026, 12, 1, 1, 30, 5, 999, tzinfo=UTC), "2026-12-01T01:30:05+00:00"),
        ("\ud800x", "?x"),
    ],
)  # fmt: skip
def test_values_of_ours_keep_their_form(value: Any, shown: str) -> None:
    assert export.cell(value) == shown


@given(st.lists(st.lists(st.text(), min_size=2, max_size=2), max_size=5))
def test_no_cell_leaves_its_place_and_none_is_a_formula(rows: list[list[str]]) -> None:
    text = "".join(export.lines(["a", "b"], rows))
    found = read(text)
    assert len(found) == len(rows) + 1
    assert all(len(row) == 2 for row in found)
    assert not [
        one
        for row in found
        for one in row
        if one.lstrip(" \u00a0\u3000\ufeff\u200b").startswith(tuple("=+-@\t\r\n＝＋－＠"))
    ]


def test_the_header_is_guarded_as_well_and_rows_are_read_one_by_one() -> None:
    read_so_far = []

    def rows() -> Any:
        for n in range(3):
            read_so_far.append(n)
            yield [n, "=1"]

    stream = export.lines(["=id", "text"], rows())
    assert next(stream) == '\ufeff"\'=id","text"\r\n'
    assert read_so_far == []
    assert next(stream) == '"0","\'=1"\r\n'
    assert read_so_far == [0]


def test_a_download_is_named_and_not_cached() -> None:
    answer = export.answer("reviews", ["a"], [[1], ["@x"]])
    assert answer["Content-Disposition"] == 'attachment; filename="reviews.csv"'
    assert "no-store" in answer["Cache-Control"]
    assert b"".join(answer).decode() == '\ufeff"a"\r\n"1"\r\n"\'@x"\r\n'
