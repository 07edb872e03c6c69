"""What a claim costs beside many kept rows, with nothing due, and beside a transaction that stays open."""

from __future__ import annotations

import json
import shutil
import time
from typing import Any, Final

from bench import rows
from bench.figures import Figure, Goal, Report, median, shown
from bench.stage import BenchFailed, Stage

# Generated in steps, so that no statement runs for minutes and a full disk is seen in time.
STEP: Final = 250_000
# A kept intent with its indexes takes about 600 bytes, and its write-ahead log as much again.
BYTES_EACH: Final = 1_500


def measure(stage: Stage, report: Report) -> None:
    """Measure at 1 million rows and, unless quick, at 10 million; then beside a long transaction."""
    with stage.owner() as owner:
        rows.clear(owner)
        rows.release(owner)
    kept = 0
    for size in (1_000_000,) if stage.quick else (1_000_000, 10_000_000):
        speed = _grow(stage, kept, size)
        kept = size
        found = [_claims(stage, f"kept{size}-{run}", due=1000) for run in range(stage.runs)]
        whole = tuple(median(one["claim_ms"]) for one in found)
        pick = median([ms for one in found for ms in one["pick_ms"]])
        name = f"{size // 1_000_000} M rows"
        report.add(
            Figure(f"claim of 50 at {name}", "ms", whole, Goal(3), f"pick alone {shown(pick)} ms; 1,000 due"),
            Figure(f"empty poll at {name}", "ms", tuple(median(one["empty_ms"]) for one in found), Goal(0.3), ""),
            Figure(f"generation up to {name}", "rows/s", (speed,), None, "kept rows, not intake"),
        )
    due = stage.sized(20_000, 4_000)
    with stage.owner() as other:
        other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT count(*) FROM notifyops_private.notifications_provideraccount")
        aged = _claims(stage, "long", due=due)["claim_ms"]
    tenth = len(aged) // 10
    growth = median(aged[-tenth:]) / median(aged[:tenth])
    beside = f"{shown(median(aged[:tenth]))} → {shown(median(aged[-tenth:]))} ms a claim"
    report.add(Figure(f"last ÷ first of {due:,} claims beside a long transaction", "", (growth,), Goal(2), beside))


def _grow(stage: Stage, have: int, want: int) -> float:
    """Add kept rows; give how many a second."""
    free, need = shutil.disk_usage(stage.home).free, (want - have) * BYTES_EACH
    if free < need:
        raise BenchFailed(
            f"{want:,} rows need {need / 1e9:.0f} GB and {stage.home.parent} has {free / 1e9:.0f}: set TMPDIR to "
            f"another disk, or use --quick"
        )
    began = time.monotonic()
    with stage.owner() as owner:
        for first in range(have + 1, want + 1, STEP):
            rows.add_kept(owner, first, min(STEP, want - first + 1))
        took_s = time.monotonic() - began
        rows.settle(owner)
    return (want - have) / took_s


def _claims(stage: Stage, run: str, *, due: int) -> dict[str, Any]:
    """Let a process of its own claim all that is due, fifty at a time, as a loop does; give its times."""
    with stage.owner() as owner:
        rows.add_backlog(owner, run, due)
        owner.execute("ANALYZE notifyops_private.notifications_intent")
    # The leases outlive the measurement: what was claimed must not come due again in it.
    env = stage.env("worker", NOTIFYOPS_LEASE_S=3600)
    found: dict[str, Any] = json.loads(
        stage.run(
            (
                "-m",
                "bench.claimer",
            ),
            env,
        )
    )
    if found["claimed"] != due:
        raise BenchFailed(f"{due} were due and {found['claimed']} were claimed")
    return found
