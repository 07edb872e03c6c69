"""Frozen bytes: a key never covers two contents, and only a person's retry of what never left makes new ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from notifications.delivery.shop import Shop
from notifications.states import EntryKind, State
from notifications.types import REPORT_READY, Registry
from tests.delivery.workplace import Workplace

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "report-ready/demo-001"


def next_release(place: Workplace) -> Shop:
    """Give the shop after a deploy: another sender and other tags, so that whatever is rendered anew differs."""
    types = Registry()
    types.add(replace(REPORT_READY, tags={"release": "2"}))
    shop = place.shop(types=types)
    shop.accounts = {key: replace(account, sender="Acme <new@example.com>") for key, account in shop.accounts.items()}
    return shop


def hashes(place: Workplace, key: str) -> list[str]:
    return [request["body_sha256"] for request in place.sandbox.requests(key)]


def failing(place: Workplace, times: int = 1, **answer: Any) -> None:
    place.sandbox.fault(kind="status", times=times, **answer)


def test_a_deploy_between_two_attempts_does_not_change_the_bytes(place: Workplace) -> None:
    place.enqueue()
    failing(place, status=500)
    place.turn()
    place.later(100)
    place.turn(next_release(place))
    assert len(hashes(place, KEY)) == 2
    assert len(set(hashes(place, KEY))) == 1
    assert place.states() == {"demo-001": "accepted"}


def test_the_same_deploy_does_change_what_is_prepared_after_it(place: Workplace) -> None:
    """The counterpart that shows that the test above could fail."""
    place.enqueue()
    place.turn(next_release(place))
    assert "new@example.com" in place.sandbox.requests(KEY)[0]["body"]


def test_a_persons_retry_of_an_invalid_case_has_a_new_key_and_new_bytes(place: Workplace) -> None:
    intent = place.enqueue()
    failing(place, status=422, name="invalid_from_address")
    place.turn()
    assert (place.intent(intent).state, place.intent(intent).known) == ("needs_review", "invalid")
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused is None
    place.turn(next_release(place))
    assert place.kinds(intent) == ["claimed", "result", "retried", "re_prepared", "claimed", "result"]
    row = place.intent(intent)
    assert (row.state, row.generation, row.provider_key) == ("accepted", 2, f"{KEY}~g2")
    assert [len(hashes(place, key)) for key in (KEY, f"{KEY}~g2")] == [1, 1]
    assert hashes(place, KEY) != hashes(place, f"{KEY}~g2")
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 1


def test_a_persons_retry_of_an_unknown_case_keeps_key_and_bytes(place: Workplace) -> None:
    intent = place.enqueue()
    place.sandbox.fault(stage="after_accept", kind="close", times=3)
    for _ in range(3):
        place.turn()
        place.later(500)
    assert place.intent(intent).state == "needs_review"
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused is None
    place.turn(next_release(place))
    row = place.intent(intent)
    assert (row.state, row.generation, row.attempt_count) == ("accepted", 1, 4)
    assert (place.sandbox.ledger(KEY).accepted, len(set(hashes(place, KEY)))) == (1, 1)


def test_a_refusal_after_an_unknown_attempt_does_not_free_the_key(place: Workplace) -> None:
    """The first attempt may be out: whatever the second was told, new bytes could be a second message."""
    intent = place.enqueue()
    place.sandbox.fault(stage="after_accept", kind="close", times=1)
    place.turn()
    place.later(100)
    failing(place, status=422, name="invalid_from_address")
    place.turn()
    assert (place.intent(intent).state, place.intent(intent).known) == ("needs_review", "unknown")
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused is None
    place.turn(next_release(place))
    assert (place.intent(intent).generation, place.sandbox.ledger(KEY).accepted) == (1, 1)


def test_a_retry_of_what_cannot_be_prepared_comes_back_with_the_same_reason(place: Workplace) -> None:
    intent = place.enqueue(data={"title": "x" * 10_000})
    place.turn()
    assert place.intent(intent).error_code == "invalid_subject"
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused is None
    assert place.claim() == []
    assert (place.intent(intent).state, place.intent(intent).generation) == ("needs_review", 1)
    assert place.kinds(intent) == ["invalid", "retried", "invalid"]


def test_a_persons_retry_is_one_attempt_and_then_a_case_again(place: Workplace) -> None:
    """A retry buys one call, not another silent ladder."""
    intent = place.enqueue()
    failing(place, times=4, status=500)
    for _ in range(3):
        place.turn()
        place.later(500)
    place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0)
    place.turn()
    row = place.intent(intent)
    assert (row.state, row.attempt_count, row.failure_count) == ("needs_review", 4, 3)
    manual = [entry["trigger"] for entry in place.log(intent) if entry["kind"] == "claimed"]
    assert manual == ["auto", "auto", "auto", "manual"]
