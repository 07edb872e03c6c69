"""A backlog of webhooks: new messages pass it, it drains all the same, and it neither fills the loop nor holds it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from notifications.sandbox.app import RunningSandbox
from notifications.sandbox.courier import MAX_AT_ONCE
from notifications.sandbox.posters import TURNS, Posters
from tests.sandbox.callers import eventually, send
from tests.sandbox.receiver import Receiver, register


def carried(most: int, script: Callable[[Posters[int]], Coroutine[Any, Any, None]]) -> list[int]:
    """Give the order in which numbers were carried out, each taking two turns of the loop."""
    done: list[int] = []

    async def carry(number: int) -> None:
        await asyncio.sleep(0)
        done.append(number)

    asyncio.run(script(Posters(carry, most)))
    return done


async def drained(posters: Posters[int], count: int) -> None:
    for _ in range(count * 4 + 20):
        await asyncio.sleep(0)


def test_what_comes_now_passes_a_backlog_of_which_all_is_carried_out() -> None:
    async def script(posters: Posters[int]) -> None:
        for number in range(1_000):
            posters.put(number)
        for _ in range(20):
            await asyncio.sleep(0)
        posters.put(5_000)
        await drained(posters, 1_001)

    done = carried(1, script)
    assert sorted(done) == [*range(1_000), 5_000]
    assert done.index(5_000) < 30
    # The longest waiting are served too, one turn in four.
    assert [number for number in done[: 10 * TURNS] if number < 500] == list(range(10))


def test_a_second_try_waits_behind_new_messages_and_is_not_starved_by_them() -> None:
    async def script(posters: Posters[int]) -> None:
        for number in range(100):
            posters.put(number, again=True)
            posters.put(1_000 + number)
        await drained(posters, 200)

    done = carried(1, script)
    again = [place for place, number in enumerate(done) if number < 100]
    assert [done[place] for place in again] == list(range(100))
    assert len([place for place in again if place < 80]) == 80 // TURNS


def test_no_more_than_so_many_are_under_way_and_stopping_drops_the_rest() -> None:
    async def script(posters: Posters[int]) -> None:
        for number in range(10_000):
            posters.put(number)
        posters.put(10_001, 0.001)
        assert len(asyncio.all_tasks()) == 1 + 3
        posters.stop()
        await asyncio.sleep(0.01)
        assert len(asyncio.all_tasks()) == 1
        posters.put(10_002)
        await asyncio.sleep(0)

    assert carried(3, script) == []


@pytest.mark.slow
def test_a_slow_receiver_leaves_a_bounded_number_of_tasks(sandbox: RunningSandbox, receiver: Receiver) -> None:
    receiver.statuses = [500] * 60
    register(sandbox, receiver, ["email.sent"])
    sandbox.configure(retry_scale=1.0)
    for _ in range(60):
        send(sandbox)
    receiver.wait_for(60)

    def tasks() -> int:
        return sandbox._inside(lambda: len(asyncio.all_tasks()))

    # One is the question itself; 60 messages wait for their second try without a task.
    assert eventually(lambda: tasks() == 1)
    assert tasks() <= 1 + MAX_AT_ONCE
