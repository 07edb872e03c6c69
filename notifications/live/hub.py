"""One reader for all live streams of a process: it looks once a second, and only while somebody listens.

No stream has a connection to the database: the hub borrows one for each look. What it hands out are hints (ids,
versions, states, codes, counters); whoever gets one asks for the page itself, where permissions are judged.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import signal
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from django.db import Error, connections

from notifications.live.seats import Seat, Seats

log: Final = logging.getLogger(__name__)
# What a browser that lost its connection for some minutes may still ask for; behind it, it is told that it missed some.
KEPT: Final = 512
# For each look; and how long the hub looks on for nobody, since people go from page to page.
LOOK_S: Final = 1.0
LINGER_S: Final = 20.0
# A database that is away is asked this often; a stream is told after the second try.
AWAY_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class News:
    """Something new, as a source found it. `data` is one line of JSON; newcomers get the last one that `is_state`."""

    topic: str
    name: str
    data: str
    is_state: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """News with its place in the order of this process."""

    number: int
    news: News


class Source(Protocol):
    """Where news comes from. One is made each time that the hub begins to look; one thread calls it at a time."""

    def read(self) -> Iterable[News]:
        """Give what is new since the last call; the first one may only note where it begins."""


class Ending(Exception):
    """The process ends: no new stream begins."""


class Hub:
    """What all streams of a process share. Its methods belong to the event loop, but `mark`, `place` and `seat`."""

    def __init__(self, seats: Seats | None = None, *, look_s: float = LOOK_S) -> None:
        # Browsers open six connections to a host at most, where they do not speak HTTP/2: five leave one for the pages.
        self.seats, self.look_s = seats or Seats(most=200, most_each=5), look_s
        self.is_ending = False
        self._makers: list[Callable[[], Source]] = []
        # A mark of another process, or of one that lived before, must never be taken for ours.
        self._life = secrets.token_hex(4)
        self._last = 0
        # From this number on nothing was missed: before it the hub was not looking.
        self._since = 0
        self._is_looking = False
        self._events = deque[Event](maxlen=KEPT)
        self._states: dict[str, News] = {}
        self._news: asyncio.Event | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_tied = False

    def read_from(self, maker: Callable[[], Source]) -> None:
        """Add a source; once for each, when the process begins."""
        self._makers.append(maker)

    def mark(self) -> str:
        """Give the place to go on from, for a page that is read after this call; empty while the hub does not look."""
        return f"{self._life}-{self._last}" if self._is_looking else ""

    def place(self, mark: str) -> int:
        """Give the number that a mark stands for; -1 for one that is none of this process."""
        life, _, number = mark.partition("-")
        is_ours = life == self._life and number.isascii() and number.isdigit() and len(number) < 16
        return int(number) if is_ours else -1

    def mark_of(self, event: Event) -> str:
        """Give the mark behind an event."""
        return f"{self._life}-{event.number}"

    def seat(self, whose: str) -> Seat:
        """Take a place for a stream. Raises Full and Ending."""
        if self.is_ending:
            raise Ending
        return self.seats.take(whose)

    def since(self, place: int, topics: Collection[str]) -> tuple[list[Event], int, bool]:
        """Give the events of these topics behind a place, the new place, and whether some may have been missed.

        Before the first look nothing is known yet: whoever listens by then is told behind it.
        """
        oldest = self._events[0].number if self._events else self._last + 1
        is_behind = place < self._since or place + 1 < oldest or place > self._last
        has_missed = self._is_looking and is_behind
        found = [event for event in self._events if event.number > place and event.news.topic in topics]
        return found, self._last, has_missed

    def states(self, topics: Collection[str]) -> list[News]:
        """Give the last word of what has a state."""
        return [news for news in self._states.values() if news.topic in topics]

    async def wait(self, place: int, within_s: float) -> None:
        """Wait until there is something behind the place, the process ends, or the time is over."""
        if self._last > place or self.is_ending or self._news is None:
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), max(within_s, 0))

    def begin(self) -> None:
        """Look for news from now on, if nobody does; called in the event loop."""
        loop = asyncio.get_running_loop()
        if self._task is not None and not self._task.done() and self._task.get_loop() is loop:
            return
        self._news, self._is_looking = asyncio.Event(), False
        self._task = loop.create_task(self._look())
        self._tie(loop)

    def end(self) -> None:
        """Let every stream end now; called in the event loop."""
        self.is_ending = True
        self._wake()

    def publish(self, found: Iterable[News]) -> None:
        """Hand out what was found; called in the event loop."""
        before = self._last
        for news in found:
            if news.is_state:
                if self._states.get(news.name) == news:
                    continue
                self._states[news.name] = news
            self._last += 1
            self._events.append(Event(self._last, news))
        if self._last > before:
            self._wake()

    def _wake(self) -> None:
        # Who waits has hold of the old one; whoever comes then waits for the next.
        before, self._news = self._news, asyncio.Event()
        if before is not None:
            before.set()

    async def _look(self) -> None:
        sources = [make() for make in self._makers]
        loop = asyncio.get_running_loop()
        quiet_at, failures = loop.time(), 0
        try:
            while not self.is_ending:
                failures = 0 if await self._read(sources) else failures + 1
                if not failures and not self._is_looking:
                    self._began()
                if failures != 1:
                    self.publish([News("site", "database", "false" if failures else "true", is_state=True)])
                quiet_at = loop.time() if self.seats.count else quiet_at
                if loop.time() - quiet_at > LINGER_S:
                    return
                await asyncio.sleep(AWAY_S if failures else self.look_s)
        except Exception:
            # Streams go on as heartbeats; their pages ask by themselves, and the next stream begins anew.
            log.exception("the live pages' reader failed")
        finally:
            self._is_looking = False

    def _began(self) -> None:
        """Begin behind the first look, which only notes where it stands: what came until then nobody was told.

        A number of its own: every mark and every stream of before must be behind it, and so asks for itself.
        """
        self._last += 1
        self._since, self._is_looking = self._last, True
        self._wake()

    async def _read(self, sources: list[Source]) -> bool:
        try:
            self.publish(await asyncio.to_thread(_read_all, sources))
        except Error:
            return False
        return True

    def _tie(self, loop: asyncio.AbstractEventLoop) -> None:
        """Hear of the process's end before its server does: a server waits for open answers, and these never end."""
        if self._is_tied or threading.current_thread() is not threading.main_thread():
            return
        self._is_tied = True
        for sign in (signal.SIGTERM, signal.SIGINT):
            before = signal.getsignal(sign)
            if callable(before):
                signal.signal(sign, _both(before, loop, self.end))


def _both(before: Callable[..., Any], loop: asyncio.AbstractEventLoop, end: Callable[[], None]) -> Callable[..., Any]:
    def told(number: int, frame: Any) -> Any:
        with contextlib.suppress(RuntimeError):  # the loop is over already
            loop.call_soon_threadsafe(end)
        return before(number, frame)

    return told


def _read_all(sources: list[Source]) -> list[News]:
    """Read in a thread of its own, and give the connection back at once."""
    try:
        return [news for source in sources for news in source.read()]
    finally:
        connections.close_all()


HUB: Final = Hub()
