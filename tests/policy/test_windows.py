"""The arithmetic of the key's window."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from notifications.policy.windows import Protection, next_utc_midnight, protection, safe_until, seconds_left, span

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(hours=24)


def test_the_window_ends_half_an_hour_before_the_providers() -> None:
    assert safe_until(START, DAY) == datetime(2026, 3, 2, 11, 30, tzinfo=UTC)
    assert span(DAY) == timedelta(hours=23, minutes=30)


def test_a_clock_that_has_not_started_protects_and_limits_nothing() -> None:
    assert safe_until(None, DAY) is None
    assert seconds_left(None, START) is None
    assert protection(None, START) is Protection.NOT_STARTED


@pytest.mark.parametrize(
    ("after", "state"),
    [
        (timedelta(0), Protection.OPEN),
        (timedelta(hours=23, minutes=29, seconds=59), Protection.OPEN),
        (timedelta(hours=23, minutes=30), Protection.CLOSED),
        (timedelta(days=9), Protection.CLOSED),
    ],
)
def test_the_closing_moment_counts_as_closed(after: timedelta, state: Protection) -> None:
    assert protection(safe_until(START, DAY), START + after) is state


def test_a_provider_without_a_window_protects_nothing() -> None:
    assert span(None) is None
    assert protection(safe_until(START, None), START) is Protection.CLOSED


def test_a_margin_longer_than_the_window_leaves_none_of_it() -> None:
    assert span(timedelta(minutes=10)) == timedelta(0)
    assert safe_until(START, timedelta(minutes=10)) == START


def test_seconds_left_fall_below_zero() -> None:
    assert seconds_left(START, START - timedelta(seconds=5)) == 5
    assert seconds_left(START, START + timedelta(seconds=5)) == -5


def test_a_daily_quota_starts_afresh_at_utc_midnight_whatever_the_zone() -> None:
    midnight = datetime(2026, 3, 2, tzinfo=UTC)
    assert next_utc_midnight(START) == midnight
    assert next_utc_midnight(midnight) == midnight + timedelta(days=1)
    kathmandu = timezone(timedelta(hours=5, minutes=45))
    assert next_utc_midnight(datetime(2026, 3, 2, 5, 0, tzinfo=kathmandu)) == midnight
