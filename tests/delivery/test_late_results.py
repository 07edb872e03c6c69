"""What comes back too late is kept as evidence; it moves nothing, unless it proves acceptance."""

from __future__ import annotations

import asyncio

import pytest

from notifications.delivery.lease import Lease, Sent
from notifications.delivery.shop import Shop
from tests.delivery.workplace import Workplace, sent_all

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "report-ready/demo-001"


def sent_late(place: Workplace, lease: Lease, shop: Shop | None = None) -> list[Sent]:
    """Send by a lease that is over for the database; the machine had stood still and does not know."""
    return place.play(sent_all(shop or place.shop(), [lease]))  # type: ignore[no-any-return]


def test_a_late_result_is_kept_and_moves_nothing(place: Workplace) -> None:
    intent = place.enqueue()
    (old,) = place.claim(worker="w1")
    place.later(61)
    place.turn(worker="w2")
    accepted = place.intent(intent)
    place.record(sent_late(place, old), worker="w1")
    assert place.kinds(intent) == ["claimed", "lease_lost", "claimed", "result", "late"]
    late = place.log(intent)[-1]
    assert (late["attempt"], late["fence"], late["outcome"], late["worker"]) == (1, old.fence, "accepted", "w1")
    after = place.intent(intent)
    assert (after.state, after.fence, after.provider_message_id) == (
        "accepted",
        accepted.fence,
        accepted.provider_message_id,
    )
    assert place.sandbox.ledger(KEY).accepted == 1


def test_a_late_acceptance_settles_what_waits_for_its_retry(place: Workplace) -> None:
    intent = place.enqueue()
    (old,) = place.claim(worker="w1")
    place.later(61)
    place.sandbox.fault(kind="status", status=500, match=KEY)
    place.turn(worker="w2")
    assert place.intent(intent).state == "retry"
    place.record(sent_late(place, old), worker="w1")
    row = place.intent(intent)
    assert place.kinds(intent)[-2:] == ["late", "settled"]
    assert (row.state, row.provider_message_id) == ("accepted", place.sandbox.ledger(KEY).ids[0])
    assert (row.error_code, row.known, row.next_attempt_at) == (None, None, None)
    place.later(3600)
    assert place.turn() == []


def test_a_late_acceptance_settles_a_case_that_waits_for_a_person(place: Workplace) -> None:
    intent = place.enqueue(kind="report_once")
    (old,) = place.claim(worker="w1")
    place.later(61)
    place.claim(worker="w2")
    assert place.intent(intent).state == "needs_review"
    place.record(sent_late(place, old), worker="w1")
    assert (place.intent(intent).state, place.kinds(intent)[-1]) == ("accepted", "settled")


def test_a_late_refusal_settles_nothing(place: Workplace) -> None:
    intent = place.enqueue(kind="report_once")
    (old,) = place.claim(worker="w1")
    place.later(61)
    place.claim(worker="w2")
    place.sandbox.fault(kind="status", status=422, match="demo-001")
    place.record(sent_late(place, old), worker="w1")
    row = place.intent(intent)
    assert (row.state, row.error_code, row.known) == ("needs_review", "worker_lost", "unknown")
    assert place.kinds(intent)[-1] == "late"


def test_a_late_acceptance_leaves_the_attempt_that_runs_now_alone(place: Workplace) -> None:
    intent = place.enqueue()
    (old,) = place.claim(worker="w1")
    place.later(61)
    (new,) = place.claim(worker="w2")
    place.record(sent_late(place, old), worker="w1")
    assert (place.intent(intent).state, place.intent(intent).leased_by) == ("sending", "w2")
    place.record(sent_late(place, new), worker="w2")
    assert (place.intent(intent).state, place.sandbox.ledger(KEY).accepted) == ("accepted", 1)


def test_recording_twice_changes_nothing_the_second_time(place: Workplace) -> None:
    """What a loop does that never heard the answer to its COMMIT."""
    intent = place.enqueue()
    shop = place.shop()
    (sent,) = place.turn(shop)
    first = place.intent(intent)
    place.record([sent], shop)
    second = place.intent(intent)
    assert (second.state, second.failure_count, second.provider_message_id) == (
        "accepted",
        0,
        first.provider_message_id,
    )
    assert place.kinds(intent) == ["claimed", "result", "late"]


def test_recording_a_failure_twice_counts_it_once(place: Workplace) -> None:
    intent = place.enqueue()
    place.sandbox.fault(kind="status", status=500)
    (sent,) = place.turn()
    place.record([sent])
    row = place.intent(intent)
    assert (row.state, row.failure_count, place.kinds(intent)) == ("retry", 1, ["claimed", "result", "late"])


@pytest.mark.parametrize("new_one_fails", [False, True], ids=["both-accepted", "new-one-unknown"])
def test_two_results_of_one_intent_in_one_batch_are_one_result_and_one_late(
    place: Workplace, new_one_fails: bool
) -> None:
    """A machine that slept past a lease takes it again itself, and then both calls end together."""
    intent, other = place.enqueue(), place.enqueue("demo-002")
    (old,) = [lease for lease in place.claim() if lease.id == intent]
    place.later(61)
    new = {lease.id: lease for lease in place.claim()}
    shop = place.shop()

    async def scene() -> list[Sent]:
        ((early,),) = await asyncio.gather(sent_all(shop, [old]))
        if new_one_fails:
            place.sandbox.fault(kind="status", status=500, match="demo-001")
        late = await sent_all(shop, [new[intent], new[other]])
        return [early, *late]

    place.record(place.play(scene()), shop)
    assert place.states() == {"demo-001": "accepted", "demo-002": "accepted"}
    assert place.kinds(intent)[3:] == (["result", "late", "settled"] if new_one_fails else ["result", "late"])
    assert place.kinds(other) == ["claimed", "lease_lost", "claimed", "result"]
