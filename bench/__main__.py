"""`python -m bench [--json FILE] [--quick] [--guard] [NAMES…]`: measure, and print a table."""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final

from bench import (
    api,
    bulk,
    channels,
    claims,
    console,
    deliveries,
    evidence,
    hooks,
    intake,
    latency,
    outage,
    races,
    receipts,
)
from bench.figures import Report
from bench.stage import BenchFailed, Stage, raised
from notifyops.env import BadValue

MEASUREMENTS: Final[dict[str, Callable[[Stage, Report], None]]] = {
    "loop": deliveries.without_delay,
    "delay": deliveries.with_delay,
    "intake": intake.measure,
    "latency": latency.measure,
    "claim": claims.measure,
    "receipts": receipts.measure,
    "evidence": evidence.measure,
    "outage": outage.measure,
    "api": api.measure,
    "bulk": bulk.measure,
    "races": races.measure,
    "console": console.measure,
    "hooks": hooks.measure,
    "channels": channels.measure,
}
# What a change must not undo, whatever the machine: half of the bare loop.
GUARDED: Final = 0.5


def main(argv: list[str]) -> int:
    """Measure what is named, or everything; give the exit code."""
    wanted = _parsed(argv)
    signal.signal(signal.SIGTERM, _leave)
    report = Report(_machine(), say=_say)
    began = time.monotonic()
    try:
        with raised(quick=wanted.quick, say=_say) as stage:
            for name in wanted.names or MEASUREMENTS:
                _say(f"measuring {name} …")
                MEASUREMENTS[name](stage, report)
    except (BenchFailed, BadValue) as failure:
        _say(f"bench: failed: {failure}")
        return 1
    except KeyboardInterrupt:
        _say("bench: stopped; everything that it started has ended")
        return 130
    if wanted.json:
        report.write(wanted.json)
    _say(f"\n{report.table()}\n\n{_told(report.machine)}; {time.monotonic() - began:.0f} s in all")
    _say(report.result())
    return 1 if wanted.guard and _ratio(report) < GUARDED else 0


def _parsed(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure the product on this machine.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to measure: {', '.join(MEASUREMENTS)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every sample to FILE")
    parser.add_argument("--quick", action="store_true", help="one run of each, smaller: two minutes instead of fifteen")
    parser.add_argument(
        "--guard", action="store_true", help=f"exit 1 where the loop is below {GUARDED:.0%} of the bare one"
    )
    found = parser.parse_args(argv)
    unknown = [name for name in found.names if name not in MEASUREMENTS]
    if unknown:
        parser.error(f"{unknown[0]!r} is not measured: choose from {', '.join(MEASUREMENTS)}")
    if found.guard and found.names and "loop" not in found.names:
        parser.error("--guard judges the measurement `loop`: name it too")
    if found.json and not found.json.resolve().parent.is_dir():
        parser.error(f"--json: the directory of {found.json} does not exist")
    return found


def _ratio(report: Report) -> float:
    return next(figure.value for figure in report.figures if figure.name.startswith("one loop ÷"))


def _machine() -> dict[str, object]:
    return {
        "cpus": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _told(machine: dict[str, object]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in machine.items())


def _leave(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _say(line: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
