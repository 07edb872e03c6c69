"""Moments as people read them: in the zone of whoever asked, which the request has set; in UTC at a terminal.

What is kept, exported or compared stays in UTC, and comes nowhere near this module.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from django.utils import timezone

# Names under which devices know UTC.
_UTC: Final = frozenset({"UTC", "Etc/UTC", "Etc/UCT", "Etc/GMT", "Etc/Zulu", "UCT", "GMT", "Zulu"})


def clock(at: datetime, form: str = "%H:%M:%S") -> str:
    """Give a moment in the reader's zone, with the zone's offset then: `15:04:05 UTC+1`. `form` is strftime's."""
    own = timezone.localtime(at)
    return f"{own.strftime(form)} {offset(own)}"


def plain(at: datetime, form: str = "%H:%M:%S") -> str:
    """Give a moment in the reader's zone where its zone stands beside it already."""
    return timezone.localtime(at).strftime(form)


def offset(at: datetime) -> str:
    """Give how far an aware moment's own clock is from UTC: `UTC`, `UTC+1`, `UTC+5:30`.

    Not the zone's abbreviation: CST is a time in China and another one in America.
    """
    minutes = round((at.utcoffset() or at - at).total_seconds() / 60)
    if not minutes:
        return "UTC"
    hours, rest = divmod(abs(minutes), 60)
    # The sign of a minus, at which no line breaks as it does at a hyphen.
    sign = "+" if minutes > 0 else "\N{MINUS SIGN}"
    return f"UTC{sign}{hours}{f':{rest:02}' if rest else ''}"


def zone_name() -> str:
    """Give the name of the reader's zone: `Europe/Berlin`; `UTC` by whatever name it is known."""
    name = timezone.get_current_timezone_name()
    return "UTC" if name in _UTC else name
