"""Quotas at the turn of the day, and of both kinds at once: what the circuit says is what it does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.delivery.workplace import Workplace, sent_all

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
DAY_S = 86_400
LEFT = (
    "SELECT extract(epoch FROM date_trunc('day', now, 'UTC') + interval '1 day' - now)::float "
    "FROM notifyops_private.clock_v1() AS now"
)
CIRCUIT = (
    "SELECT reason, code, CASE WHEN open_until < 'infinity' "
    "THEN extract(epoch FROM open_until - date_trunc('day', notifyops_private.clock_v1(), 'UTC'))::float END "
    "FROM notifyops_private.notifications_circuit"
)


def to_midnight(place: Workplace, after_s: float) -> None:
    """Put the clock on to so many seconds after the next 00:00 UTC."""
    ((left_s,),) = place.sql(LEFT)
    place.later(left_s + after_s)


def refuse(place: Workplace, kind: str) -> None:
    place.sandbox.fault(kind="status", status=429, name=f"{kind}_quota_exceeded", times=1)


def circuit(place: Workplace) -> tuple[Any, ...]:
    """Give reason, code, and the second of the present day at which it is called again; None: never by itself."""
    ((reason, code, at_s),) = place.sql(CIRCUIT)
    return reason, code, at_s


def test_the_day_that_has_just_begun_is_not_lost_by_the_word_about_the_last_one(place: Workplace) -> None:
    """The probe at our midnight meets a provider whose clock is seconds behind: five minutes, and not 24 hours."""
    to_midnight(place, 12 * 3600)
    place.enqueue_many(2)
    refuse(place, "daily")
    place.turn(room=1)
    assert circuit(place)[::2] == ("daily_quota", DAY_S)
    to_midnight(place, 1)
    refuse(place, "daily")
    assert len(place.turn()) == 1
    assert circuit(place)[::2] == ("daily_quota", 300)
    place.later(301)
    assert len(place.turn()) == 1
    assert "accepted" in place.states().values()


def test_a_day_whose_quota_is_used_up_once_more_is_waited_for_to_its_end(place: Workplace) -> None:
    to_midnight(place, 1)
    place.enqueue_many(2)
    for wanted in (300, DAY_S):
        refuse(place, "daily")
        assert len(place.turn(room=1)) == 1
        assert circuit(place)[::2] == ("daily_quota", wanted)
        place.later(301)
    assert place.turn() == []


@pytest.mark.parametrize("order", [("monthly", "daily"), ("daily", "monthly")])
def test_of_a_month_and_a_day_the_circuit_names_the_one_that_keeps_it_closed(
    place: Workplace, order: tuple[str, str]
) -> None:
    """Two calls under way: the one about the day promised an end at midnight that never came."""
    place.enqueue_many(2)
    leases = place.claim(room=2)
    for lease, kind in zip(leases, order, strict=True):
        refuse(place, kind)
        place.record(place.play(sent_all(place.shop(), [lease])))
    assert circuit(place) == ("monthly_quota", "resend.429.monthly_quota_exceeded", None)


def test_a_refusal_that_was_under_way_is_not_why_a_quota_keeps_it_closed(place: Workplace) -> None:
    place.enqueue_many(2)
    first, second = place.claim(room=2)
    refuse(place, "monthly")
    place.record(place.play(sent_all(place.shop(), [first])))
    place.sandbox.fault(kind="status", status=403, name="invalid_api_key", times=1)
    place.record(place.play(sent_all(place.shop(), [second])))
    assert circuit(place) == ("monthly_quota", "resend.429.monthly_quota_exceeded", None)
