"""A clock that can be moved, and the things that fall due on it."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache


class Clock:
    """Tell the account's time and run what falls due by it; `advance` moves the time and what it makes due."""

    def __init__(self) -> None:
        self.offset_s = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._number = itertools.count()
        self._timer: asyncio.TimerHandle | None = None

    def now_s(self) -> float:
        return time.time() + self.offset_s

    def advance(self, seconds: float) -> None:
        self.offset_s += seconds
        self._run_due()

    def at(self, when_s: float, action: Callable[[], None]) -> None:
        """Run the action once the clock shows `when_s`; never before the caller has returned to the event loop."""
        heapq.heappush(self._due, (when_s, next(self._number), action))
        # Only a new earliest entry needs another timer: 3,000 sends a second would otherwise set as many.
        if self._due[0][0] == when_s:
            self._arm()

    def clear(self) -> None:
        self._due.clear()
        self._arm()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._due:
            wait_s = max(0.0, self._due[0][0] - self.now_s())
            # Timers beyond a day are set again then; event loops refuse very long ones.
            self._timer = asyncio.get_running_loop().call_later(min(wait_s, 86_400.0), self._run_due)

    def _run_due(self) -> None:
        now_s = self.now_s()
        try:
            while self._due and self._due[0][0] <= now_s:
                heapq.heappop(self._due)[2]()
        finally:
            # One action that fails, for want of disk, must not stop the clock for all others.
            self._arm()


@lru_cache(maxsize=64)
def _second(whole_s: int) -> str:
    return datetime.fromtimestamp(whole_s, UTC).strftime("%Y-%m-%d %H:%M:%S")


@lru_cache(maxsize=64)
def _day(number: int) -> str:
    return datetime.fromtimestamp(number * 86_400, UTC).date().isoformat()


def day_of(at_s: float) -> str:
    """Give the UTC day, as `2026-04-03`."""
    return _day(int(at_s // 86_400))


def postgres_form(at_s: float) -> str:
    """Write a time as GET /emails does: `2026-04-03 22:13:42.674981+00`.

    Source: resend-node 6.38 recorded answers (also seen: ISO 8601).
    """
    whole_s = int(at_s)
    return f"{_second(whole_s)}.{int((at_s - whole_s) * 1_000_000):06d}+00"


def iso_form(at_s: float) -> str:
    """Write a time as webhook events do: `2026-04-03T22:13:42.674Z`."""
    whole_s = int(at_s)
    return f"{_second(whole_s).replace(' ', 'T')}.{int((at_s - whole_s) * 1_000):03d}Z"
