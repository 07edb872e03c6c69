"""What a notification costs the caller: the same business transaction with and without it, and rows in bulk."""

from __future__ import annotations

from typing import Final

import psycopg

from bench import rows
from bench.figures import Figure, Goal, Report, median, shown
from bench.stage import SITE, Stage
from notifyops import dsn

# As many callers as keep the disk's flushes shared, as in an application under load.
CALLERS: Final = 4
_TABLE: Final = """
CREATE SCHEMA IF NOT EXISTS bench_business;
CREATE TABLE IF NOT EXISTS bench_business.report (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL, title text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now()
);
TRUNCATE bench_business.report;
"""


def measure(stage: Stage, report: Report) -> None:
    """Measure each kind of caller in turn, run by run."""
    found: dict[str, list[float]] = {kind: [] for kind in ("sql", "sql-enqueue", "django", "django-outbox", "bulk")}
    for number in range(stage.runs):
        for kind, rates in found.items():
            rates.append(_rate(stage, kind, number))
    report.add(
        _share("enqueue by SQL ÷ business only", found["sql-enqueue"], found["sql"], 0.60),
        _share("enqueue by Python ÷ business only", found["django-outbox"], found["django"], 0.40),
        Figure("bulk enqueue", "rows/s", tuple(found["bulk"]), Goal(10_000, floor=True), "enqueue_many, 1,000 a call"),
    )


def _share(name: str, with_it: list[float], without: list[float], goal: float) -> Figure:
    shares = tuple(one / other for one, other in zip(with_it, without, strict=True))
    beside = f"{shown(median(with_it))} of {shown(median(without))} transactions/s, {CALLERS} callers"
    return Figure(name, "", shares, Goal(goal, floor=True), beside)


def _rate(stage: Stage, kind: str, number: int) -> float:
    """Run the callers of one kind for a while, in a process of their own; give transactions (or rows) a second."""
    with stage.owner() as owner:
        rows.clear(owner)
        furnish(owner)
    # SQL callers have the writer's role, Python callers are the web application.
    role = "writer" if kind.startswith("sql") else "web"
    argv = ("-m", "bench.callers", kind, str(CALLERS), str(stage.sized(5, 2)), str(number))
    return float(stage.run(argv, stage.env("web", NOTIFYOPS_DATABASE_URL=stage.urls[role])))


def furnish(owner: psycopg.Connection[tuple[object, ...]]) -> None:
    """Make the business table, empty, for both kinds of callers."""
    owner.execute(_TABLE)
    for role in ("writer", "web"):
        name = psycopg.sql.Identifier(dsn.role_names(SITE)[role])
        owner.execute(psycopg.sql.SQL("GRANT USAGE ON SCHEMA bench_business TO {}").format(name))
        owner.execute(psycopg.sql.SQL("GRANT INSERT ON bench_business.report TO {}").format(name))
