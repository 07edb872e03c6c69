"""The outage drill: a provider that is away for ten minutes while 100,000 wait, and what it costs them.

Time is compressed sixty times: the outage lasts ten seconds, the breaker's first wait half a second and its longest
ten, the ladder one second and five. The clock, the cluster, the database and every call are real.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from bench import rows
from bench.figures import Figure, Goal, Report, median, shown
from bench.rows import Owner
from bench.stage import BenchFailed, Stage, tail
from notifyops import children
from notifyops.children import Child

COMPRESSED: Final = 60
OUTAGE_S: Final = 600 / COMPRESSED
LOOPS: Final = 2
IN_FLIGHT: Final = 16
RESERVE: Final = IN_FLIGHT // 8
SETTINGS: Final[dict[str, str | int]] = {"NOTIFYOPS_BREAKER_COOLDOWN_S": "0.5", "NOTIFYOPS_RETRY_DELAYS_S": "1,5"}
_RATE: Final = "UPDATE notifyops_private.notifications_provideraccount SET rate_per_s = %s"
_BURNED: Final = """
SELECT count(*) FILTER (WHERE state = 'needs_review'), max(failure_count), count(*) FILTER (WHERE failure_count > 0),
    count(*) FILTER (WHERE state <> 'accepted')
FROM notifyops_private.notifications_intent
"""
# The rate is that after the slow beginning, which takes eight seconds.
_DRAINED: Final = """
WITH accepted AS (
    SELECT at, min(at) OVER () AS first_at FROM notifyops_private.notifications_logentry
    WHERE kind = 'result' AND outcome = 'accepted'
)
SELECT count(*), extract(epoch FROM min(first_at))::float8,
    count(*) FILTER (WHERE at > first_at + interval '9 s')::float8
        / nullif(extract(epoch FROM max(at) - min(first_at) - interval '9 s')::float8, 0)
FROM accepted
"""
_OPEN: Final = "SELECT EXISTS (SELECT FROM notifyops_private.notifications_intent WHERE next_attempt_at IS NOT NULL)"


@dataclass(frozen=True, slots=True)
class Drill:
    """What one drill gave; `refused` are the calls that were made while the provider was away."""

    refused: int
    failed: int
    most_failures: int
    returned_s: float
    rate: float


def measure(stage: Stage, report: Report) -> None:
    """Play the drill; every message must be accepted exactly once, and none may end with a person."""
    count, per_s = stage.sized(100_000, 10_000), stage.sized(1000, 500)
    found = [_drill(stage, count, per_s) for _ in range(stage.runs)]
    first_wave = LOOPS * (IN_FLIGHT + RESERVE)
    took = f"{OUTAGE_S:.0f} s stand for 10 min, {count:,} waiting"
    burned = tuple(float(one.most_failures) for one in found)
    report.add(
        Figure(
            "outage drill: calls while it lasted",
            "",
            tuple(float(one.refused) for one in found),
            Goal(first_wave + 20),
            f"{took}; {first_wave} may be under way when it begins, the rest are probes",
        ),
        Figure(
            "outage drill: most failures of one message",
            "",
            burned,
            Goal(1),
            f"{shown(median([float(one.failed) for one in found]))} of {count:,} have one; none went to a person",
        ),
        Figure(
            "outage drill: drained ÷ the account's rate",
            "",
            tuple(one.rate / per_s for one in found),
            Goal(0.85, floor=True),
            f"{shown(median([one.rate for one in found]))}/s of {per_s:,}/s, after the slow beginning",
        ),
        Figure(
            "outage drill: return to first acceptance",
            "s",
            tuple(one.returned_s for one in found),
            Goal(OUTAGE_S * 1.2 + 1),
            "one wait of the breaker, compressed",
        ),
    )


def _drill(stage: Stage, count: int, per_s: int) -> Drill:
    stage.ask_provider("/reset?down=1")
    with stage.owner() as owner:
        _forget(owner)
        rows.clear(owner)
        rows.hold(owner)
        rows.add_backlog(owner, f"outage{time.monotonic_ns()}", count)
        rows.settle(owner)
        owner.execute(_RATE, (per_s,))
        try:
            with stage.cluster(loops=LOOPS, in_flight=IN_FLIGHT, **SETTINGS) as cluster:
                rows.release(owner)
                time.sleep(OUTAGE_S)
                returned_at = time.time()
                refused = int(stage.ask_provider("/up")["refused"])
                _delivered(stage, owner, cluster, count, per_s)
            return _judged(stage, owner, count, (refused, returned_at))
        finally:
            owner.execute(_RATE, (None,))
            _forget(owner)


def _judged(stage: Stage, owner: Owner, count: int, during: tuple[int, float]) -> Drill:
    refused, returned_at = during
    stats = stage.ask_provider("/stats")
    in_review, most, failed, left = owner.execute(_BURNED).fetchone() or (1, 0, 0, 1)
    if in_review or left or stats["unique"] != count or stats["requests"] != count:
        raise BenchFailed(f"{count} were owed; {in_review} ended with a person, {left} are not accepted: {stats}")
    accepted, first_at, rate = owner.execute(_DRAINED).fetchone() or (0, 0.0, None)
    if accepted != count or not rate:
        raise BenchFailed(f"{count} were owed and the log holds {accepted} acceptances, at {rate} a second")
    return Drill(refused, failed, most, first_at - returned_at, rate)


def _delivered(stage: Stage, owner: Owner, cluster: Child, count: int, per_s: int) -> None:
    # At half the account's rate it has missed its goal anyhow: three whole runs end within a quarter of an hour.
    ends_at = time.monotonic() + 60 + 2 * count / per_s
    while stage.ask_provider("/stats")["unique"] < count or _any(owner):
        if children.has_ended(cluster.pid) or time.monotonic() > ends_at:
            raise BenchFailed(f"the cluster did not drain {count}; its log: {tail(cluster.command.log)}")
        time.sleep(0.2)


def _any(owner: Owner) -> bool:
    row = owner.execute(_OPEN).fetchone()
    return bool(row and row[0])


def _forget(owner: Owner) -> None:
    """Take back what the drill, or a run before it, left of the account's state."""
    owner.execute("DELETE FROM notifyops_private.notifications_circuit")
    owner.execute("DELETE FROM notifyops_private.notifications_ratebucket")
