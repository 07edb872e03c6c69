"""A slow host holds a few places only; a quick one as many as it fills."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import replace

import pytest

from notifications.providers import crowd as crowds
from notifications.providers.base import SendResult
from notifications.providers.crowd import MOST, SLOW_S, Crowd
from notifications.providers.fence import EVERYTHING
from notifications.providers.webhook import Pool, WebhookProvider
from notifications.states import Outcome
from tests.providers.candidate_webhook import NEW, saying
from tests.providers.scripted_server import Peer, scripted
from tests.providers.test_webhook import MESSAGE, sent

LOCAL = Pool(16, EVERYTHING)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_quick_host_is_never_full() -> None:
    clock = Clock()
    crowd = Crowd(clock)
    with ExitStack() as calls:
        for _ in range(100):
            assert not crowd.is_full("quick")
            calls.enter_context(crowd.one_more("quick"))
    assert not crowd._known


def test_a_host_is_full_as_soon_as_enough_of_its_calls_take_long() -> None:
    clock = Clock()
    crowd = Crowd(clock)
    with ExitStack() as calls:
        for _ in range(MOST):
            calls.enter_context(crowd.one_more("slow"))
        assert not crowd.is_full("slow")
        clock.now = SLOW_S
        assert crowd.is_full("slow")
        assert not crowd.is_full("other")


def test_that_a_host_was_slow_is_remembered_until_it_is_quick_again() -> None:
    clock = Clock()
    crowd = Crowd(clock)
    with crowd.one_more("slow"):
        clock.now += SLOW_S + 0.1
    with ExitStack() as calls:
        for _ in range(MOST):
            assert not crowd.is_full("slow")
            calls.enter_context(crowd.one_more("slow"))
        assert crowd.is_full("slow")
    assert not crowd.is_full("slow")
    assert not crowd._known


def test_only_so_many_hosts_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "REMEMBERED", 10)
    clock = Clock()
    crowd = Crowd(clock)
    for number in range(50):
        with crowd.one_more(f"slow-{number}"):
            clock.now += 2 * SLOW_S
    assert len(crowd._known) == 10


def test_a_failed_call_gives_its_place_back() -> None:
    crowd = Crowd(Clock())
    with pytest.raises(ZeroDivisionError), crowd.one_more("host"):
        raise ZeroDivisionError
    assert not crowd._known


def test_what_finds_its_host_full_is_put_off_and_costs_no_connection() -> None:
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
