"""What the simulation found wrong in the core, each as its smallest story."""

from __future__ import annotations

import time

import pytest

from notifications.door import next_due_s
from notifications.states import EntryKind, State
from tests.delivery.test_guards import lose_an_answer
from tests.delivery.workplace import Workplace, connected

pytestmark = pytest.mark.django_db(transaction=True)


def ordered_again(place: Workplace) -> int:
    """Give a never_twice notification whose answer was lost, and which a person wants tried again."""
    intent = place.enqueue(kind="report_once")
    lose_an_answer(place)
    assert place.intent(intent).state == "needs_review"
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0.0).refused is None
    return intent


def test_an_order_that_the_provider_puts_off_stays_the_persons(place: Workplace) -> None:
    """Else the next attempt would look like a repeat that nobody ordered, which never_twice forbids."""
    intent = ordered_again(place)
    place.sandbox.fault(kind="status", status=429, name="rate_limit_exceeded", times=1, headers={"Retry-After": "20"})
    place.turn()
    assert (place.intent(intent).state, place.intent(intent).manual) == ("retry", True)
    place.later(60)
    place.turn()
    assert (place.intent(intent).state, place.intent(intent).manual) == ("accepted", False)
    assert [one["trigger"] for one in place.log(intent) if one["kind"] == "claimed"] == ["auto", "manual", "manual"]


def test_an_order_whose_lease_was_over_before_the_write_stays_the_persons(place: Workplace) -> None:
    intent = ordered_again(place)
    shop = place.shop()
    shop.clock = lambda: time.clock_gettime(time.CLOCK_BOOTTIME) - 55.0  # a stall between BEGIN and the write
    place.turn(shop)
    assert (place.intent(intent).error_code, place.intent(intent).manual) == ("not_sent.lease_over", True)


def test_an_order_that_was_tried_and_failed_is_used_up(place: Workplace) -> None:
    intent = ordered_again(place)
    lose_an_answer(place)
    assert (place.intent(intent).state, place.intent(intent).manual) == ("needs_review", False)


def test_an_account_waits_by_the_same_clock_by_which_it_is_asked(place: Workplace) -> None:
    place.later(3600)
    place.enqueue_many(3)
    place.sandbox.fault(kind="status", status=429, name="rate_limit_exceeded", times=1, headers={"Retry-After": "30"})
    place.turn(room=1)
    assert place.claim() == []
    place.later(40)
    assert len(place.claim()) == 3


def test_where_nothing_waits_nothing_comes_due(place: Workplace) -> None:
    """Else it is due at once, for ever: an idle loop would claim a hundred times a second instead of four."""

    async def due_s() -> float | None:
        async with await connected(place.dsn()) as connection:
            return await next_due_s(connection, [place.account])

    assert place.play(due_s()) is None
    place.enqueue()
    assert place.play(due_s()) == 0.0
