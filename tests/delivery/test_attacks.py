"""What a hostile reader of the core found; each was a real fault once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg.types.json import Jsonb

from notifications.delivery.lease import Sent
from notifications.providers.base import SendResult
from notifications.states import EntryKind, Outcome, Phase, ResultClass, State
from tests.delivery.test_guards import lose_an_answer
from tests.delivery.workplace import Workplace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
DAY_S = 86_400


@contextmanager
def transaction_of(place: Workplace, role: str) -> Iterator[psycopg.Connection]:
    """Hold a transaction open, as a slow business process does."""
    with psycopg.connect(place.dsn(role)) as connection:
        yield connection


@pytest.mark.parametrize("kind", ["report_ready", "report_once"])
def test_a_persons_retry_that_waits_past_the_window_is_not_sent(place: Workplace, kind: str) -> None:
    intent = place.enqueue(kind=kind)
    for _ in range(3):
        if place.intent(intent).state != "needs_review":
            lose_an_answer(place)
            place.later(400)
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=8.0).refused is None
    place.later(30 * 3600)  # an open circuit, a disabled account, no workers
    assert place.turn() == []
    assert place.intent(intent).error_code == "window_over"
    assert place.sandbox.order("GET", "ledger")["accepted"] == 1


def test_a_callers_open_transaction_does_not_hold_up_the_recording(place: Workplace) -> None:
    intent = place.enqueue()
    (lease,) = place.claim()
    with transaction_of(place, "web") as caller:
        row = caller.execute("SELECT outcome FROM notifyops.cancel('report-ready/demo-001', 'moved on')").fetchone()
        assert row == ("too_late",)
        # The row is free again: another session can lock it at once.
        place.sql(f"SELECT 1 FROM notifyops_private.notifications_intent WHERE id = {intent} FOR UPDATE NOWAIT")
    assert lease.id == intent


def test_a_number_beyond_reason_is_refused_and_stops_nobody(place: Workplace) -> None:
    with pytest.raises(psycopg.DatabaseError, match="beyond 1e300"), transaction_of(place, "web") as caller:
        caller.execute(
            "SELECT notifyops.enqueue('report_ready', 'r', 'ana@example.com', '{\"title\": \"a\", \"n\": 1e5000}')"
        )
    digits = {"title": "Q3", "n": int("9" * 299)}
    intent = place.enqueue("long", data=digits)
    with transaction_of(place, "web") as caller:
        caller.execute(
            "SELECT notifyops.enqueue('report_ready', 'text', 'ana@example.com', %s)", [Jsonb({"title": "9" * 5000})]
        )
    place.turn()
    assert place.intent(intent).state == "accepted"


def test_entries_in_the_default_partition_get_their_own_and_none_is_lost(place: Workplace) -> None:
    """H-OPS-4: the clock is far on, maintenance was off; another worker writes while it is repaired."""
    place.later(400 * DAY_S)
    first, second = place.enqueue("a"), place.enqueue("b")
    place.claim(room=1)
    ready, made = threading.Event(), list[object]()

    def repair() -> None:
        ready.wait(10)
        made.extend(place.sql("SELECT notifyops_private.ensure_partitions_v1()", role="worker")[0])

    thread = threading.Thread(target=repair)
    thread.start()
    with transaction_of(place, "worker") as busy:
        busy.execute("SELECT notifyops_private.append_v1('evidence', %s)", [Jsonb([{"id": first}, {"id": second}])])
        ready.set()
        time.sleep(0.5)
    thread.join(20)
    assert made
    assert int(str(made[0])) > 0
    assert place.sql("SELECT count(*) FROM notifyops_private.notifications_logentry_default") == [(0,)]
    assert place.sql("SELECT * FROM notifyops_private.verify_v1(0, 1000000)") == []
    assert (len(place.log(first)), len(place.log(second))) in {(2, 1), (1, 2)}
    assert place.sql("SELECT notifyops_private.ensure_partitions_v1()", role="worker") == [(0,)]


def test_the_partitions_give_way_to_a_readers_open_transaction(place: Workplace) -> None:
    place.later(800 * DAY_S)
    with transaction_of(place, "reader") as reader:
        reader.execute("SELECT count(*) FROM notifyops.log")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            place.sql("SELECT notifyops_private.ensure_partitions_v1()", role="worker")


def test_a_person_cannot_say_what_is_known(place: Workplace) -> None:
    """Else the web role alone could have a message that was accepted prepared anew, under a new key."""
    intent = place.enqueue()
    place.sandbox.fault(kind="status", status=409, name="invalid_idempotent_request")
    place.turn()
    assert place.intent(intent).known == "conflict"
    assert place.person(EntryKind.EVIDENCE, intent, None, known="invalid").refused == "role"
    until = datetime.now(UTC) + timedelta(hours=1)
    assert place.person(EntryKind.SNOOZED, intent, None, known="invalid", until=until).refused is None
    assert place.intent(intent).known == "conflict"
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0.0).refused == "known"


def test_a_lease_that_was_over_before_the_write_is_nobodys_failure(place: Workplace) -> None:
    intent = place.enqueue()
    shop = place.shop(lease_s=60.0, timeout_s=10.0)
    shop.clock = lambda: time.clock_gettime(time.CLOCK_BOOTTIME) - 55.0  # a stall between BEGIN and the write
    (sent,) = place.turn(shop)
    assert sent.result.code == "not_sent.lease_over"
    assert (place.intent(intent).state, place.intent(intent).failure_count) == ("retry", 0)
    assert place.sandbox.requests() == []


def test_a_late_acceptance_that_came_while_the_next_attempt_ran_settles_it_afterwards(place: Workplace) -> None:
    intent = place.enqueue()
    (first,) = place.claim(worker="one")
    place.later(61)
    (second,) = place.claim(worker="two")
    lost = SendResult(Outcome.UNKNOWN, ResultClass.UNKNOWN, "unknown.deadline", Phase.REQUEST_WRITTEN)
    taken = SendResult(Outcome.ACCEPTED, ResultClass.ACCEPTED, "resend.accepted", Phase.ANSWER_READ, "mail-1")
    place.record([Sent(first, taken, 9)], worker="one")
    assert place.intent(intent).state == "sending"
    place.record([Sent(second, lost, 9)], worker="two")
    assert (place.intent(intent).state, place.intent(intent).provider_message_id) == ("accepted", "mail-1")
    assert place.kinds(intent)[-3:] == ["late", "result", "settled"]
