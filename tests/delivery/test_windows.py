"""The key's window: it starts with the first attempt that may have been accepted, and nothing is sent past it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from notifications.states import Known, NextAction
from notifications.types import REPORT_ALARM, REPORT_READY, Registry
from tests.delivery.adapters import ACCEPTED, NOT_SENT, UNKNOWN, Scripted, with_window
from tests.delivery.workplace import Workplace

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "report-ready/demo-001"
DAY = 86_400


def test_past_the_window_nothing_is_sent_and_a_person_is_asked(place: Workplace) -> None:
    intent = place.enqueue()
    place.sandbox.fault(stage="after_accept", kind="close", times=1)
    place.turn()
    place.later(DAY)
    assert place.turn() == []
    row = place.intent(intent)
    assert (row.state, row.error_code) == ("needs_review", "window_over")
    assert (row.known, row.next_action) == (Known.UNKNOWN, NextAction.QUERY_PROVIDER)
    assert place.kinds(intent) == ["claimed", "result", "window_over"]
    assert place.sandbox.ledger(KEY).http_requests == 1


def test_inside_the_window_it_is_sent(place: Workplace) -> None:
    """The window is 24 h less the margin of 30 min: a minute before its end the key still protects."""
    intent = place.enqueue()
    place.sandbox.fault(stage="after_accept", kind="close", times=1)
    place.turn()
    place.later(DAY - 1800 - 60)
    place.turn()
    assert (place.intent(intent).state, place.sandbox.ledger(KEY).accepted) == ("accepted", 1)


def test_without_the_window_the_same_repeat_would_be_a_second_message(place: Workplace) -> None:
    """What the guard is for: an adapter that promises a longer window than its provider keeps sends twice."""
    intent = place.enqueue()
    place.sandbox.fault(stage="after_accept", kind="close", times=1)
    place.turn()
    place.later(DAY + 60)
    adapter = place.adapter()
    adapter.capabilities = with_window(timedelta(days=7))
    place.sql("UPDATE notifyops_private.notifications_notificationtype SET loss_model = 'must_arrive'")
    place.turn(place.shop(adapter, types=_must_arrive()))
    assert (place.intent(intent).state, place.sandbox.ledger(KEY).accepted) == ("accepted", 2)


def _must_arrive() -> Registry:
    types = Registry()
    types.add(replace(REPORT_READY, loss_model=REPORT_ALARM.loss_model))
    return types


def test_the_window_starts_at_the_claim_of_the_first_ambiguous_attempt(place: Workplace) -> None:
    intent = place.enqueue()
    shop = place.shop(Scripted([NOT_SENT, UNKNOWN, UNKNOWN]))
    for wait_s in (100, 500, 0):
        place.turn(shop)
        place.later(wait_s)
    (second,) = place.sql(
        "SELECT at FROM notifyops_private.notifications_logentry "
        "WHERE intent_id = %s AND kind = 'claimed' AND attempt = 2",
        intent,
    )[0]
    row = place.intent(intent)
    assert row.first_ambiguous_at == second
    assert row.safe_until == second + timedelta(hours=23, minutes=30)


def test_an_attempt_that_provably_was_not_sent_starts_no_window(place: Workplace) -> None:
    intent = place.enqueue()
    shop = place.shop(Scripted([NOT_SENT, ACCEPTED]))
    place.turn(shop)
    place.later(3 * DAY)
    place.turn(shop)
    assert place.intent(intent).state == "accepted"


def test_the_smaller_of_promise_and_setting_counts(place: Workplace) -> None:
    intent = place.enqueue()
    place.turn(place.shop(Scripted([UNKNOWN], capabilities=with_window(timedelta(hours=2)))))
    row = place.intent(intent)
    assert row.safe_until is not None
    assert row.first_ambiguous_at is not None
    assert row.safe_until - row.first_ambiguous_at == timedelta(minutes=90)


def test_a_retry_is_drawn_into_the_window_rather_than_past_it(place: Workplace) -> None:
    """A Retry-After of an hour, a window of half an hour: the repeat is due while the key still protects it."""
    intent = place.enqueue()
    place.sandbox.fault(kind="status", status=503, headers={"Retry-After": "3600"})
    place.turn(place.shop(window_s=3600.0))
    row = place.intent(intent)
    assert row.next_attempt_at is not None
    assert row.safe_until is not None
    assert row.next_attempt_at < row.safe_until


def test_past_the_window_what_must_arrive_is_sent_and_marked_as_a_possible_duplicate(place: Workplace) -> None:
    intent = place.enqueue(kind="report_alarm")
    place.sandbox.fault(stage="after_accept", kind="close", times=1)
    place.turn()
    place.later(DAY)
    place.turn()
    assert place.intent(intent).state == "accepted"
    marks = [entry["detail"].get("possible_duplicate") for entry in place.log(intent) if entry["kind"] == "claimed"]
    assert marks == [None, True]
