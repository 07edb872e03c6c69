"""A provider that is out of reach opens its account's circuit: the rest wait, and pay nothing for it."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from notifications.delivery.record import record
from notifications.delivery.send import give_back
from notifications.delivery.shop import Shop
from notifications.models import Intent
from notifications.policy import codes
from tests.delivery.adapters import ACCEPTED, NOT_SENT, UNKNOWN, Scripted
from tests.delivery.test_circuits import calls, circuit, refuse
from tests.delivery.test_rates import together
from tests.delivery.workplace import Workplace, connected, looped, nothing_waits, sent_all

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def breaker(place: Workplace) -> tuple[Any, ...]:
    """Give why the circuit is open, how often it opened, and for how many seconds more."""
    rows = place.sql(
        "SELECT reason, openings, extract(epoch FROM open_until - notifyops_private.clock_v1())::float "
        "FROM notifyops_private.notifications_circuit"
    )
    return rows[0] if rows else (None, 0, None)


def fail(place: Workplace, count: int, shop: Shop | None = None) -> Shop:
    """Let so many calls end without a proper answer, one after the other."""
    shop = shop or place.shop()
    refuse(place, 503, "service_unavailable", count)
    for _ in range(count):
        place.turn(shop, room=1)
    return shop


@pytest.mark.parametrize("answer", [UNKNOWN, NOT_SENT], ids=["unknown", "not sent"])
def test_three_failures_in_a_row_open_the_circuit_and_the_rest_pay_nothing(place: Workplace, answer: Any) -> None:
    place.enqueue_many(10)
    shop = place.shop(Scripted([answer]))
    for _ in range(3):
        place.turn(shop, room=1)
    reason, openings, left_s = breaker(place)
    assert (reason, openings) == ("outage", 1)
    assert 30 * 0.8 - 5 <= left_s <= 30 * 1.2
    assert place.turn() == []
    assert Intent.objects.filter(state="pending", attempt_count=0, failure_count=0).count() == 7
    assert Intent.objects.filter(state="retry", failure_count=1).count() == 3


def test_the_row_is_counted_over_all_loops_in_the_order_of_the_log(place: Workplace) -> None:
    place.enqueue_many(10)
    refuse(place, 503, "service_unavailable", 3)
    for number in range(3):
        assert breaker(place)[0] is None
        place.turn(place.shop(), worker=f"w{number}", room=1)
    assert breaker(place)[0] == "outage"


def test_another_loops_success_breaks_the_row(place: Workplace) -> None:
    place.enqueue_many(10)
    shop = fail(place, 2)
    place.turn(place.shop(), worker="w2", room=1)
    fail(place, 2, shop)
    assert breaker(place) == (None, 0, None)


def test_an_answer_that_refuses_the_message_breaks_the_row_too(place: Workplace) -> None:
    place.enqueue_many(10)
    shop = fail(place, 2)
    refuse(place, 422, "validation_error", 1)
    place.turn(shop, room=1)
    fail(place, 2, shop)
    assert breaker(place) == (None, 0, None)


def test_leases_that_were_given_back_count_for_nothing(place: Workplace) -> None:
    place.enqueue_many(10)
    shop = fail(place, 2)
    place.record([give_back(lease) for lease in place.claim(shop, room=4)], shop)
    assert breaker(place)[0] is None
    fail(place, 1, shop)
    assert breaker(place)[0] == "outage"


def test_calls_under_way_when_it_opens_count_once_each_and_open_it_no_wider(place: Workplace, caplog: Any) -> None:
    place.enqueue_many(20)
    refuse(place, 503, "service_unavailable", None)
    shops = [place.shop(), place.shop()]
    leases = [place.claim(shop, room=8, worker=f"w{number}") for number, shop in enumerate(shops)]

    async def scene() -> Any:
        return [await sent_all(shop, given) for shop, given in zip(shops, leases, strict=True)]

    for shop, sent in zip(shops, place.play(scene()), strict=True):
        place.record(sent, shop)
    assert breaker(place)[:2] == ("outage", 1)
    assert Counter(Intent.objects.values_list("failure_count", flat=True)) == {1: 16, 0: 4}
    told = [one for one in caplog.records if getattr(one, "action", "") == "circuit_opened"]
    assert len(told) == 1


def test_the_wait_doubles_to_ten_minutes_and_each_probe_is_another_message(place: Workplace) -> None:
    place.enqueue_many(30)
    fail(place, 3)
    refuse(place, 503, "service_unavailable", None)
    waits, probes = [], []
    for _ in range(7):
        place.later(breaker(place)[2] + 1)
        (probe,) = place.turn()
        assert probe.lease.probe
        probes.append(probe.lease.id)
        waits.append(breaker(place)[2])
    for wait, plain in zip(waits, (60, 120, 240, 480, 600, 600, 600), strict=True):
        assert plain * 0.8 - 5 <= wait <= plain * 1.2
    assert len(set(probes)) == 7
    # What was tried for the account's sake has all its own tries left.
    assert set(Intent.objects.filter(pk__in=probes).values_list("failure_count", "state")) == {(0, "retry")}
    assert not Intent.objects.filter(state="needs_review").exists()


def test_one_lonely_message_survives_as_the_only_probe(place: Workplace) -> None:
    intent = place.enqueue()
    shop = place.shop(Scripted([NOT_SENT]))
    place.turn(shop)
    for _ in range(2):
        place.enqueue("other-1")
        place.turn(shop, room=1)
        place.later(75)
    for _ in range(8):
        place.later(721)
        assert len(place.turn(shop, room=1)) <= 1
    assert not Intent.objects.filter(state="needs_review").exists()
    assert place.intent(intent).failure_count <= 2
    place.later(721)
    works = place.shop(Scripted([ACCEPTED]))
    for _ in range(3):
        place.turn(works)
        place.later(1000)
    assert set(place.states().values()) == {"accepted"}


def test_the_probe_is_not_one_that_may_never_be_repeated_where_there_is_another(place: Workplace) -> None:
    place.enqueue_many(3)
    place.enqueue("older", kind="report_once")
    place.enqueue("newer")
    shop = place.shop(Scripted([NOT_SENT]))
    for _ in range(3):
        place.turn(shop, room=1)
    place.later(40)
    (probe,) = place.claim()
    assert probe.probe
    assert place.intent(probe.id).report_id == "newer"


def test_a_probe_that_is_answered_at_all_closes_the_circuit_slowly(place: Workplace) -> None:
    place.enqueue_many(60)
    fail(place, 3)
    place.later(40)
    refuse(place, 422, "validation_error", 1)
    (probe,) = place.turn()
    assert probe.lease.probe
    assert circuit(place) == (None, None, 0, None)
    sizes = []
    for _ in range(6):
        place.later(1)
        sizes.append(len(place.turn()))
    # Growing, and never the whole backlog in one go.
    assert sizes[0] <= 2
    assert sizes[-1] > sizes[0]
    assert sum(sizes) >= 12


def test_a_probe_that_was_not_made_is_made_by_the_next_at_once(place: Workplace) -> None:
    place.enqueue_many(6)
    fail(place, 3)
    place.later(40)
    (probe,) = place.claim()
    assert place.claim() == []
    place.record([give_back(probe)])
    (again,) = place.claim()
    assert again.probe


def test_a_success_that_began_before_the_outage_does_not_close_it(place: Workplace) -> None:
    place.enqueue_many(10)
    (early,) = place.claim(room=1)
    shop = fail(place, 3)

    async def scene() -> Any:
        return await sent_all(shop, [early])

    place.record(place.play(scene()), shop)
    assert place.intent(early.id).state == "accepted"
    assert breaker(place)[0] == "outage"


def test_a_used_up_quota_is_not_shortened_by_an_outage(place: Workplace) -> None:
    place.enqueue_many(10)
    refuse(place, 429, "monthly_quota_exceeded", 1)
    leases = place.claim(room=5)
    shop = place.shop()

    async def scene() -> Any:
        found = await sent_all(shop, leases[:1])
        refuse(place, 503, "service_unavailable", None)
        return found + await sent_all(shop, leases[1:])

    place.record(place.play(scene()), shop)
    assert breaker(place)[0] == "monthly_quota"
    assert place.sql("SELECT open_until = 'infinity' FROM notifyops_private.notifications_circuit") == [(True,)]


def test_loops_of_three_hosts_outlive_an_outage_and_burn_no_message(place: Workplace) -> None:
    """H-OPS-2: everything is due, the provider is away for a while, and comes back."""
    place.enqueue_many(300)
    refuse(place, 503, "service_unavailable", None)
    numbers: dict[str, Any] = {"cooldown_s": 0.4, "retry_delays_s": (0.5, 1.0), "concurrency": 8}
    shops = [place.shop(**numbers) for _ in range(3)]
    waves = 3 * (8 + shops[0].rules.reserve)

    async def scene() -> None:
        async with await connected(place.dsn()) as look:
            until = await nothing_waits(look)
            loops = [
                asyncio.create_task(looped(place.dsn(), shop, until=until, number=number))
                for number, shop in enumerate(shops)
            ]
            await asyncio.sleep(6)
            during.append(calls(place))
            place.sandbox.order("DELETE", "faults")
            await asyncio.gather(*loops)

    during: list[int] = []
    place.play(scene())
    # The first wave, and then probes alone, however long it lasts.
    assert during[0] <= waves + 25
    assert set(place.states().values()) == {"accepted"}
    assert Intent.objects.filter(failure_count__gt=1).count() == 0
    assert not Intent.objects.filter(error_code=codes.WINDOW_OVER).exists()
    assert int(place.sandbox.order("GET", "ledger")["accepted"]) == 300


def test_a_refused_key_is_one_incident_for_all_hosts(place: Workplace, caplog: Any) -> None:
    """401 for every call of three busy hosts: three cases tell of it, one line in the log, and the rest wait."""
    place.enqueue_many(60)
    refuse(place, 401, "missing_api_key", None)
    shops = [place.shop() for _ in range(3)]
    leases = [place.claim(shop, room=12, worker=f"w{number}") for number, shop in enumerate(shops)]

    async def scene() -> Any:
        return [await sent_all(shop, given) for shop, given in zip(shops, leases, strict=True)]

    sent = place.play(scene())

    async def recorded() -> None:
        async def one(shop: Shop, batch: Any, number: int) -> None:
            async with await connected(place.dsn()) as connection:
                await record(connection, shop, batch, worker=f"w{number}")

        await asyncio.gather(*(one(shop, sent[number], number) for number, shop in enumerate(shops)))

    place.play(recorded())
    assert Counter(place.states().values()) == {"needs_review": 3, "retry": 33, "pending": 24}
    assert not Intent.objects.exclude(failure_count=0).exists()
    told = [one for one in caplog.records if getattr(one, "action", "") == "circuit_opened"]
    assert len(told) == 1
    place.sandbox.order("DELETE", "faults")
    place.later(3700)
    together(place, shops)
    assert Counter(place.states().values()) == {"needs_review": 3, "accepted": 57}
