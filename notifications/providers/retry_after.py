"""How long a provider asks us to wait: the Retry-After header in all the forms that servers really send."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime

RAW_LENGTH = 100

# ASCII digits only: int() would take full-width ones too. Ten digits are 300 years.
_SECONDS = re.compile(r"[0-9]{1,10}")
# The three forms of RFC 9110 section 5.6.7, and the zone missing or numeric; anything else is not a date, however
# willing the parser of the standard library may be.
_DATE = re.compile(
    r"[A-Za-z]{3,9}, [0-9]{1,2}[ -][A-Za-z]{3}[ -][0-9]{2,4} [0-9]{2}:[0-9]{2}:[0-9]{2}( (GMT|UTC|[+-][0-9]{4}))?"
    r"|[A-Za-z]{3} [A-Za-z]{3} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} [0-9]{4}"
)


def wanted_wait(values: Sequence[str], answered_at: str | None, wall_clock: Callable[[], float]) -> float | None:
    """Give the longest wait asked for in seconds, unclamped; None where no value is a wait to act on.

    A date is measured from the answer's own Date header, so that no clock but the provider's matters; only without
    one is `wall_clock` (seconds since the epoch) asked. Past dates, negative and fractional numbers are no wait.
    """
    waits = [wait for value in values if (wait := _wait(value.strip(), answered_at, wall_clock)) is not None]
    return max(waits, default=None)


def printable(values: Sequence[str]) -> str | None:
    """Give the header as received, fit to be stored: foreign characters made visible, cut to 100."""
    if not values:
        return None
    return "".join(mark if mark.isprintable() else "\ufffd" for mark in ", ".join(values)[:RAW_LENGTH])


def _wait(value: str, answered_at: str | None, wall_clock: Callable[[], float]) -> float | None:
    if _SECONDS.fullmatch(value):
        return float(value)
    until = _moment(value)
    if until is None:
        return None
    since = _moment(answered_at.strip()) if answered_at is not None else None
    wait_s = until - (wall_clock() if since is None else since)
    return wait_s if wait_s > 0 else None


def _moment(value: str) -> float | None:
    """Give an HTTP date in seconds since the epoch; a date without a zone counts as UTC."""
    if not _DATE.fullmatch(value):
        return None
    try:
        moment = parsedate_to_datetime(value)
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
