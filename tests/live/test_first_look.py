"""The hub's first look only notes where things stand: whoever listens by then is told to ask behind it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable

import pytest

from notifications.live.hub import News
from tests.live.hubs import Told, eventually, heard, make, play, stream_of

pytestmark = pytest.mark.slow


def test_what_comes_before_the_first_look_has_ended_is_told_as_missed_behind_it() -> None:
    looking, may_end = threading.Event(), threading.Event()

    class Slow(Told):
        def read(self) -> Iterable[News]:
            looking.set()
            assert may_end.wait(10)
            return super().read()

    hub = make(Slow())

    async def script() -> None:
        said: list[str] = []

        async def listen() -> None:
            async for part in stream_of(hub):
                said.append(part)

        listening = asyncio.create_task(listen())
        await asyncio.to_thread(looking.wait, 10)
        await asyncio.sleep(0.05)
        # A page that asked now would not be told again of what comes until the look has noted where it stands.
        assert "missed" not in "".join(said)
        assert hub.mark() == ""
        may_end.set()
        await eventually(lambda: "event: missed" in "".join(said))
        listening.cancel()

    play(script)


def test_a_database_that_is_away_at_the_first_look_lets_the_page_ask_when_it_is_back() -> None:
    told = Told()
    told.is_away = True
    hub = make(told)

    async def script() -> None:
        listening = asyncio.create_task(heard(stream_of(hub), "missed"))
        await eventually(lambda: told.asked > 0)
        assert hub.mark() == "", "no page may go on from where nobody had looked"
        told.is_away = False
        assert "event: missed" in await listening

    play(script)
