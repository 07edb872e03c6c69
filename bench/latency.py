"""How long a notification waits between its enqueue and the provider, and what a cluster costs that waits."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator
from typing import Final

import psycopg

from bench import rows
from bench.figures import Figure, Goal, Report
from bench.stage import BenchFailed, Stage
from bench.usage import cpu_s
from notifyops.children import Child

RATE: Final = 50
# The gate of the intake's NOTIFY (sql/enqueue_v1.sql): whoever holds it keeps all others from waking the loops.
WAKE_GATE: Final = (7802, 1)
_ENQUEUE: Final = "SELECT id FROM notifyops.enqueue('report_ready', %s, 'ana@example.com', '{\"title\": \"Figures\"}')"
_names: Final[Iterator[int]] = itertools.count(1)


def measure(stage: Stage, report: Report) -> None:
    """Measure with wake-ups and with the poll alone, in turn, and then the same cluster idle."""
    woken: list[list[float]] = []
    polled: list[list[float]] = []
    with stage.owner() as owner:
        rows.clear(owner)
        rows.release(owner)
        stage.ask_provider("/reset?delay_ms=0")
        with stage.cluster(loops=1, in_flight=16) as cluster:
            _waits_ms(stage, 25)  # the first claims of a process read templates and plan
            for _ in range(stage.runs):
                woken.append(_waits_ms(stage, stage.sized(500, 200)))
                with _without_wake_ups(stage):
                    polled.append(_waits_ms(stage, stage.sized(250, 100)))
            idle = [_idle(stage, cluster) for _ in range(stage.runs)]
    report.add(
        Figure("enqueue → provider at 50/s, p50", "ms", _percentiles(woken, 50), Goal(5), "commit included"),
        Figure("enqueue → provider at 50/s, p95", "ms", _percentiles(woken, 95), Goal(15), "commit included"),
        Figure("the same by poll alone, p95", "ms", _percentiles(polled, 95), Goal(300), "no wake-ups"),
        Figure("idle cluster, share of a core", "%", tuple(one[0] for one in idle), Goal(0.5), "all its processes"),
        Figure("database beside it", "%", tuple(one[1] for one in idle), None, "all its processes"),
    )


def _waits_ms(stage: Stage, count: int) -> list[float]:
    """Enqueue at an even pace; give how long each took to reach the provider, from before its transaction."""
    run, began = f"latency{next(_names)}", {}
    with psycopg.connect(stage.urls["writer"], autocommit=True, prepare_threshold=0) as writer:
        start = time.monotonic()
        for number in range(count):
            time.sleep(max(0.0, start + number / RATE - time.monotonic()))
            key = f"{run}-{number}"
            began[f"report-ready/{key}"] = time.monotonic()
            writer.execute(_ENQUEUE, (key,))
    ends_at = time.monotonic() + 15
    while time.monotonic() < ends_at:
        arrivals = stage.ask_provider("/arrivals")
        if began.keys() <= arrivals.keys():
            return [(arrivals[key] - at) * 1000 for key, at in began.items()]
        time.sleep(0.1)
    raise BenchFailed(f"{len(began.keys() - arrivals.keys())} of {count} did not reach the provider within 15 s")


@contextlib.contextmanager
def _without_wake_ups(stage: Stage) -> Iterator[None]:
    with stage.owner() as other:
        other.execute("SELECT pg_advisory_lock(%s, %s)", WAKE_GATE)
        yield


def _idle(stage: Stage, cluster: Child) -> tuple[float, float]:
    """Give the share of a core, in percent, that the cluster and the database use while nothing is due."""
    lasts_s = stage.sized(20, 8)
    before, began = (cpu_s(cluster.pid), cpu_s(stage.postgres.pid)), time.monotonic()
    time.sleep(lasts_s)
    spent_s = time.monotonic() - began
    return (
        (cpu_s(cluster.pid) - before[0]) / spent_s * 100,
        (cpu_s(stage.postgres.pid) - before[1]) / spent_s * 100,
    )


def _percentiles(runs: list[list[float]], percent: int) -> tuple[float, ...]:
    """Give each run's percentile, by the nearest rank."""
    return tuple(sorted(run)[max(0, -(-len(run) * percent // 100) - 1)] for run in runs)
