"""Reading calls that leave the account's rate to its sending: paced, bounded in time, and shy of the limit."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from yarl import URL

from notifications.providers.base import LookupBudget
from notifications.providers.http import Answer, Failure, Transport

# A reset header beyond the strictest published window is no reason to stand still.
_LONGEST_RESET_S: Final = 2.0
_TRIES: Final = 3
CONNECTIONS: Final = 4


class Calls:
    """The calls of one look-up. After a 429 no further one is made."""

    def __init__(self, transport: Transport, budget: LookupBudget, timeout_s: float) -> None:
        self._transport = transport
        self._timeout_s = timeout_s
        self._interval_s = 0.0 if budget.per_s is None else 1.0 / budget.per_s
        self._ends_at = time.monotonic() + budget.seconds
        self._free_at = 0.0
        self._room = asyncio.Semaphore(CONNECTIONS)
        self.limited: Answer | None = None

    async def get(self, url: URL, limit: int) -> Answer | Failure | None:
        """Read once it is our turn; None where the look-up's time is over. A lost answer is asked for again."""
        answer: Answer | Failure = Failure(handed=False, code="not_sent.internal_error")
        async with self._room:
            for _ in range(_TRIES):
                if not await self._turn():
                    return None
                if self.limited is not None:
                    return self.limited
                answer = await self._transport.get(url, timeout_s=self._timeout_s, limit=limit)
                if isinstance(answer, Answer):
                    self._mind(answer)
                    if answer.status < 500:
                        break
        return answer

    async def _turn(self) -> bool:
        """Wait for our turn; the wait may grow while we wait, by what another call is answered."""
        while (wait_s := self._free_at - time.monotonic()) > 0:
            if self._free_at >= self._ends_at:
                return False
            await asyncio.sleep(wait_s)
        now = time.monotonic()
        self._free_at = max(now, self._free_at) + self._interval_s
        return now < self._ends_at

    def _mind(self, answer: Answer) -> None:
        """Leave at least half of the account's window to those who send."""
        if answer.status == 429:
            self.limited = answer
        limit, left, reset_s = (_number(answer, name) for name in ("limit", "remaining", "reset"))
        if limit is not None and left is not None and 2 * left < limit:
            wait_s = min(reset_s if reset_s is not None else 1, _LONGEST_RESET_S)
            self._free_at = max(self._free_at, time.monotonic() + wait_s)


def _number(answer: Answer, name: str) -> int | None:
    text = answer.headers.get(f"ratelimit-{name}", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
