"""The console's screens with a million cases in review: what the server takes for nineteen in twenty requests.

The pages, their queries and their permissions are the product's, asked by a lead in one process of the web's role.
"""

from __future__ import annotations

import json
from typing import Any, Final

from bench import console_rows
from bench.figures import Figure, Goal, Report
from bench.stage import Stage

IN_REVIEW: Final = 1_000_000
QUICK: Final = 100_000
# console.md §9: queue, groups and an action within 150 ms, a case within 120, the plan of 10,000 within a second; a
# page of 50 rows within 120 kB. Of the other pages nothing is promised but that no statement takes a second.
_GOALS_MS: Final = {"queue": 150.0, "groups": 150.0, "action": 150.0, "case": 120.0, "plan": 1000.0}
_PAGE_KB: Final = Goal(120.0)


def measure(stage: Stage, report: Report) -> None:
    """Fill the tables once, and ask for each screen some forty times, the first times left out."""
    count = stage.sized(IN_REVIEW, QUICK)
    with stage.owner() as owner:
        console_rows.fill(owner, count)
    found: dict[str, Any] = json.loads(stage.run(("-m", "bench.console_run"), stage.env("web")))
    with stage.owner() as owner:
        owner.execute("TRUNCATE notifyops_private.reviews_bulkitem")
    beside = f"{count:,} in review"
    for name, taken in found["ms"].items():
        goal = _GOALS_MS.get(name.partition(":")[0])
        figure = Figure(
            f"{name}, p95", "ms", (p95(taken),), Goal(goal) if goal else None, f"{beside}, {len(taken)} asked"
        )
        report.add(figure)
    for name, told in found["failed"].items():
        report.add(Figure(f"{name}, not answered", "", (1.0,), Goal(0.0), told))
    report.add(Figure("queue's page of 50 rows", "kB", (found["kb"],), _PAGE_KB, beside))


def p95(taken: list[float]) -> float:
    """Give the time that nineteen of twenty did not take longer than."""
    return sorted(taken)[max(0, round(0.95 * len(taken)) - 1)]
