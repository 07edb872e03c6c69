"""One slot's loop: it stops without leaving anything behind, hands over first, and listens to persons."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from notifications.delivery import slots
from notifications.delivery.beats import Beat
from notifications.delivery.link import Link
from notifications.delivery.loop import Loop
from notifications.models import Intent, WorkerBeat
from tests.delivery.workplace import Workplace, connected, looped, nothing_waits

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def under_way(place: Workplace) -> int:
    return sum(1 for request in place.sandbox.requests() if request["ended_at_s"] is None)


def test_a_stop_claims_no_more_finishes_what_runs_and_records_it(place: Workplace) -> None:
    place.enqueue_many(40)
    place.sandbox.fault(kind="delay", seconds=1.0, times=None)
    shop = place.shop(concurrency=16)

    async def scene() -> int:
        return await looped(place.dsn(), shop, until=lambda: under_way(place) >= 16)

    assert place.play(scene()) == 16
    assert sorted(set(place.states().values())) == ["accepted", "pending"], "a slow provider: nothing was claimed ahead"
    assert Intent.objects.filter(state="accepted").count() == len(place.sandbox.requests()) == 16


def test_a_stop_gives_back_at_once_what_was_claimed_ahead_of_a_quick_provider(place: Workplace) -> None:
    place.enqueue_many(80)
    place.sandbox.fault(kind="delay", seconds=1.0, times=None, skip=24)  # quick at first
    shop = place.shop(concurrency=16)

    async def scene() -> int:
        return await looped(place.dsn(), shop, until=lambda: slow_ones(place) >= 16)

    place.play(scene())
    given_back = Intent.objects.filter(state="retry")
    assert set(given_back.values_list("failure_count", "error_code", "known")) == {
        (0, "not_sent.given_back", "not_sent")
    }
    assert Intent.objects.filter(state="accepted").count() == len(place.sandbox.requests())
    place.sandbox.order("DELETE", "faults")
    place.run(shop)
    assert set(place.states().values()) == {"accepted"}
    assert place.sandbox.order("GET", "ledger")["twice_count"] == 0


def slow_ones(place: Workplace) -> int:
    """How many requests arrived after the quick ones."""
    return len(place.sandbox.requests()) - 24


def test_the_slot_is_handed_over_before_the_drain(place: Workplace) -> None:
    """The successor works while the old loop waits for slow calls, so that no slow provider leaves a hole."""
    place.enqueue_many(4)
    place.sandbox.fault(kind="delay", seconds=1.0, times=4)
    shop, seen = place.shop(), dict[str, Any]()

    async def handed() -> None:
        seen["running"] = under_way(place)
        async with slots.slot(place.dsn(), slots.LOOPS, 0) as successor:
            seen["slot"] = successor is not None

    async def scene() -> int:
        return await looped(place.dsn(), shop, until=lambda: under_way(place) >= 4, handed=handed)

    assert place.play(scene()) == 4
    assert seen == {"running": 4, "slot": True}


def test_a_hand_over_that_fails_does_not_cost_the_answers(place: Workplace) -> None:
    place.enqueue_many(3)
    place.sandbox.fault(kind="delay", seconds=0.5, times=3)
    shop = place.shop()

    async def broken() -> None:
        raise RuntimeError("the queue is gone")

    async def scene() -> None:
        with pytest.raises(RuntimeError):
            await looped(place.dsn(), shop, until=lambda: under_way(place) >= 3, handed=broken)

    place.play(scene())
    assert set(place.states().values()) == {"accepted"}


def test_the_drain_is_bounded_and_what_it_leaves_is_settled_by_the_lease(place: Workplace) -> None:
    place.enqueue()
    place.sandbox.fault(stage="after_accept", kind="hang", seconds=300, times=1)
    shop = place.shop(timeout_s=120.0, lease_s=150.0)

    async def scene() -> None:
        async with slots.slot(place.dsn(), slots.LOOPS, 0) as slot:
            assert slot is not None
            await Loop(
                dsn=place.dsn(),
                shop=shop,
                slot=slot,
                beat=Beat("loop", 0),
                stopping=lambda: under_way(place) >= 1,
                budget_s=10.0,
                hand_over=slot.release,
                drain_s=0.5,
            ).run()

    began = time.monotonic()
    place.play(scene())
    assert time.monotonic() - began < 60, "it waited for the call, which may take two minutes"
    assert place.states() == {"demo-001": "sending"}
    place.later(151)
    place.turn()
    assert place.sandbox.ledger("report-ready/demo-001").accepted == 1
    assert place.states() == {"demo-001": "accepted"}


def test_the_budget_ends_a_loop_that_has_nothing_to_do(place: Workplace) -> None:
    began = time.monotonic()
    assert place.run(budget_s=0.5, until=lambda: False) == 0
    assert 0.5 <= time.monotonic() - began < 60


def test_a_slot_is_held_once(place: Workplace) -> None:
    async def scene() -> tuple[bool, bool, bool]:
        async with (
            slots.slot(place.dsn(), slots.LOOPS, 0) as first,
            slots.slot(place.dsn(), slots.LOOPS, 0) as second,
            slots.slot(place.dsn(), slots.LOOPS, 1) as other,
        ):
            return first is not None, second is not None, other is not None

    assert place.play(scene()) == (True, False, True)


def test_the_beat_is_written_by_the_claim(place: Workplace) -> None:
    place.run(budget_s=0.3, until=lambda: False)
    beat = WorkerBeat.objects.get()
    assert (beat.role, beat.slot, beat.claimed_at is not None) == ("loop", 0, True)


def test_a_site_that_sends_nothing_still_shows_that_it_lives(place: Workplace) -> None:
    place.enqueue()
    place.run(place.shop(sends=False), budget_s=0.3, until=lambda: False)
    assert (place.states(), WorkerBeat.objects.count()) == ({"demo-001": "pending"}, 1)


@pytest.mark.slow  # waits for seconds of real time
def test_a_loop_ends_when_a_person_changes_an_account_so_that_its_successor_starts_with_it(place: Workplace) -> None:
    shop = place.shop()

    async def scene() -> float:
        began = time.monotonic()
        running = asyncio.create_task(looped(place.dsn(), shop, until=lambda: False, budget_s=120.0))
        await asyncio.sleep(1.0)
        place.sql("UPDATE notifyops_private.notifications_provideraccount SET revision = revision + 1")
        await running
        return time.monotonic() - began

    assert place.play(scene()) < 60


def test_a_retry_that_comes_due_is_sent_when_it_is_due_and_not_at_the_next_poll(place: Workplace) -> None:
    """The poll is set to 90 s, so that only the known due time can explain the second attempt."""
    place.enqueue()
    place.sandbox.fault(kind="status", status=500, times=1)
    began = time.monotonic()
    place.run(place.shop(poll_s=90.0, retry_delays_s=(1.0, 2.0)), until=None, budget_s=80.0)
    first, second = place.sandbox.requests("report-ready/demo-001")
    assert 0.7 < second["at_s"] - first["at_s"] < 60
    assert time.monotonic() - began < 75


def test_two_loops_share_the_work_and_send_each_once(place: Workplace) -> None:
    place.enqueue_many(300)
    shops = [place.shop(), place.shop()]

    async def scene() -> list[int]:
        async with await connected(place.dsn()) as look:
            quiet = await nothing_waits(look)
            return await asyncio.gather(
                *(looped(place.dsn(), shop, until=quiet, number=number) for number, shop in enumerate(shops))
            )

    shares = place.play(scene())
    assert sum(shares) == 300
    assert place.sandbox.order("GET", "ledger")["http_requests"] == 300
    assert set(place.states().values()) == {"accepted"}


class Listener:
    """Stands for a loop's connection, and notes what it is told."""

    closed = False

    def __init__(self) -> None:
        self.told: list[str] = []

    async def execute(self, query: str) -> None:
        self.told.append(query)


def test_plans_made_for_an_empty_table_are_discarded_when_work_comes(place: Workplace) -> None:
    """A backlog behind plans of an empty table costs seconds a claim; so the first claim after emptiness replans."""
    listener: Any = Listener()

    async def scene() -> list[int]:
        link = Link(place.dsn(), "test")
        link._connection = listener
        counts = []
        for was_empty in (True, False, False, True):
            await link.replan(now=was_empty)
            counts.append(len(listener.told))
        return counts

    assert place.play(scene()) == [1, 1, 1, 2]
    assert set(listener.told) == {"DISCARD PLANS"}
