"""How long a provider's key protects a repeat: the arithmetic of the key's window.

A provider that keeps idempotency keys promises "the same key and body within the window is one message". The clock
starts with the first attempt whose outcome is not known; before that nothing needs protection.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum

# The provider counts from its own acceptance, by its own clock: this much of the window is never used.
DEFAULT_MARGIN = timedelta(minutes=30)


class Protection(StrEnum):
    """Whether a repeat with the same key and bytes is still one message for the provider."""

    NOT_STARTED = "not_started"
    OPEN = "open"
    CLOSED = "closed"


def span(window: timedelta | None, margin: timedelta = DEFAULT_MARGIN) -> timedelta | None:
    """Give the usable part of a provider's window, never negative; None where the provider names no window."""
    if window is None:
        return None
    return max(window - margin, timedelta(0))


def safe_until(
    first_ambiguous_at: datetime | None, window: timedelta | None, margin: timedelta = DEFAULT_MARGIN
) -> datetime | None:
    """Give the moment after which a repeat may be a second message; None where the clock has not started.

    `first_ambiguous_at` is the start of the first attempt with an ambiguous outcome: the provider cannot have
    accepted earlier. A provider without a window protects nothing, so the moment is that start itself.
    """
    if first_ambiguous_at is None:
        return None
    return first_ambiguous_at + (span(window, margin) or timedelta(0))


def seconds_left(safe_until_at: datetime | None, now: datetime) -> float | None:
    """Give the seconds until the window closes, negative once it has; None where the clock has not started."""
    if safe_until_at is None:
        return None
    return (safe_until_at - now).total_seconds()


def protection(safe_until_at: datetime | None, now: datetime) -> Protection:
    """Say where the window stands; the closing moment itself counts as closed."""
    left = seconds_left(safe_until_at, now)
    if left is None:
        return Protection.NOT_STARTED
    return Protection.OPEN if left > 0 else Protection.CLOSED


def next_utc_midnight(now: datetime) -> datetime:
    """Give the next 00:00 UTC after `now`, when daily quotas start afresh. `now` must be aware."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today + timedelta(days=1)
