"""The Retry-After header in every form that servers have really sent."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notifications.providers.retry_after import printable, wanted_wait

NOON = 1_445_428_800.0  # Wed, 21 Oct 2015 12:00:00 GMT


def wait(*values: str, answered_at: str | None = None) -> float | None:
    return wanted_wait(values, answered_at, lambda: NOON)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("120", 120),
        (" 120 ", 120),
        ("0", 0),
        ("31536000", 31_536_000),
        ("Wed, 21 Oct 2015 12:01:30 GMT", 90),
        ("Wednesday, 21-Oct-15 12:01:30 GMT", 90),
        ("Wed Oct 21 12:01:30 2015", 90),
        ("Wed, 21 Oct 2015 12:01:30", 90),
        ("Wed, 21 Oct 2015 14:01:30 +0200", 90),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        ("Wed, 99 Oct 2015 07:28:00 GMT", None),
        ("Wed, 21 Foo 2015 07:28:00 GMT", None),
        ("-5", None),
        ("+5", None),
        ("1.5", None),
        ("1e3", None),
        ("abc", None),
        ("", None),
        ("１２０", None),
        ("٣٠", None),
        ("2015", 2015),
        ("9" * 11, None),
        ("120 seconds", None),
        ("120, 60", None),
        ("\ud800", None),
    ],
)
def test_one_value(value: str, expected: float | None) -> None:
    assert wait(value) == expected


def test_of_two_headers_the_longer_readable_wait_counts() -> None:
    assert wait("30", "90") == 90
    assert wait("abc", "90") == 90
    assert wait("abc", "-1") is None
    assert wait() is None


def test_the_answers_own_date_is_the_clock_and_an_unreadable_one_is_not() -> None:
    until = "Wed, 21 Oct 2015 12:01:30 GMT"
    assert wait(until, answered_at="Wed, 21 Oct 2015 12:01:00 GMT") == 30
    assert wait(until, answered_at="yesterday") == 90


def test_the_raw_header_is_kept_printable_and_short() -> None:
    assert printable([]) is None
    assert printable(["30", "90"]) == "30, 90"
    assert printable(["a\x00b\x1b"]) == "a\ufffdb\ufffd"
    assert printable(["x" * 500]) == "x" * 100


@settings(deadline=None)
@given(st.lists(st.text(max_size=40), max_size=3), st.none() | st.text(max_size=40))
def test_no_header_makes_it_raise_or_wait_backwards(values: list[str], answered_at: str | None) -> None:
    wanted = wanted_wait(values, answered_at, lambda: NOON)
    assert wanted is None or wanted >= 0
    raw = printable(values)
    assert raw is None or (len(raw) <= 100 and (raw == "" or raw.isprintable()))
