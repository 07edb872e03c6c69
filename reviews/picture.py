"""The measures of the attempts' timeline: what a template draws as SVG; the table beside it says the same in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from unicodedata import east_asian_width

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from reviews import hints, times
from reviews.refusals import Sentence
from reviews.story import Attempt
from reviews.words import STATES, Badge

# Units of the view box: from one stop to the next, from the edge to the first, and a stop's radius with a little air.
_STEP: Final = 128
_MARGIN: Final = 60
_RADIUS: Final = 19
# The widest a sign gets at the timeline's 12 px, Latin and Chinese, and what stays free beside the words.
_NARROW: Final = 7
_WIDE: Final = 13
_AIR: Final = 6
# Where there are more, the newest are drawn; the table holds all.
MOST: Final = 12
_RUNNING: Final = Badge(_("still running"), "loader", "busy")


@dataclass(frozen=True, slots=True)
class Stop:
    """An attempt, or at the end what the case is now; `gap` is the time since the stop before it, as text."""

    x: int
    badge: Badge
    title: Sentence
    under: Sentence
    gap: Sentence = ""

    @property
    def icon_x(self) -> int:
        """Where its icon begins."""
        return self.x - 8

    @property
    def gap_from(self) -> int:
        """Where the line from the stop before it begins."""
        return self.x - _STEP + _RADIUS

    @property
    def gap_to(self) -> int:
        """Where that line ends."""
        return self.x - _RADIUS

    @property
    def gap_at(self) -> int:
        """Where the time of the gap stands, by its middle."""
        return self.x - _STEP // 2


@dataclass(frozen=True, slots=True)
class Picture:
    """The stops from left to right."""

    stops: tuple[Stop, ...]
    width: int


def draw(attempts: Sequence[Attempt], state: str) -> Picture:
    """Draw the newest attempts, and behind them what the case is now."""
    shown = attempts[-MOST:]
    stops = [_stop(place, attempt, shown[place - 1] if place else None) for place, attempt in enumerate(shown)]
    if shown and shown[-1].ended_at is not None:
        now = STATES[state]
        stops.append(Stop(_MARGIN + len(shown) * _STEP, now, gettext("now"), now.word, gap=" "))
    return Picture(tuple(stops), _MARGIN + max(len(stops) - 1, 0) * _STEP + max(_MARGIN, _half_of(stops[-1:])))


def _half_of(last: Sequence[Stop]) -> int:
    """Give half the width of the last stop's words: the state may be wider than what stands between two stops."""
    words = [str(text) for stop in last for text in (stop.title, stop.under)]
    widths = [sum(_WIDE if east_asian_width(sign) in "WF" else _NARROW for sign in text) for text in words]
    return max(widths, default=0) // 2 + _AIR


def _stop(place: int, attempt: Attempt, before: Attempt | None) -> Stop:
    waited = attempt.started_at - (before.ended_at or before.started_at) if before else timedelta()
    how = gettext("manual") if attempt.is_manual else gettext("auto")
    return Stop(
        _MARGIN + place * _STEP,
        attempt.outcome or _RUNNING,
        f"{attempt.number}{attempt.key} · {how}",
        times.plain(attempt.started_at),
        gap=_gap(waited) if before else "",
    )


def _gap(waited: timedelta) -> str:
    """Give the span as it fits above the line; a retry at once has a bare line."""
    return f"+{hints.span(waited)}" if waited >= timedelta(seconds=1) else " "
