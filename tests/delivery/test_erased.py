"""Frozen bytes that were erased before the message was accepted: a person is asked, and nothing turns in circles."""

from __future__ import annotations

import pytest

from notifications import outbox
from notifications.cli import seed
from notifications.states import EntryKind, State
from tests.delivery.test_circuits import refuse
from tests.delivery.test_guards import lose_an_answer
from tests.delivery.workplace import Workplace

pytestmark = pytest.mark.django_db(transaction=True)
ERASE = "UPDATE notifyops_private.notifications_prepared SET body = NULL, subject = NULL WHERE intent_id = %s"


def test_erased_bytes_ask_a_person_once_and_a_retry_prepares_them_anew(place: Workplace) -> None:
    intent = place.enqueue()
    refuse(place, 429, "rate_limit_exceeded", 1)
    place.turn()
    place.sql(ERASE, intent)
    place.later(60)
    assert place.turn() == []
    row = place.intent(intent)
    assert (row.state, row.error_code, row.known) == ("needs_review", "bytes_erased", "invalid")
    assert place.kinds(intent) == ["claimed", "result", "invalid"]
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0.0).refused is None
    (sent,) = place.turn()
    assert sent.lease.key == "report-ready/demo-001~g2"
    assert place.intent(intent).state == "accepted"


def test_erased_bytes_that_may_have_arrived_are_not_made_anew(place: Workplace) -> None:
    intent = place.enqueue()
    lose_an_answer(place)
    place.sql(ERASE, intent)
    assert place.turn() == []
    row = place.intent(intent)
    assert (row.state, row.error_code, row.known) == ("needs_review", "bytes_erased", "unknown")
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0.0).refused == "bytes_erased"
    assert place.turn() == []
    assert place.kinds(intent)[-1] == "invalid"
    assert place.sandbox.ledger("report-ready/demo-001").http_requests == 1


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_a_retry_of_what_was_not_sent_makes_erased_bytes_anew_at_once(place: Workplace) -> None:
    intent = seed.play(seed.Story("demo-001", seed.refused_thrice()), using="owner")
    assert intent is not None
    assert place.intent(intent).known == "not_sent"
    place.sql(ERASE, intent)
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0.0).refused is None
    (sent,) = place.turn()
    assert sent.lease.key == "report-ready/demo-001~g2"


def test_cancelling_after_an_attempt_that_may_have_arrived_says_so(place: Workplace) -> None:
    intent = place.enqueue()
    lose_an_answer(place)
    done = outbox.cancel("report-ready/demo-001", "report withdrawn")
    assert (done.outcome, done.state) == ("cancelled_maybe_sent", "cancelled")
    assert place.turn() == []
    assert outbox.cancel("report-ready/demo-001", "report withdrawn").outcome == "already"
    assert place.intent(intent).state == "cancelled"


def test_cancelling_after_an_attempt_that_was_not_sent_is_plain(place: Workplace) -> None:
    place.enqueue()
    refuse(place, 429, "rate_limit_exceeded", 1)
    place.turn()
    assert outbox.cancel("report-ready/demo-001", "report withdrawn").outcome == "cancelled"
