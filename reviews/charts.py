"""The measures of a bar chart: what a template draws as SVG, of attributes alone, as the content policy wants it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

# Units of the view box, which the page stretches to its own width.
HEIGHT: Final = 100
_SLOT: Final = 10
_BAR: Final = 4
# Into how many parts the labels of a chart divide it, the first that leaves whole slots; more would touch on a phone.
_PARTS: Final = (4, 3, 2)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: `tone` is its class, `x`, `y` and `height` stand in units of the view box."""

    x: int
    y: float
    height: float
    tone: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Pairs of bars side by side on one scale; `top` is the value at the upper edge, an even one."""

    bars: tuple[Bar, ...]
    width: int
    top: int
    came: int
    went: int
    ticks: tuple[datetime, ...]
    height: int = HEIGHT
    bar_width: int = _BAR
    # Where the scale's lines stand, from the top down.
    lines: tuple[int, ...] = (0, HEIGHT // 2)

    @property
    def marks(self) -> tuple[str, ...]:
        """Give what stands beside the lines, and beside the ground."""
        return f"{self.top:,}", f"{self.top // 2:,}", "0"


def pairs(values: Sequence[tuple[datetime, int, int]]) -> Chart:
    """Draw what came and what went, slot by slot; each begins at its time."""
    top = _even_top(max([1, *(max(pair) for _at, *pair in values)]))
    bars = []
    for place, (_at, *pair) in enumerate(values):
        for side, (value, tone) in enumerate(zip(pair, ("came", "went"), strict=True)):
            height = round(HEIGHT * value / top, 2)
            bars.append(Bar(place * _SLOT + 1 + side * _BAR, round(HEIGHT - height, 2), height, tone))
    came, went = sum(came for _at, came, _went in values), sum(went for _at, _came, went in values)
    return Chart(tuple(bars), max(len(values), 1) * _SLOT, top, came, went, _ticks([at for at, *_pair in values]))


def _even_top(largest: int) -> int:
    """Give the next value whose half is whole and easily read: 2, 4, 6, 8, 10, 20, 40, …"""
    step = 2
    while step * 5 < largest:
        step *= 10
    return -(-largest // step) * step


def _ticks(times: Sequence[datetime]) -> tuple[datetime, ...]:
    """Give the beginning of the first slot, the end of the last one, and what shares the way evenly in whole slots.

    They stand under the edges of slots, evenly apart, as the page spreads them.
    """
    if len(times) < 2:
        return tuple(times)
    slot = (times[-1] - times[0]) / (len(times) - 1)
    parts = next((parts for parts in _PARTS if len(times) % parts == 0), 1)
    return tuple(times[0] + slot * (len(times) // parts) * place for place in range(parts + 1))


def shares(values: Sequence[int]) -> list[int]:
    """Give each value's length in hundredths of the largest one; what is there at all is seen."""
    top = max([1, *values])
    return [0 if not value else max(1, round(100 * value / top)) for value in values]
