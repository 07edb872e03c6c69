"""How many calls one endpoint may hold open: a slow one must not take all the places that the others need."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

# A call that lasts longer makes its endpoint a slow one; a receiver should only store what it gets, and answer.
SLOW_S: Final = 1.0
# Calls that last longer may be about to: further ones of the same endpoint wait, as long as a call may be quick.
STALLED_S: Final = 0.25
# Names whose slowness is remembered; what is forgotten is found out again by at most one loop's calls.
REMEMBERED: Final = 10_000


@dataclass(slots=True)
class _Place:
    """Its calls in flight, by when each began; whether its last one that ended was slow; and the next end of one."""

    began: list[float] = field(default_factory=list)
    is_slow: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def lasting(self, now: float, longer_s: float) -> int:
        """Count the calls that have lasted so long."""
        return sum(now - began >= longer_s for began in self.began)


class Crowd:
    """Counts the calls in flight under each name: an endpoint, or a host.

    What is slow gets `most` places. What is quick is never held back, however many messages it gets. `remembers`: its
    last call tells of the next one; of a host, whose endpoints differ, only the calls that last now tell anything.
    """

    def __init__(self, monotonic: Callable[[], float], most: int, *, remembers: bool = True) -> None:
        self._monotonic = monotonic
        self._most = most
        self._remembers = remembers
        self._known: OrderedDict[str, _Place] = OrderedDict()

    @asynccontextmanager
    async def place(self, name: str) -> AsyncIterator[bool]:
        """Hold one place for the time of a call, and note how long that took; False where there is none to have.

        It may take SLOW_S to know, where some calls of the name have begun to last.
        """
        place = self._known.setdefault(name, _Place())
        self._known.move_to_end(name)
        if not await self._may_begin(place):
            yield False
            return
        began = self._monotonic()
        place.began.append(began)
        try:
            yield True
        finally:
            place.began.remove(began)
            place.is_slow = self._remembers and self._monotonic() - began >= SLOW_S
            place.ended.set()
            place.ended = asyncio.Event()
            if not (place.began or place.is_slow):
                self._known.pop(name, None)
            self._forget()

    async def _may_begin(self, place: _Place) -> bool:
        """Wait for the end of a call while it is open whether they are slow; say whether one more may begin."""
        ends_at = self._monotonic() + SLOW_S
        while len(place.began) >= self._most:
            now = self._monotonic()
            if place.is_slow or now >= ends_at or place.lasting(now, SLOW_S) >= self._most:
                return False
            if place.lasting(now, STALLED_S) < self._most:
                return True
            with suppress(TimeoutError):
                await asyncio.wait_for(place.ended.wait(), min(STALLED_S, ends_at - now))
        return True

    def _forget(self) -> None:
        """Let those go that were called the longest time ago; never one that is being called."""
        while len(self._known) > REMEMBERED and not next(iter(self._known.values())).began:
            self._known.popitem(last=False)
