"""What concerns a whole account costs no notification an attempt: rate limits, quotas, refusals of the account."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from notifications.delivery.claim import claim
from notifications.delivery.lease import Lease
from notifications.models import Intent
from tests.delivery.test_quota_turns import to_midnight
from tests.delivery.workplace import Workplace, connected

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def refuse(place: Workplace, status: int, name: str, times: int | None, **more: Any) -> None:
    place.sandbox.fault(kind="status", status=status, name=name, times=times, **more)


def calls(place: Workplace) -> int:
    return int(place.sandbox.order("GET", "ledger")["http_requests"])


def circuit(place: Workplace) -> tuple[Any, ...]:
    """Give reason, code and count of refusals, and the seconds until it opens again."""
    rows = place.sql(
        "SELECT reason, code, config_failures, extract(epoch FROM open_until - notifyops_private.clock_v1())::float "
        "FROM notifyops_private.notifications_circuit"
    )
    return rows[0] if rows else (None, None, 0, None)


def test_a_rate_limit_makes_the_whole_account_wait_and_burns_no_failure(place: Workplace) -> None:
    place.enqueue_many(20)
    refuse(place, 429, "rate_limit_exceeded", 5, headers={"Retry-After": "30"})
    place.turn(room=10)
    assert place.turn() == []
    assert (calls(place), Intent.objects.filter(state="accepted").count()) == (10, 5)
    place.later(40)
    place.turn()
    assert set(place.states().values()) == {"accepted"}
    assert not Intent.objects.exclude(failure_count=0).exists()


def test_a_real_rate_limit_is_kept_by_the_loop_and_nothing_is_lost(place: Workplace) -> None:
    place.sandbox.configure(rate_per_s=10)
    place.enqueue_many(30)
    place.run(budget_s=30.0)
    assert set(place.states().values()) == {"accepted"}
    assert not Intent.objects.exclude(failure_count=0).exists()
    assert place.sandbox.order("GET", "ledger")["accepted"] == 30


def test_a_days_quota_opens_the_circuit_until_midnight_and_burns_no_failure(place: Workplace) -> None:
    to_midnight(place, 12 * 3600)
    place.enqueue_many(6)
    refuse(place, 429, "daily_quota_exceeded", 3)
    place.turn(room=3)
    assert place.turn() == []
    assert circuit(place)[0] == "daily_quota"
    ((midnight,),) = place.sql(
        "SELECT open_until AT TIME ZONE 'UTC' = date_trunc('day', notifyops_private.clock_v1() AT TIME ZONE 'UTC') "
        "+ interval '1 day' FROM notifyops_private.notifications_circuit"
    )
    assert midnight
    place.later(86_400)
    assert len(place.turn()) == 1
    place.run()
    assert set(place.states().values()) == {"accepted"}
    assert not Intent.objects.exclude(failure_count=0).exists()


def test_a_months_quota_waits_for_a_person(place: Workplace) -> None:
    place.enqueue_many(2)
    refuse(place, 429, "monthly_quota_exceeded", 1)
    place.turn(room=1)
    place.later(40 * 86_400)
    assert place.turn() == []
    assert set(place.states().values()) == {"retry", "pending"}
    ((never,),) = place.sql("SELECT open_until = 'infinity' FROM notifyops_private.notifications_circuit")
    assert never


def open_by_refusals(place: Workplace, count: int = 3) -> None:
    refuse(place, 403, "invalid_api_key", count)
    shop = place.shop()
    for _ in range(count):
        place.turn(shop, room=1)


def test_three_refusals_of_the_account_open_its_circuit_and_the_rest_wait(place: Workplace) -> None:
    place.enqueue_many(8)
    open_by_refusals(place)
    assert place.turn() == []
    reason, code, count, _ = circuit(place)
    assert (reason, code, count) == ("config", "resend.403.invalid_api_key", 3)
    refused = Intent.objects.filter(state="needs_review", next_action="fix_config", known="invalid").count()
    waiting = Intent.objects.filter(state="pending", attempt_count=0, failure_count=0).count()
    assert (refused, waiting, calls(place)) == (3, 5, 3)


def test_refusals_of_one_message_are_no_sign_of_the_accounts_health(place: Workplace) -> None:
    place.enqueue_many(6)
    refuse(place, 422, "validation_error", 4)
    shop = place.shop()
    for _ in range(4):
        place.turn(shop, room=1)
    place.turn(shop)
    assert sorted(place.states().values()) == ["accepted"] * 2 + ["needs_review"] * 4
    assert circuit(place) == (None, None, 0, None)


def test_a_success_in_between_starts_the_count_anew(place: Workplace) -> None:
    place.enqueue_many(6)
    shop = place.shop()
    for _ in range(2):
        refuse(place, 403, "invalid_api_key", 2)
        for _ in range(3):
            place.turn(shop, room=1)
    assert circuit(place)[2:] == (0, None)
    assert sorted(place.states().values()) == ["accepted"] * 2 + ["needs_review"] * 4


def test_a_circuit_that_has_cooled_down_lets_exactly_one_probe_through_over_all_hosts(place: Workplace) -> None:
    place.enqueue_many(20)
    open_by_refusals(place)
    place.later(31)
    shops = [place.shop() for _ in range(4)]

    async def one(number: int) -> list[Lease]:
        async with await connected(place.dsn()) as connection:
            return await claim(connection, shops[number], worker=f"w{number}", room=32)

    async def scene() -> list[list[Lease]]:
        return await asyncio.gather(*(one(number) for number in range(4)))

    leases = [lease for given in place.play(scene()) for lease in given]
    assert [lease.probe for lease in leases] == [True]
    assert place.claim() == []


def test_the_probes_success_closes_the_circuit(place: Workplace) -> None:
    place.enqueue_many(10)
    open_by_refusals(place)
    place.later(31)
    (probe,) = place.turn()
    assert probe.result.outcome == "accepted"
    assert circuit(place) == (None, None, 0, None)
    # No herd: the backlog is let go slowly at first.
    assert len(place.turn()) == 1
    place.later(9)
    assert len(place.turn()) == 5


def test_a_probe_that_is_refused_doubles_the_wait(place: Workplace) -> None:
    place.enqueue_many(10)
    open_by_refusals(place)
    assert 25 < circuit(place)[3] <= 30
    place.later(31)
    refuse(place, 403, "invalid_api_key", 1)
    (probe,) = place.turn()
    assert probe.lease.probe
    assert 55 < circuit(place)[3] <= 61
    # It waits like the rest: a person has the first three, and needs no more of the same incident.
    assert Intent.objects.filter(state="needs_review").count() == 3
    assert place.intent(probe.lease.id).state == "retry"


def test_a_probe_whose_worker_died_is_followed_by_another(place: Workplace) -> None:
    place.enqueue_many(5)
    open_by_refusals(place)
    place.later(31)
    assert len(place.claim()) == 1
    assert place.claim(worker="w2") == []
    place.later(61)
    assert len(place.turn(worker="w2")) == 1
    place.run()
    assert Intent.objects.filter(state="accepted").count() == 2


def test_a_wait_is_never_shortened_by_a_later_answer(place: Workplace) -> None:
    place.enqueue_many(2)
    refuse(place, 429, "rate_limit_exceeded", 1, headers={"Retry-After": "600"})
    refuse(place, 429, "rate_limit_exceeded", 1, headers={"Retry-After": "1"})
    place.turn()
    place.later(60)
    assert place.turn() == []


def test_a_disabled_account_is_not_called(place: Workplace) -> None:
    place.enqueue()
    place.sql("UPDATE notifyops_private.notifications_provideraccount SET enabled = false")
    assert place.turn() == []
    place.sql("UPDATE notifyops_private.notifications_provideraccount SET enabled = true")
    assert len(place.turn()) == 1
