"""A bounded number of tasks over two queues: what happens now is told now, however much waits behind it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Work = TypeVar("Work")
# One turn in so many goes to what has waited longest; the others go to the newest.
TURNS = 4


class Posters(Generic[Work]):
    """Carry out work, at most `most` at once, in tasks of the event loop that `put` is called on.

    After a burst of 100,000 messages a task for each would take seconds to cancel, and a message that comes now would
    wait for all of them. So the newest goes first, and one turn in four serves the old: those that are tried again, in
    the order in which they fell due, then the longest waiting.
    """

    def __init__(self, carry: Callable[[Work], Awaitable[None]], most: int) -> None:
        self._carry = carry
        self._most = most
        self._fresh: deque[Work] = deque()
        self._again: deque[Work] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._turn = 0
        self._is_stopped = False

    def put(self, work: Work, wait_s: float = 0.0, *, again: bool = False) -> None:
        """Take on some work, due in so many seconds; `again` where it was tried before."""
        queue = self._again if again else self._fresh
        if wait_s > 0:
            # Event loops refuse very long timers; nothing here waits longer than the knobs allow.
            asyncio.get_running_loop().call_later(min(wait_s, 10.0**8), self._ready, work, queue)
        else:
            self._ready(work, queue)

    def stop(self) -> None:
        """End at once; what waits, and what is under way, is dropped."""
        self._is_stopped = True
        self._fresh.clear()
        self._again.clear()
        for task in self._tasks:
            task.cancel()

    def _ready(self, work: Work, queue: deque[Work]) -> None:
        if self._is_stopped:
            return
        queue.append(work)
        if len(self._tasks) < self._most:
            task = asyncio.get_running_loop().create_task(self._run())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(self) -> None:
        while self._fresh or self._again:
            await self._carry(self._next())

    def _next(self) -> Work:
        self._turn = (self._turn + 1) % TURNS
        if self._turn == 0:
            return (self._again or self._fresh).popleft()
        return self._fresh.pop() if self._fresh else self._again.popleft()
