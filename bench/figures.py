"""What was measured, beside its goal, as a table for people and as JSON for programs."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Goal:
    """What a figure should reach: at least (`floor`) or at most `limit`, in the figure's unit."""

    limit: float
    floor: bool = False

    def met_by(self, value: float) -> bool:
        """Say whether the value reaches the goal."""
        return value >= self.limit if self.floor else value <= self.limit


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: the median of `samples`, in `unit`. `beside` says what it was compared with, or what else is true.

    A figure without a goal informs only.
    """

    name: str
    unit: str
    samples: tuple[float, ...]
    goal: Goal | None = None
    beside: str = ""

    @property
    def value(self) -> float:
        """Give the median."""
        return statistics.median(self.samples)

    @property
    def met(self) -> bool | None:
        """Say whether the goal is met; None where there is none."""
        return None if self.goal is None else self.goal.met_by(self.value)


@dataclass(slots=True)
class Report:
    """All figures of one run, in the order of measuring."""

    machine: dict[str, Any]
    figures: list[Figure] = field(default_factory=list)
    say: Callable[[str], None] = print

    def add(self, *figures: Figure) -> None:
        """Keep the figures, and say them at once: a run takes minutes."""
        for figure in figures:
            self.figures.append(figure)
            self.say(f"  {figure.name}: {shown(figure.value)} {figure.unit}".rstrip())

    def table(self) -> str:
        """Give the Markdown table."""
        head = ["|  | measured | spread | goal | met | beside |", "| -- | --: | --: | --: | -- | -- |"]
        return "\n".join([*head, *(_row(figure) for figure in self.figures)])

    def result(self) -> str:
        """Give the last line: how many goals are met, and which are not."""
        judged = [figure for figure in self.figures if figure.goal is not None]
        missed = [figure.name for figure in judged if not figure.met]
        line = f"bench: {len(judged) - len(missed)} of {len(judged)} goals met"
        return f"{line}; missed: {', '.join(missed)}" if missed else line

    def write(self, path: Path) -> None:
        """Write everything, each sample included, as JSON."""
        figures = [{**asdict(figure), "value": figure.value, "met": figure.met} for figure in self.figures]
        path.write_text(json.dumps({"machine": self.machine, "figures": figures}, indent=2) + "\n", encoding="utf-8")


_WORDS: Final = {True: "yes", False: "**no**", None: ""}


def shown(value: float) -> str:
    """Give a number with three significant digits, as people write it."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def median(samples: Sequence[float]) -> float:
    """Give the median of what was measured."""
    return statistics.median(samples)


def _row(figure: Figure) -> str:
    low, high = min(figure.samples), max(figure.samples)
    spread = "" if len(figure.samples) < 2 else f"{shown(low)} … {shown(high)}"
    goal = "" if figure.goal is None else f"{'≥' if figure.goal.floor else '≤'} {shown(figure.goal.limit)}"
    measured = f"{shown(figure.value)} {figure.unit}".rstrip()
    return f"| {figure.name} | {measured} | {spread} | {goal} | {_WORDS[figure.met]} | {figure.beside} |"
