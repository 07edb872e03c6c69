"""Deliveries a second inside `manage.py qcluster`, beside the bare loop; CPU and WAL of the same runs."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any, Final

import psycopg

from bench import bare, rows
from bench.figures import Figure, Goal, Report, median, shown
from bench.sample import Sample, Window, told
from bench.stage import BenchFailed, Stage, tail
from notifyops import children
from notifyops.children import Child

IN_FLIGHT: Final = 16
# Slower than this is no measurement but a fault.
SLOWEST_RATE: Final = 50
_SPAN: Final = """
SELECT count(*), extract(epoch FROM max(at) - min(at))::float FROM notifyops_private.notifications_logentry
WHERE kind IN ('claimed', 'result')
"""
_OPEN: Final = "SELECT EXISTS (SELECT FROM notifyops_private.notifications_intent WHERE next_attempt_at IS NOT NULL)"
_NOT_ACCEPTED: Final = "SELECT count(*) FROM notifyops_private.notifications_intent WHERE state <> 'accepted'"
_names: Final[Iterator[int]] = itertools.count(1)


def without_delay(stage: Stage, report: Report) -> None:
    """Measure one loop and two at a provider that answers at once, each beside the bare loop."""
    count = stage.sized(20_000, 8_000)
    ones, twos, bares = [], [], []
    for _ in range(stage.runs):
        ones.append(sample(stage, count, loops=1, in_flight=IN_FLIGHT))
        bares.append(bare.sample(stage, count, loops=1, in_flight=IN_FLIGHT))
        twos.append(sample(stage, count, loops=2, in_flight=IN_FLIGHT))
    bare_cpu, bare_wal = median([one.cpu_per_1000 for one in bares]), median([one.wal_each for one in bares])
    report.add(
        Figure("one loop ÷ bare loop", "", _ratios(ones, bares), Goal(0.65, floor=True), "same minutes, 16 in flight"),
        Figure("one loop, 0 ms, 16 in flight", "/s", _rates(ones), None, "full log, chain, fences, in qcluster"),
        Figure("bare loop, 0 ms, 16 in flight", "/s", _rates(bares), None, "leases, start and finish rows only"),
        Figure("two loops ÷ one", "", _ratios(twos, ones), Goal(1.25, floor=True), f"{shown(median(_rates(twos)))}/s"),
        Figure(
            "CPU per 1,000 deliveries",
            "s",
            tuple(one.cpu_per_1000 for one in ones),
            Goal(0.25),
            f"cluster and database; bare {shown(bare_cpu)}",
        ),
        Figure(
            "WAL per delivery",
            "kB",
            tuple(one.wal_each / 1000 for one in ones),
            Goal(3.5),
            f"bare {shown(bare_wal / 1000)}",
        ),
    )


def with_delay(stage: Stage, report: Report) -> None:
    """Measure how much of what a slow provider allows is used: in-flight ÷ latency is all of it."""
    delay_ms, rounds = 50, stage.sized(100, 40)
    goals = {16: 0.94, 64: 0.92, 256: 0.88}
    samples: dict[int, list[Sample]] = {in_flight: [] for in_flight in goals}
    for _ in range(stage.runs):
        for in_flight, found in samples.items():
            found.append(sample(stage, in_flight * rounds, loops=1, in_flight=in_flight, delay_ms=delay_ms))
    for in_flight, found in samples.items():
        most = in_flight / (delay_ms / 1000)
        shares = tuple(one.rate / most for one in found)
        beside = f"{shown(median(_rates(found)))}/s of {shown(most)}"
        report.add(
            Figure(f"50 ms, {in_flight} in flight: share used", "", shares, Goal(goals[in_flight], floor=True), beside)
        )


def sample(stage: Stage, count: int, *, loops: int, in_flight: int, delay_ms: int = 0) -> Sample:
    """Deliver a backlog of `count` with a cluster that was already running, and give what it took."""
    stage.ask_provider(f"/reset?delay_ms={delay_ms}")
    with stage.owner() as owner:
        rows.clear(owner)
        rows.hold(owner)
        rows.add_backlog(owner, f"run{next(_names)}", count)
        rows.settle(owner)
        with stage.cluster(loops=loops, in_flight=in_flight) as cluster:
            window = Window(owner, stage.postgres.pid, cluster.pid)
            rows.release(owner)
            _delivered(stage, owner, cluster, count)
            used = window.close()
        _judge(stage, owner, count)
        return told(used, count=count, row=owner.execute(_SPAN).fetchone(), expected=2 * count, what="the cluster")


def _delivered(stage: Stage, owner: psycopg.Connection[Any], cluster: Child, count: int) -> None:
    """Wait until the provider has all, and then until all is recorded."""
    ends_at = time.monotonic() + 30 + count / SLOWEST_RATE
    while stage.ask_provider("/stats")["unique"] < count or _any(owner, _OPEN):
        if children.has_ended(cluster.pid) or time.monotonic() > ends_at:
            raise BenchFailed(f"the cluster did not deliver {count}; its log: {tail(cluster.command.log)}")
        time.sleep(0.1)


def _judge(stage: Stage, owner: psycopg.Connection[Any], count: int) -> None:
    """A rate counts only where each message went out exactly as often as it should."""
    stats = stage.ask_provider("/stats")
    left = owner.execute(_NOT_ACCEPTED).fetchone()
    if stats["requests"] != count or left is None or left[0]:
        raise BenchFailed(f"{count} were owed, the provider got {stats['requests']}, and {left} are not accepted")


def _any(owner: psycopg.Connection[Any], question: str) -> bool:
    row = owner.execute(question.encode()).fetchone()
    return bool(row and row[0])


def _rates(samples: list[Sample]) -> tuple[float, ...]:
    return tuple(one.rate for one in samples)


def _ratios(ours: list[Sample], theirs: list[Sample]) -> tuple[float, ...]:
    """Divide run by run: what disturbs the machine for minutes disturbs both."""
    return tuple(one.rate / other.rate for one, other in zip(ours, theirs, strict=True))
