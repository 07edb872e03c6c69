"""An event loop without sockets and without time of its own: whenever nothing is ready, the scheduler moves the world.

Production code that waits (events, sleeps, timeouts, tasks) runs on it unchanged, and always in the same order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, Protocol, TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Mover(Protocol):
    """What moves the world when nothing is ready: the scheduler."""

    @property
    def now(self) -> float: ...

    def move(self, until_timer_s: float | None) -> None: ...

    def started(self, task: asyncio.Task[Any], context: Any) -> None: ...


class SimulatedLoop(asyncio.BaseEventLoop):
    """Run ready callbacks; where there is none, let the mover do one thing."""

    def __init__(self, mover: Mover) -> None:
        super().__init__()
        self._mover = mover
        self._selector = self

    def time(self) -> float:
        return self._mover.now

    def select(self, timeout: float | None) -> list[Any]:
        """Stand where a selector would wait for sockets: nothing is ready, so something must happen."""
        if timeout is None or timeout > 0:
            self._mover.move(timeout)
        return []

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        """Make a task, and tell the scheduler whose it is."""
        task: asyncio.Task[Any] = super().create_task(coro, **options)
        self._mover.started(task, options.get("context"))
        return task

    def aside(self, func: Callable[[], T]) -> T:
        """Run what would be on a thread of its own, as Django's code is: it must not see a running loop."""
        asyncio._set_running_loop(None)
        try:
            return func()
        finally:
            asyncio._set_running_loop(self)

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Run it here and now: a thread would bring an order of its own."""
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(self.aside(lambda: func(*args)))
        except Exception as error:
            future.set_exception(error)
        return future

    def _process_events(self, event_list: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody sleeps in a selector that would have to be woken."""
