"""Where nobody can say whether a message went out: the loss model decides, and the key keeps it one message."""

from __future__ import annotations

import asyncio

import pytest

from notifications.delivery.claim import claim
from notifications.delivery.record import record
from notifications.delivery.send import send
from notifications.providers.resend import ResendProvider
from notifications.states import Known, NextAction
from tests.delivery.adapters import ACCEPTED, IN_FLIGHT, NO_KEYS, UNKNOWN, Scripted
from tests.delivery.workplace import Workplace, connected
from tests.postgres import free_port

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
KEY = "report-ready/demo-001"
LOST_ANSWERS = {
    "closed": {"kind": "close"},
    "reset": {"kind": "rst"},
    "slower-than-we-wait": {"kind": "delay", "seconds": 1.5},
    "cut-short": {"kind": "truncate"},
    "garbage": {"kind": "garbage"},
}


@pytest.mark.parametrize("fault", LOST_ANSWERS.values(), ids=LOST_ANSWERS)
def test_an_accepted_message_whose_answer_is_lost_is_sent_once_more_under_its_key(
    place: Workplace, fault: dict[str, object]
) -> None:
    """H-DUP-4, at_least_once."""
    intent = place.enqueue()
    place.sandbox.fault(stage="after_accept", times=1, match=KEY, **fault)
    place.turn(place.shop(timeout_s=0.5))
    row = place.intent(intent)
    assert (row.state, row.known, row.failure_count) == ("retry", "unknown", 1)
    assert place.log(intent)[-1]["outcome"] == "unknown"
    place.later(100)
    place.turn()
    ledger, row = place.sandbox.ledger(KEY), place.intent(intent)
    assert (ledger.accepted, ledger.http_requests, ledger.replays) == (1, 2, 1)
    assert (row.state, row.provider_message_id) == ("accepted", ledger.ids[0])
    assert len({request["body_sha256"] for request in place.sandbox.requests(KEY)}) == 1


@pytest.mark.parametrize("fault", LOST_ANSWERS.values(), ids=LOST_ANSWERS)
def test_a_never_twice_message_whose_answer_is_lost_asks_a_person(place: Workplace, fault: dict[str, object]) -> None:
    """H-DUP-4, never_twice: no second POST at all."""
    intent = place.enqueue(kind="report_once")
    place.sandbox.fault(stage="after_accept", times=1, **fault)
    place.turn(place.shop(timeout_s=0.5))
    row = place.intent(intent)
    assert (row.state, row.known, row.next_action) == ("needs_review", Known.UNKNOWN, NextAction.QUERY_PROVIDER)
    place.later(90_000)
    assert place.turn() == []
    assert place.sandbox.ledger("report-once/demo-001").http_requests == 1


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}", "http://nowhere.invalid"], ids=["refused", "dns"])
@pytest.mark.parametrize("kind", ["report_ready", "report_once"])
def test_what_never_left_is_known_not_to_have_been_sent(place: Workplace, url: str, kind: str) -> None:
    """H-DUP-4: a plain retryable failure for every loss model, and then a case whose truth is known."""
    intent = place.enqueue(kind=kind)
    for wait_s in (100, 400, 0):
        adapter = ResendProvider(base_url=url.format(port=free_port()), api_key="re_test")
        place.turn(place.shop(adapter))
        assert place.log(intent)[-1]["outcome"] == "not_sent"
        assert place.intent(intent).first_ambiguous_at is None
        place.later(wait_s)
    row = place.intent(intent)
    assert (row.state, row.known, row.next_action) == ("needs_review", Known.NOT_SENT, NextAction.RETRY_SAME_KEY)
    assert (row.attempt_count, row.failure_count) == (3, 3)


def test_a_call_that_is_still_running_at_the_provider_is_waited_for(place: Workplace) -> None:
    """H-IDEM-2: both calls under one key; the second is told "in progress", and the case ends with the first's id."""
    intent = place.enqueue()
    place.sandbox.fault(stage="during", kind="delay", seconds=0.8, times=1, match=KEY)
    shop = place.shop()

    async def scene() -> None:
        async with await connected(place.dsn()) as one:
            (old,) = await claim(one, shop, worker="w1", room=1)
            running = asyncio.create_task(send(old, shop.accounts[place.account]))
            await asyncio.sleep(0.3)
            place.later(61)
            async with await connected(place.dsn()) as other:
                (new,) = await claim(other, shop, worker="w2", room=1)
                refused = await send(new, shop.accounts[place.account])
                await record(other, shop, [refused], worker="w2")
            assert refused.result.outcome == "in_flight"
            await running

    place.play(scene())
    row = place.intent(intent)
    assert (row.state, row.known, row.in_flight_count, row.failure_count) == ("retry", "unknown", 1, 1)
    place.later(61)
    place.turn()
    ledger = place.sandbox.ledger(KEY)
    assert (ledger.accepted, place.intent(intent).state) == (1, "accepted")
    assert place.intent(intent).provider_message_id == ledger.ids[0]
    assert place.intent(intent).generation == 1


def test_ten_answers_in_progress_ask_a_person_and_are_no_failures(place: Workplace) -> None:
    intent = place.enqueue()
    shop = place.shop(Scripted([IN_FLIGHT]))
    for _ in range(10):
        assert len(place.turn(shop)) == 1
        place.later(61)
    row = place.intent(intent)
    assert (row.state, row.in_flight_count, row.failure_count) == ("needs_review", 10, 0)
    assert (row.known, row.error_code) == ("unknown", "test.409.in_flight")


def test_the_same_key_with_other_content_goes_to_a_person_at_once(place: Workplace) -> None:
    """The second 409: an earlier request was accepted, so no attempt of ours can be right."""
    intent = place.enqueue()
    place.sandbox.fault(kind="status", status=409, name="invalid_idempotent_request")
    place.turn()
    row = place.intent(intent)
    assert (row.state, row.known, row.attempt_count) == ("needs_review", Known.CONFLICT, 1)
    assert row.error_code == "resend.409.invalid_idempotent_request"


def test_without_keys_at_the_provider_an_unknown_outcome_is_never_repeated_by_itself(place: Workplace) -> None:
    intent = place.enqueue()
    adapter = Scripted([UNKNOWN], capabilities=NO_KEYS)
    place.turn(place.shop(adapter))
    row = place.intent(intent)
    assert (row.state, row.known, row.next_action) == ("needs_review", Known.UNKNOWN, NextAction.QUERY_PROVIDER)
    assert len(adapter.calls) == 1


def test_what_must_arrive_is_repeated_without_protection_and_marked(place: Workplace) -> None:
    intent = place.enqueue(kind="report_alarm")
    shop = place.shop(Scripted([UNKNOWN, ACCEPTED], capabilities=NO_KEYS))
    place.turn(shop)
    assert place.log(intent)[-1]["detail"] == {"possible_duplicate": True}
    place.later(100)
    place.turn(shop)
    claimed = place.log(intent)[2]
    assert (claimed["kind"], claimed["detail"]["possible_duplicate"]) == ("claimed", True)
    assert place.intent(intent).state == "accepted"
