"""The hub alone: one reader for all, marks that nothing falls behind, seats, a database that goes and comes back."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest
from django.db import OperationalError

from notifications.live.hub import KEPT, Ending, Hub, News
from notifications.live.seats import Full
from notifications.live.sse import Pace
from tests.live.hubs import Told, eventually, heard, make, play, stream_of

pytestmark = pytest.mark.slow


def test_nobody_looks_while_nobody_listens_and_one_looks_for_all() -> None:
    told = Told()
    hub = make(told)

    async def script() -> None:
        await asyncio.sleep(0.05)
        assert told.asked == 0
        streams = [stream_of(hub) for _ in range(5)]
        listening = [asyncio.create_task(heard(one, "four")) for one in streams]
        await eventually(lambda: bool(hub.mark()))
        before, began = told.asked, asyncio.get_running_loop().time()
        told.waiting = [News("cases", "moved", '"four"'), News("other", "moved", '"of another topic"')]
        for said in await asyncio.gather(*listening):
            assert 'event: moved\ndata: "four"\n\n' in said
            assert "another topic" not in said
        spent = asyncio.get_running_loop().time() - began
        assert told.asked - before <= spent / 0.01 + 2, "each stream asked by itself"
        assert threading.get_ident() not in told.threads, "a slow database would stop every answer"

    play(script)


def test_a_mark_goes_on_where_it_was_taken_and_says_what_it_cannot_know() -> None:
    told = Told()
    hub = make(told)

    async def script() -> None:
        hub.begin()
        await eventually(lambda: bool(hub.mark()))
        mark = hub.mark()
        hub.publish([News("cases", "moved", '"one"'), News("cases", "moved", '"two"')])
        said = await heard(stream_of(hub, mark), "two")
        assert '"one"' in said
        assert "missed" not in said
        first = next(line[4:] for line in said.splitlines() if line.startswith("id: "))
        again = await heard(stream_of(hub, first), "two")
        assert '"one"' not in again
        for strange in ("", "00000000-1", f"{mark.partition('-')[0]}-999", "x", f"{mark}9999999999999999"):
            assert "event: missed" in await heard(stream_of(hub, strange), "missed"), strange
        hub.publish([News("cases", "moved", str(number)) for number in range(KEPT)])
        assert "event: missed" in await heard(stream_of(hub, mark), "missed"), "it is kept no more"

    play(script)


def test_what_came_while_nobody_looked_counts_as_missed() -> None:
    told = Told()
    hub = make(told)

    async def script() -> None:
        hub.begin()
        await eventually(lambda: bool(hub.mark()))
        mark = hub.mark()
        await stop(hub)
        assert hub.mark() == ""
        assert "event: missed" in await heard(stream_of(hub, mark), "missed")

    play(script)


async def stop(hub: Hub) -> None:
    """Let the hub end its looking, as it does after a while without listeners."""
    assert hub._task is not None
    hub._task.cancel()
    await asyncio.gather(hub._task, return_exceptions=True)


def test_seats_are_bounded_for_one_and_for_all_and_free_again_however_a_stream_ends() -> None:
    hub = make(Told(), most=3, most_each=2)
    kept = [hub.seat("olga"), hub.seat("olga")]
    with pytest.raises(Full) as own:
        hub.seat("olga")
    assert (own.value.is_own, own.value.most) == (True, 2)
    other = hub.seat("bob")
    with pytest.raises(Full) as all_taken:
        hub.seat("vera")
    assert (all_taken.value.is_own, all_taken.value.most) == (False, 3)
    other.close()
    other.close()
    assert hub.seats.count == 2
    # Whoever leaves before the answer began has no stream that anybody closes.
    del kept[:]
    gc.collect()
    assert hub.seats.count == 0

    async def script() -> None:
        await heard(stream_of(hub), "retry")
        gc.collect()
        await eventually(lambda: hub.seats.count == 0)
        unread = stream_of(hub)
        unread.close()
        assert hub.seats.count == 0

    play(script)


def test_a_database_that_is_away_is_said_and_nothing_is_lost_when_it_is_back() -> None:
    told = Told()
    hub = make(told)
    hub.look_s = 0.01

    async def script() -> None:
        listening = asyncio.create_task(heard(stream_of(hub), '"after"'))
        await eventually(lambda: bool(hub.mark()))
        told.is_away = True
        before = told.asked
        await eventually(lambda: told.asked > before + 1)
        told.waiting, told.is_away = [News("cases", "moved", '"after"')], False
        await listening

    play(script)
    assert [event.news.data for event in hub._events if event.news.name == "database"] == ["true", "false", "true"]


def test_a_state_greets_newcomers_and_is_told_once() -> None:
    hub = make(Told())
    state = News("cases", "count", "7", is_state=True)

    async def script() -> None:
        hub.publish([state, state])
        hub.begin()
        said = await heard(stream_of(hub), "count")
        assert "event: count\ndata: 7" in said

    play(script)
    assert [event.news for event in hub._events].count(state) == 1


def test_the_end_of_the_process_ends_every_stream_and_lets_none_begin() -> None:
    hub = make(Told())

    async def script() -> None:
        listening = [asyncio.create_task(heard(stream_of(hub, pace=Pace()), "restart")) for _ in range(3)]
        await eventually(lambda: bool(hub.mark()))
        hub.end()
        for said in await asyncio.gather(*listening):
            assert said.endswith('event: end\ndata: "restart"\n\n')
        with pytest.raises(Ending):
            hub.seat("olga")

    play(script)


def test_who_may_not_go_on_hears_the_end_and_nothing_before_it() -> None:
    hub = make(Told())
    verdicts: list[bool] = [True, True]

    def may_go_on() -> bool:
        return verdicts.pop() if verdicts else False

    async def script() -> None:
        said = await heard(stream_of(hub, may_go_on=may_go_on), "never")
        assert said.count(": still here") == 2
        assert said.endswith('event: end\ndata: "over"\n\n')

    play(script)
    assert hub.seats.count == 0


def test_while_nobody_can_say_who_may_listen_nothing_is_told() -> None:
    hub = make(Told())
    is_away = threading.Event()
    is_away.set()

    def may_go_on() -> bool:
        if is_away.is_set():
            raise OperationalError("away")
        return True

    async def script() -> None:
        stream = stream_of(hub, may_go_on=may_go_on)
        said: list[str] = []

        async def listen() -> None:
            async for part in stream:
                said.append(part)

        listening = asyncio.create_task(listen())
        await eventually(lambda: ": still here\n\n" in said)
        hub.publish([News("cases", "moved", '"meanwhile"')])
        await asyncio.sleep(0.3)
        assert "meanwhile" not in "".join(said)
        is_away.clear()
        await eventually(lambda: "meanwhile" in "".join(said))
        listening.cancel()

    play(script)


def test_a_stream_ends_by_itself_when_its_request_grows_old() -> None:
    hub = make(Told())

    async def script() -> None:
        said = await heard(stream_of(hub, pace=Pace(judge_s=0.05, life_s=0.2)), "never")
        assert "event: end" not in said, "the browser just comes back"

    play(script)
