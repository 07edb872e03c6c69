"""Which message is the probe of an account that is away: one whose repeating costs least."""

from __future__ import annotations

import pytest

from notifications.delivery.send import give_back
from tests.delivery.test_circuits import refuse
from tests.delivery.workplace import Workplace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.mark.parametrize(
    ("other", "past_window", "probing"),
    [
        ("report_ready", False, "newer"),
        ("report_ready", True, "newer"),
        ("report_once", False, "older"),
        ("report_once", True, "newer"),
        (None, True, "older"),
    ],
)
def test_what_must_arrive_is_the_probe_only_where_it_is_protected_or_alone(
    place: Workplace, other: str | None, past_window: bool, probing: str
) -> None:
    place.enqueue("older", kind="report_alarm")
    if past_window:
        refuse(place, 503, "service_unavailable", 1)
        place.turn()
        place.later(2 * 86_400)
    if other:
        place.enqueue("newer", kind=other)
    place.sql(
        "INSERT INTO notifyops_private.notifications_circuit (account_id, open_until, reason, openings, changed_at) "
        "SELECT %s, t - interval '1 second', 'outage', 1, t FROM notifyops_private.clock_v1() t "
        "ON CONFLICT (account_id) DO UPDATE SET open_until = excluded.open_until, reason = 'outage', openings = 1",
        place.account,
    )
    (probe,) = place.claim()
    assert probe.probe
    assert place.intent(probe.id).report_id == probing


def test_no_second_probe_comes_while_a_long_lease_may_still_call(place: Workplace) -> None:
    place.enqueue_many(3)
    place.sql(
        "INSERT INTO notifyops_private.notifications_circuit (account_id, open_until, reason, openings, changed_at) "
        "SELECT %s, t - interval '1 second', 'outage', 1, t FROM notifyops_private.clock_v1() t",
        place.account,
    )
    shop = place.shop(lease_s=300.0, timeout_s=200.0)
    (probe,) = place.claim(shop, worker="w1")
    for waited_s in (61, 130):
        place.later(waited_s)
        assert place.claim(shop, worker="w2") == []
    place.later(110)
    (next_one,) = place.claim(shop, worker="w2")
    assert (probe.probe, next_one.probe) == (True, True)


def test_a_probe_that_was_not_made_lets_no_other_in_beside_the_one_that_followed_it(place: Workplace) -> None:
    """Its worker stood still: by the time it says so, its minute is over, and the next probe is under way."""
    place.enqueue_many(3)
    place.sql(
        "INSERT INTO notifyops_private.notifications_circuit (account_id, open_until, reason, openings, changed_at) "
        "SELECT %s, t - interval '1 second', 'outage', 1, t FROM notifyops_private.clock_v1() t",
        place.account,
    )
    shop = place.shop(lease_s=120.0)
    (first,) = place.claim(worker="w1", room=1)
    place.record([give_back(first)], worker="w1")
    (again,) = place.claim(shop, worker="w1", room=1)  # given back in its own time, it lets the next one come
    place.later(125)
    (other,) = place.claim(shop, worker="w2", room=1)
    assert (again.probe, other.probe) == (True, True)
    place.record([give_back(again)], shop, worker="w1")
    assert place.claim(shop, worker="w3") == []
