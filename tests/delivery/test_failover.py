"""A second account takes over what is proven not to have left; whatever is in doubt stays where it was tried."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from notifications.delivery.failover import BATCH, fail_over
from notifications.models import Intent
from tests.delivery.adapters import ACCEPTED, NOT_SENT, UNKNOWN
from tests.delivery.two_accounts import BAD_KEY, QUOTA, two
from tests.delivery.workplace import Workplace, connected

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "report-ready/demo-001"


def explained(place: Workplace) -> str:
    return "\n".join(row[0] for row in place.sql("SELECT * FROM notifyops.explain(%s)", KEY))


def test_what_waits_behind_an_outage_goes_over_once_it_has_lasted(place: Workplace) -> None:
    pair = two(place, NOT_SENT)
    place.enqueue_many(5)
    for _ in range(3):
        place.turn(pair.shop, room=1)
    pair.hand_over()
    assert place.turn(pair.shop) == [], "the outage is young"
    place.later(15)
    pair.hand_over()
    place.turn(pair.shop)
    assert Counter(Intent.objects.values_list("account_id", "state")) == {
        (place.account, "retry"): 3,
        (pair.spare, "accepted"): 2,
    }
    assert {key[-3:] for key in pair.called()[1]} == {"~g2"}
    assert b"spare@example.com" in pair.second.calls[0].body


def test_what_was_tried_and_never_reached_it_goes_over_when_it_is_due(place: Workplace) -> None:
    pair = two(place, NOT_SENT)
    intent = place.enqueue()
    place.turn(pair.shop)
    place.later(100)
    pair.open(place.account)
    place.later(15)
    pair.hand_over()
    place.turn(pair.shop)
    assert place.kinds(intent) == ["claimed", "result", "failed_over", "claimed", "result"]
    row = place.intent(intent)
    assert (row.state, row.generation, row.failure_count, row.attempt_count) == ("accepted", 2, 0, 2)
    assert pair.called() == ([KEY], [f"{KEY}~g2"])
    assert "taken over from account resend (outage) by account spare, as generation 2" in explained(place)


def test_what_may_have_arrived_stays(place: Workplace) -> None:
    pair = two(place, UNKNOWN)
    intent = place.enqueue()
    place.turn(pair.shop)
    other = place.enqueue("demo-002")
    place.later(100)
    pair.open(place.account)
    place.later(15)
    pair.hand_over()
    assert place.turn(pair.shop)[0].lease.id == other
    assert (place.kinds(intent), place.intent(intent).account_id) == (["claimed", "result"], place.account)


@pytest.mark.parametrize("answer", [BAD_KEY, QUOTA], ids=["key", "quota"])
def test_a_refusal_of_the_account_is_no_case_and_goes_over_at_once(place: Workplace, answer: Any) -> None:
    pair = two(place, answer, after_s=600.0)
    intent = place.enqueue()
    place.turn(pair.shop)
    place.turn(pair.shop)
    assert place.kinds(intent) == ["claimed", "result", "failed_over", "claimed", "result"]
    assert place.states() == {"demo-001": "accepted"}


def test_without_a_fallback_the_same_refusal_is_a_case(place: Workplace) -> None:
    pair = two(place, BAD_KEY)
    del pair.shop.accounts[pair.spare]
    place.enqueue()
    place.turn(pair.shop)
    assert place.states() == {"demo-001": "needs_review"}


def test_the_last_try_that_never_reached_it_goes_over_instead_of_to_a_person(place: Workplace) -> None:
    pair = two(place, NOT_SENT, after_s=3600.0)
    place.enqueue()
    for _ in range(3):
        place.turn(pair.shop)
        place.later(500)
    place.turn(pair.shop)
    assert place.states() == {"demo-001": "accepted"}
    assert [len(keys) for keys in pair.called()] == [3, 1]


def test_where_the_fallback_is_not_called_either_it_waits_and_then_is_a_case(place: Workplace) -> None:
    pair = two(place, NOT_SENT, after_s=3600.0)
    pair.open(pair.spare)
    place.enqueue()
    for _ in range(3):
        place.turn(pair.shop)
        place.later(500)
    assert place.states() == {"demo-001": "retry"}
    place.sql("DELETE FROM notifyops_private.notifications_circuit WHERE account_id = %s", place.account)
    place.turn(pair.shop)
    assert (place.states(), len(pair.second.calls)) == ({"demo-001": "needs_review"}, 0)


def test_a_refusal_of_the_recipient_stays_a_case(place: Workplace) -> None:
    pair = two(place)
    place.sandbox.fault(kind="status", status=422, name="invalid_to_address", times=1)
    pair.shop.accounts[place.account] = place.shop().accounts[place.account]
    place.enqueue()
    place.turn(pair.shop)
    assert place.states() == {"demo-001": "needs_review"}


def test_a_host_without_the_fallbacks_secret_hands_nothing_over(place: Workplace) -> None:
    pair = two(place)
    place.enqueue()
    pair.open(place.account)
    place.later(15)
    bare = place.shop(pair.first)
    pair.hand_over(bare)
    assert place.intent(Intent.objects.get().pk).account_id == place.account
    pair.hand_over()
    assert Intent.objects.get().account_id == pair.spare


def test_hosts_at_once_hand_each_over_once(place: Workplace) -> None:
    pair = two(place, after_s=0.0)
    place.enqueue_many(60)
    pair.open(place.account)
    pair.shop.troubled.add(place.account)

    async def one(number: int) -> None:
        async with await connected(place.dsn()) as connection:
            await fail_over(connection, pair.shop, worker=f"w{number}")

    async def scene() -> None:
        await asyncio.gather(*(one(number) for number in range(4)))

    place.play(scene())
    rows = place.sql("SELECT intent_id FROM notifyops_private.notifications_logentry WHERE kind = 'failed_over'")
    assert (len(rows), len(set(rows))) == (60, 60)
    assert set(Intent.objects.values_list("account_id", "generation")) == {(pair.spare, 2)}


def test_a_big_backlog_goes_over_in_parts(place: Workplace) -> None:
    pair = two(place, after_s=0.0)
    place.enqueue_many(BATCH + 10)
    pair.open(place.account)
    assert (pair.hand_over(), pair.hand_over()) == (True, False)
    assert set(Intent.objects.values_list("account_id", flat=True)) == {pair.spare}


def test_the_loop_hands_over_by_itself(place: Workplace) -> None:
    pair = two(place, after_s=0.0)
    place.enqueue_many(20)
    pair.open(place.account)
    place.run(pair.shop)
    assert set(place.states().values()) == {"accepted"}
    assert (len(pair.first.calls), len(pair.second.calls)) == (0, 20)


def test_failures_at_the_first_account_are_none_of_the_second(place: Workplace) -> None:
    pair = two(place, NOT_SENT, spare=UNKNOWN, after_s=0.0)
    place.enqueue_many(4)
    for _ in range(4):
        place.turn(pair.shop, room=1)
    pair.open(place.account)
    place.later(100)
    pair.hand_over()
    place.turn(pair.shop, room=1)
    assert place.sql("SELECT account_id FROM notifyops_private.notifications_circuit WHERE open_until IS NOT NULL") == [
        (place.account,)
    ]


def test_a_persons_order_waits_for_its_undo_before_it_goes_over(place: Workplace) -> None:
    pair = two(place, ACCEPTED, after_s=0.0)
    place.enqueue(not_before="2999-01-01T00:00:00Z")
    pair.open(place.account)
    pair.hand_over()
    assert Intent.objects.get().account_id == place.account, "what is not due may still be called back"
