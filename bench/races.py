"""Decisions raced: every verb by the same form twice at once and by two people at once; how many were done twice."""

from __future__ import annotations

import json
from typing import Any, Final

from bench import rows
from bench.figures import Figure, Goal, Report
from bench.stage import Stage

PAIRS: Final = 1000
QUICK: Final = 100


def measure(stage: Stage, report: Report) -> None:
    """Race a thousand pairs over connections of their own; count what the log and the record say."""
    with stage.owner() as owner:
        rows.clear(owner)
    pairs = stage.sized(PAIRS, QUICK)
    found: dict[str, Any] = json.loads(stage.run(("-m", "bench.race_run", str(pairs)), stage.env("web")))
    told = ", ".join(f"{name} {count}" for name, count in sorted(found["answers"].items()))
    report.add(
        Figure("raced pairs of decisions", "", (float(found["pairs"]),), None, f"{found['verbs']} verbs; {told}"),
        Figure("of these done twice", "", (float(found["doubled"]),), Goal(0.0), "by the record and the log"),
        Figure("of these done by nobody", "", (float(found["undone"]),), Goal(0.0)),
    )
