"""How an open page of a run follows it: how often it asks, and what it is given anew."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from notifications.models import Run

WHILE_IT_RUNS_S: Final = 2
AFTERWARDS_S: Final = 10
# The receiving servers' word comes within minutes, or is no matter of the run any more.
_RECEIPTS: Final = timedelta(hours=1)
_RESTS: Final = ("paused", "interrupted", "failed")


def every_s(run: Run, counts: Mapping[str, int], now: datetime) -> int:
    """Give how many seconds a page waits before it asks anew; 0 where nothing more is to be expected."""
    if run.state == "running":
        return WHILE_IT_RUNS_S
    if counts.get("released") or (run.state in _RESTS and counts.get("left")):
        return AFTERWARDS_S
    waits = counts.get("accepted") and run.ended_at is not None and now - run.ended_at < _RECEIPTS
    return AFTERWARDS_S if waits else 0


def mark(run: Run, counts: Mapping[str, int]) -> str:
    """Give what a page shows, so that its next question can say it: the run's state, and a digest of its numbers."""
    numbers = f"{run.wish} {sorted(counts.items())}"
    return f"{run.state}-{zlib.crc32(numbers.encode()):x}"


def is_progress_alone(run: Run, shown: str) -> bool:
    """Tell whether only the progress is given anew: nothing that somebody reads or uses moves while a run goes on."""
    return run.state == "running" and shown.startswith("running-")
