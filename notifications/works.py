"""Long work that a person ordered and the cluster carries out: whoever holds the chores' slot goes on with it.

An app says once what waits and how it is carried on; each piece has a thread of its own beside the other duties.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final

from django.db import connections

logger = logging.getLogger(__name__)

LOOK_EVERY_S: Final = 0.5
# Each holds a connection; what is beyond waits its turn.
AT_ONCE: Final = 4
# What has not let go by then is left alone: the other duties end, and somebody else takes the slot.
LEAVE_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class Work:
    """A kind of ordered work. `waiting` gives the numbers of what is to go on now, the oldest first.

    `carry` goes on with one of them until it ends or its second argument says that this process must let go of it;
    it looks at that at least every few seconds. Both use Django's connection, which is closed behind them.
    `shortfalls` tells of its runs, by their numbers, how many items did not come to what was ordered, by what became of
    them; of what went well, and of other kinds' runs, nothing. It may change after a run has ended.
    """

    name: str
    waiting: Callable[[], list[int]]
    carry: Callable[[int, Callable[[], bool]], None]
    shortfalls: Callable[[Sequence[int]], dict[int, dict[str, int]]] | None = None


@dataclass(frozen=True, slots=True)
class Chore:
    """A small duty of an app: one statement of SQL, run every so many seconds by whoever holds the chores' slot."""

    name: str
    every_s: float
    statement: str


WORKS: Final[dict[str, Work]] = {}
CHORES: Final[dict[str, Chore]] = {}


def register(work: Work) -> None:
    """Have the cluster carry out this kind; an app calls it when it is ready."""
    WORKS[work.name] = work


def shortfalls(run_ids: Sequence[int]) -> dict[int, dict[str, int]]:
    """Give of each of these runs what did not come to what was ordered, as its kind tells it now."""
    found: dict[int, dict[str, int]] = {}
    for work in WORKS.values():
        found |= work.shortfalls(run_ids) if work.shortfalls and run_ids else {}
    return found


def register_chore(chore: Chore) -> None:
    """Have the cluster do this duty; an app calls it when it is ready."""
    CHORES[chore.name] = chore


async def carry_on() -> None:
    """Carry out whatever waits, until cancelled; then what is under way is let go of, not finished.

    What does not let go within LEAVE_S is logged, and not waited for: its step ends with the process, undone.
    """
    leaving = threading.Event()
    busy: dict[tuple[str, int], Future[None]] = {}
    look: Future[None] | None = None
    try:
        while True:
            look = _in_thread(_begin, busy, leaving)
            await asyncio.wrap_future(look)
            await asyncio.sleep(LOOK_EVERY_S)
    finally:
        leaving.set()
        await _left(busy, look)


async def _left(busy: dict[tuple[str, int], Future[None]], look: Future[None] | None) -> None:
    """Wait until all have let go, and no longer than LEAVE_S."""
    ends_at = time.monotonic() + LEAVE_S
    while time.monotonic() < ends_at:
        if (look is None or look.done()) and all(future.done() for future in list(busy.values())):
            return
        await asyncio.sleep(0.05)
    for name, number in [key for key, future in list(busy.items()) if not future.done()]:
        words = {"action": "work_hangs", "work": name, "number": number}
        logger.error("ordered work does not let go: %s", name, extra=words)


def _in_thread(does: Callable[..., None], *given: Any) -> Future[None]:
    """Call it in a thread that holds up nobody's end."""
    future: Future[None] = Future()

    def call() -> None:
        try:
            does(*given)
            future.set_result(None)
        except BaseException as error:
            future.set_exception(error)

    future.set_running_or_notify_cancel()
    threading.Thread(target=call, name="work", daemon=True).start()
    return future


def _begin(busy: dict[tuple[str, int], Future[None]], leaving: threading.Event) -> None:
    for key in [key for key, future in busy.items() if future.done()]:
        del busy[key]
    try:
        for work in WORKS.values():
            for number in work.waiting():
                if (work.name, number) not in busy and len(busy) < AT_ONCE and not leaving.is_set():
                    busy[work.name, number] = _in_thread(_carry, work, number, leaving.is_set)
    except Exception as error:  # the database may be away: the next look finds it back
        logger.warning("ordered work not read: %s", type(error).__name__, extra={"action": "works_not_read"})
    finally:
        connections.close_all()


def _carry(work: Work, number: int, leaving: Callable[[], bool]) -> None:
    try:
        work.carry(number, leaving)
    except Exception as error:
        words = {"action": "work_failed", "work": work.name, "number": number}
        logger.exception("ordered work failed: %s", type(error).__name__, extra=words)
    finally:
        connections.close_all()
