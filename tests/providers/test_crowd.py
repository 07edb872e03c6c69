"""A slow endpoint holds a few places only; a quick one as many as it fills."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from notifications.providers import crowd as crowds
from notifications.providers.base import SendResult
from notifications.providers.crowd import SLOW_S, Crowd
from notifications.providers.fence import EVERYTHING
from notifications.providers.webhook import Pool, WebhookProvider
from notifications.states import Outcome
from tests.providers.candidate_webhook import NEW, saying
from tests.providers.scripted_server import Peer, scripted
from tests.providers.test_webhook import MESSAGE, sent

LOCAL = Pool(16, EVERYTHING)
MOST = 2


class Clock:
    """Stands still unless put on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def filled(crowd: Crowd, calls: AsyncExitStack, name: str, count: int = MOST) -> None:
    for _ in range(count):
        assert await calls.enter_async_context(crowd.place(name))


async def is_free(crowd: Crowd, name: str) -> bool:
    async with AsyncExitStack() as calls:
        return await calls.enter_async_context(crowd.place(name))


def test_a_quick_endpoint_is_never_held_back() -> None:
    async def play() -> None:
        crowd = Crowd(Clock(), MOST)
        async with AsyncExitStack() as calls:
            await filled(crowd, calls, "quick", 100)
        assert not crowd._known

    asyncio.run(play())


def test_an_endpoint_is_full_as_soon_as_enough_of_its_calls_take_long() -> None:
    async def play() -> None:
        clock = Clock()
        crowd = Crowd(clock, MOST)
        async with AsyncExitStack() as calls:
            await filled(crowd, calls, "slow")
            clock.now = SLOW_S
            assert not await is_free(crowd, "slow")
            assert await is_free(crowd, "other")

    asyncio.run(play())


def test_that_it_was_slow_is_remembered_until_it_is_quick_again() -> None:
    async def play() -> None:
        clock = Clock()
        crowd = Crowd(clock, MOST)
        async with crowd.place("slow"):
            clock.now += SLOW_S
        async with AsyncExitStack() as calls:
            await filled(crowd, calls, "slow")
            assert not await is_free(crowd, "slow")
        assert await is_free(crowd, "slow")
        assert not crowd._known

    asyncio.run(play())


def test_one_slow_call_says_nothing_of_a_host_whose_endpoints_differ() -> None:
    async def play() -> None:
        clock = Clock()
        crowd = Crowd(clock, MOST, remembers=False)
        async with crowd.place("host"):
            clock.now += SLOW_S
        async with AsyncExitStack() as calls:
            await filled(crowd, calls, "host", 100)
            clock.now += SLOW_S
            assert not await is_free(crowd, "host")

    asyncio.run(play())


@pytest.mark.parametrize("ends", [True, False])
def test_while_it_is_open_whether_calls_are_slow_further_ones_wait(*, ends: bool) -> None:
    """Until one of them ends, or has lasted too long."""

    async def play() -> None:
        clock = Clock()
        crowd = Crowd(clock, MOST)
        async with AsyncExitStack() as calls:
            await filled(crowd, calls, "maybe")
            clock.now = crowds.STALLED_S
            waiting = asyncio.create_task(is_free(crowd, "maybe"))
            await asyncio.sleep(0)
            assert not waiting.done()
            if ends:
                await calls.aclose()
            else:
                clock.now = SLOW_S
            assert await waiting is ends

    asyncio.run(play())


def test_only_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "REMEMBERED", 10)

    async def play() -> None:
        clock = Clock()
        crowd = Crowd(clock, MOST)
        for number in range(50):
            async with crowd.place(f"slow-{number}"):
                clock.now += SLOW_S
        assert len(crowd._known) == 10

    asyncio.run(play())


def test_a_failed_call_gives_its_place_back() -> None:
    async def play() -> None:
        crowd = Crowd(Clock(), MOST)
        with pytest.raises(ZeroDivisionError):
            async with crowd.place("host"):
                raise ZeroDivisionError
        assert not crowd._known

    asyncio.run(play())


def test_what_finds_its_endpoint_full_is_put_off_and_costs_no_connection() -> None:
    """The others are called meanwhile; nothing is said of the receiver, who was not asked."""
    clock = Clock()

    async def play() -> tuple[SendResult, SendResult, int]:
        async with scripted(Peer.wait) as slow, scripted(saying(200)) as quick:
            provider = WebhookProvider(secrets=NEW, pool=LOCAL, monotonic=clock)
            to_slow = replace(MESSAGE, to=f"http://127.0.0.1:{slow.port}/in")
            calls = [asyncio.create_task(sent(provider, message=to_slow)) for _ in range(MOST)]
            while slow.connections < MOST:
                await asyncio.sleep(0.01)
            clock.now = SLOW_S
            held_back = await sent(provider, message=to_slow)
            other = await sent(provider, message=replace(MESSAGE, to=f"http://127.0.0.1:{quick.port}/in"))
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            await provider.close()
            return held_back, other, slow.connections

    held_back, other, connections = asyncio.run(play())
    assert (held_back.outcome, held_back.code) == (Outcome.NOT_SENT, "webhook.busy")
    assert (held_back.retry_after_s, other.outcome, connections) == (15.0, Outcome.ACCEPTED, MOST)
