"""A lease is the right to send once: it ends by the clock, and whoever comes after it changes nothing."""

from __future__ import annotations

import pytest
from psycopg.pq import TransactionStatus

from notifications.delivery.claim import claim
from notifications.delivery.lease import boot_clock
from notifications.states import Known, NextAction
from tests.delivery.workplace import Workplace, connected

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "report-ready/demo-001"


def test_a_live_lease_is_left_alone(place: Workplace) -> None:
    place.enqueue()
    place.claim()
    place.later(59)
    assert place.claim(worker="w2") == []


def test_an_expired_lease_is_closed_and_claimed_again_in_one_claim_with_the_same_key_and_bytes(
    place: Workplace,
) -> None:
    intent = place.enqueue()
    (first,) = place.claim(worker="w1")
    place.later(61)
    (second,) = place.claim(worker="w2")
    assert (second.key, second.body) == (first.key, first.body)
    assert (second.fence, second.attempt) == (first.fence + 1, 2)
    claimed, lost, again = place.log(intent)
    assert [entry["kind"] for entry in (claimed, lost, again)] == ["claimed", "lease_lost", "claimed"]
    assert (lost["outcome"], lost["code"], lost["worker"]) == ("unknown", "worker_lost", "w2")
    row = place.intent(intent)
    assert (row.failure_count, row.known, row.leased_by) == (1, "unknown", "w2")
    assert row.first_ambiguous_at is not None


def test_the_third_lost_lease_asks_a_person(place: Workplace) -> None:
    intent = place.enqueue()
    for worker in ("w1", "w2", "w3"):
        (lease,) = place.claim(worker=worker)
        place.later(61)
    assert lease.attempt == 3
    assert place.claim(worker="w4") == []
    row = place.intent(intent)
    assert (row.state, row.error_code, row.attempt_count) == ("needs_review", "worker_lost", 3)
    assert (row.known, row.next_action) == (Known.UNKNOWN, NextAction.QUERY_PROVIDER)


def test_a_never_twice_lease_that_is_lost_is_not_claimed_again(place: Workplace) -> None:
    intent = place.enqueue(kind="report_once")
    place.claim()
    place.later(61)
    assert place.claim(worker="w2") == []
    assert (place.intent(intent).state, place.intent(intent).error_code) == ("needs_review", "worker_lost")


def test_the_write_is_refused_where_the_lease_would_not_cover_the_call(place: Workplace) -> None:
    """The lease of 60 s, less a call of 10 s and a second to record: nothing is written after 49 s."""
    intent = place.enqueue()
    shop = place.shop()
    shop.clock = lambda: boot_clock() - 50
    (sent,) = place.turn(shop)
    assert (sent.result.outcome, sent.result.code) == ("not_sent", "not_sent.lease_over")
    assert place.sandbox.requests() == []
    row = place.intent(intent)
    assert (row.state, row.known, row.first_ambiguous_at) == ("retry", "not_sent", None)


def test_the_same_write_is_made_while_the_lease_covers_it(place: Workplace) -> None:
    """The counterpart that shows what the check above depends on: only the time since the claim."""
    place.enqueue()
    shop = place.shop()
    shop.clock = lambda: boot_clock() - 40
    (sent,) = place.turn(shop)
    assert sent.result.outcome == "accepted"


def test_the_lease_is_counted_from_before_the_claims_transaction(place: Workplace) -> None:
    place.enqueue()
    shop, seen = place.shop(), list[TransactionStatus]()

    async def scene() -> float:
        async with await connected(place.dsn()) as connection:

            def clock() -> float:
                seen.append(connection.info.transaction_status)
                return 1000.0

            shop.clock = clock
            (lease,) = await claim(connection, shop, worker="w1", room=1)
            return lease.write_until

    assert place.play(scene()) == 1000.0 + 60.0 - 10.0 - 1.0
    assert seen == [TransactionStatus.IDLE]


def test_a_stall_inside_the_claim_ends_the_right_to_write(place: Workplace) -> None:
    """The clock is read once, before BEGIN: a claim that took longer than its lease gives nothing to send."""
    place.enqueue()
    shop = place.shop(lease_s=3.0, timeout_s=1.5)
    shop.clock = lambda: boot_clock() - 1.0
    (lease,) = place.claim(shop)
    assert lease.write_until < boot_clock()
