"""A live stream as `text/event-stream`: events with their marks, a comment as heartbeat, and an end with a reason.

Source: HTML Living Standard, 9.2 Server-sent events.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final

from django.core.handlers.asgi import ASGIRequest
from django.db import Error, connections
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.cache import patch_vary_headers

from notifications.live.hub import HUB, Hub, News
from notifications.live.seats import Seat

MEDIA_TYPE: Final = "text/event-stream"
# Browsers come back after a time between these, so that a restarted server does not meet all of them at once.
RETRY_MS: Final = (2000, 5000)
# Where the database did not say whether somebody may go on listening, it is asked again after this.
AGAIN_S: Final = 1.0
# A comment, which browsers skip: it keeps proxies from ending what is silent, and finds out who has gone.
BEAT: Final = ": still here\n\n"


@dataclass(frozen=True, slots=True)
class Pace:
    """`judge_s`: how often it is asked whether somebody may still listen; a heartbeat follows. `life_s`: a stream's."""

    judge_s: float = 15.0
    # Its request, and so its cookies, grow no older than that.
    life_s: float = 600.0


@dataclass(frozen=True, slots=True)
class Listener:
    """Who listens to what. `may_go_on` reads the database anew, in a thread; `after` is the mark to go on from."""

    topics: frozenset[str]
    may_go_on: Callable[[], bool]
    after: str = ""


class Stream:
    """The body of one answer, which gives its seat back however it ends."""

    def __init__(self, seat: Seat, listener: Listener, *, hub: Hub = HUB, pace: Pace | None = None) -> None:
        self._seat, self._listener, self._hub, self._pace = seat, listener, hub, pace or Pace()
        self._place = hub.place(listener.after)

    def close(self) -> None:
        """Give the seat back, also where nothing was ever read; Django calls it with the answer's end."""
        self._seat.close()

    async def __aiter__(self) -> AsyncIterator[str]:
        try:
            async for part in self._parts():
                yield part
        finally:
            self.close()

    async def _parts(self) -> AsyncIterator[str]:
        hub, pace, clock = self._hub, self._pace, asyncio.get_running_loop().time
        hub.begin()
        born = judged = clock()
        yield self._greeting()
        while not hub.is_ending and clock() - born < pace.life_s:
            if news := self._news():
                yield news
            await hub.wait(self._place, judged + pace.judge_s - clock())
            if clock() - judged < pace.judge_s:
                continue
            # While the database cannot say who may listen, nobody hears anything.
            while (verdict := await asyncio.to_thread(self._judge)) is None and not hub.is_ending:
                yield BEAT
                await asyncio.sleep(AGAIN_S)
            if verdict is False:
                yield written(News("", "end", '"over"'))
                return
            judged = clock()
            yield BEAT
        if hub.is_ending:
            yield written(News("", "end", '"restart"'))

    def _greeting(self) -> str:
        retry = f"retry: {random.randint(*RETRY_MS)}\n\n"  # noqa: S311 (no secret)
        return retry + "".join(written(news) for news in self._hub.states(self._listener.topics))

    def _news(self) -> str:
        events, self._place, has_missed = self._hub.since(self._place, self._listener.topics)
        missed = written(News("", "missed", "{}")) if has_missed else ""
        return missed + "".join(written(event.news, self._hub.mark_of(event)) for event in events)

    def _judge(self) -> bool | None:
        try:
            return self._listener.may_go_on()
        except Error:
            return None
        finally:
            connections.close_all()


def written(news: News, mark: str = "") -> str:
    """Give one event as text."""
    place = f"id: {mark}\n" if mark else ""
    return f"{place}event: {news.name}\ndata: {news.data}\n\n"


def wanted(request: HttpRequest) -> bool:
    """Tell whether the browser asks for a stream."""
    return MEDIA_TYPE in request.headers.get("Accept", "")


def can_stream(request: HttpRequest) -> bool:
    """Tell whether the server can: under WSGI each stream would keep a thread, and none of it would be seen."""
    return isinstance(request, ASGIRequest)


def after(request: HttpRequest) -> str:
    """Give the mark to go on from: of the last event where the browser comes back, else that of its page."""
    return request.headers.get("Last-Event-ID", "") or request.GET.get("after", "")


def answer(stream: Stream) -> StreamingHttpResponse:
    """Answer with the stream. The request's own connection goes back first: the answer may last ten minutes."""
    connections.close_all()
    found = StreamingHttpResponse(stream, content_type=MEDIA_TYPE)
    # Nothing between us and the browser may keep, gather, shorten or store it.
    found["Cache-Control"] = "no-store, no-transform"
    found["X-Accel-Buffering"] = "no"
    patch_vary_headers(found, ("Accept", "Cookie"))
    return found
