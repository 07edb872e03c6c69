"""A hub over a source that says what it is told to say, and ways to listen to it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from django.db import OperationalError

from notifications.live.hub import Hub, News
from notifications.live.seats import Seats
from notifications.live.sse import Listener, Pace, Stream

TOPICS = frozenset({"cases"})
QUICK = Pace(judge_s=0.05, life_s=60)


class Told:
    """A source that says what it is told to say, and how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.waiting: list[News] = []
        self.is_away = False
        self.threads: set[int] = set()

    def read(self) -> Iterable[News]:
        self.asked += 1
        self.threads.add(threading.get_ident())
        if self.is_away:
            raise OperationalError("away")
        found, self.waiting = self.waiting, []
        return found


def make(told: Told, **seats: int) -> Hub:
    hub = Hub(Seats(most=seats.get("most", 9), most_each=seats.get("most_each", 9)), look_s=0.01)
    hub.read_from(lambda: told)
    return hub


def play(script: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(script(), 20))


def stream_of(hub: Hub, after: str = "", may_go_on: Callable[[], bool] = lambda: True, pace: Pace = QUICK) -> Stream:
    return Stream(hub.seat("olga"), Listener(TOPICS, may_go_on, after), hub=hub, pace=pace)


async def heard(stream: Stream, until: str) -> str:
    """Listen until this was said; give all that was."""
    said = ""
    async for part in stream:
        said += part
        if until in said:
            break
    return said


async def eventually(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.01)
