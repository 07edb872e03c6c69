"""Safeguards that no other test would miss: each of these fails where its safeguard is taken away."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from notifications.delivery.claim import claim
from notifications.delivery.link import is_away
from notifications.delivery.record import record
from notifications.types import Registry
from tests.delivery.test_circuits import circuit, open_by_refusals, refuse
from tests.delivery.test_guards import lose_an_answer
from tests.delivery.workplace import WORKER, Workplace, connected, looped, nothing_waits, sent_all
from tests.intake.test_races import waits_for_a_lock

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
PARTITIONS = "SELECT notifyops_private.ensure_partitions_v1()"


def test_a_probe_that_was_not_used_is_given_to_the_next_at_once(place: Workplace) -> None:
    """The intent that was to be the probe has expired: nothing was sent, so nothing is known of the account."""
    place.enqueue_many(3)
    open_by_refusals(place)
    soon = datetime.now(UTC) + timedelta(seconds=20)
    gone = place.enqueue("gone", expires_at=soon.isoformat())
    place.later(31)
    place.enqueue("next")
    assert place.turn(room=1) == []
    assert place.intent(gone).state == "cancelled"
    (probe,) = place.turn()
    assert probe.lease.probe
    assert place.states()["next"] == "accepted"
    assert circuit(place) == (None, None, 0, None)


def test_an_unknown_answer_of_a_type_that_this_release_does_not_know_asks_a_person(place: Workplace) -> None:
    """A release was taken back: its bytes are frozen, and what the type wants of a repeat is not known any more."""
    intent = place.enqueue()
    refuse(place, 429, "rate_limit_exceeded", 1)
    place.turn()
    place.later(60)
    place.sandbox.fault(stage="after_accept", kind="close", times=1)
    place.turn(place.shop(types=Registry()))
    row = place.intent(intent)
    assert (row.attempt_count, row.state, row.known) == (2, "needs_review", "unknown")
    place.later(400)
    assert place.turn() == []
    assert place.sandbox.ledger("report-ready/demo-001").accepted == 1


def test_what_must_arrive_is_not_repeated_unprotected_where_nobody_knows_that_it_must(place: Workplace) -> None:
    intent = place.enqueue(kind="report_alarm")
    lose_an_answer(place)
    place.later(86_400)
    assert place.turn(place.shop(types=Registry())) == []
    assert (place.intent(intent).state, place.intent(intent).error_code) == ("needs_review", "window_over")


def test_a_database_that_only_reads_is_away_and_the_loop_waits_for_it(place: Workplace) -> None:
    """A failover's first seconds: the old server lives on, and refuses to write (SQLSTATE 25006)."""
    place.enqueue_many(3)
    database = place.sql("SELECT current_database()")[0][0]
    role = f'ALTER ROLE notifyops_test_worker IN DATABASE "{database}"'
    place.sql(f"{role} SET default_transaction_read_only = on", role="postgres")

    async def scene() -> None:
        async with await connected(place.dsn("web")) as look:
            running = asyncio.create_task(looped(place.dsn(), place.shop(), until=await nothing_waits(look)))
            try:
                await asyncio.sleep(1.0)
                assert not running.done()
            finally:
                place.sql(f"{role} RESET default_transaction_read_only", role="postgres")
            await running

    place.play(scene())
    assert set(place.states().values()) == {"accepted"}


@pytest.mark.parametrize(
    ("statement", "away"), [("CREATE TABLE notifyops_private.one ()", True), ("SELECT 1 / 0", False)]
)
def test_only_a_fault_of_the_database_counts_as_away(place: Workplace, statement: str, away: bool) -> None:
    with psycopg.connect(place.dsn("owner"), autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = on")
        with pytest.raises(psycopg.Error) as caught:
            connection.execute(statement.encode())
    assert is_away(caught.value) is away


def test_two_hosts_that_make_partitions_at_once_make_each_once(place: Workplace) -> None:
    """Both have looked, and neither has made anything yet: a third session's table stands in their way until then."""
    place.later(1200 * 86_400)
    made: list[Any] = []

    def make(connection: psycopg.Connection[Any]) -> None:
        while True:
            try:
                made.append(connection.execute(PARTITIONS).fetchone())
            except psycopg.errors.LockNotAvailable:
                continue  # it gives way after two seconds, and is run again
            except psycopg.Error as error:
                made.append(error)
            return

    with (
        psycopg.connect(place.dsn("worker"), autocommit=True) as one,
        psycopg.connect(place.dsn("worker"), autocommit=True) as two,
        psycopg.connect(place.dsn("postgres"), autocommit=True) as watcher,
        psycopg.connect(place.dsn("owner")) as obstacle,
    ):
        obstacle.execute(
            "DO $$ BEGIN EXECUTE format('CREATE TABLE notifyops_private.%I ()', 'notifications_logentry_' || to_char("
            "notifyops_private.clock_v1() AT TIME ZONE 'UTC' - interval '1 month', 'YYYYMM')); END $$"
        )
        threads = [threading.Thread(target=make, args=(connection,)) for connection in (one, two)]
        for thread in threads:
            thread.start()
        assert all(waits_for_a_lock(watcher, connection.info.backend_pid) for connection in (one, two))
        obstacle.rollback()
        for thread in threads:
            thread.join(120)
    assert len(made) == 2
    assert sorted(row[0] for row in made)[0] == 0
    assert sorted(row[0] for row in made)[1] > 0


def test_a_shorter_wait_that_is_recorded_later_does_not_shorten_the_longer_one(place: Workplace) -> None:
    """Two hosts, two recordings: what the second was told is older news."""
    place.enqueue_many(2)
    shop = place.shop()
    refuse(place, 429, "rate_limit_exceeded", 1, headers={"Retry-After": "600"})
    refuse(place, 429, "rate_limit_exceeded", 1, headers={"Retry-After": "1"})

    async def scene() -> None:
        async with await connected(place.dsn()) as connection:
            for lease in await claim(connection, shop, worker=WORKER, room=2):
                await record(connection, shop, await sent_all(shop, [lease]), worker=WORKER)

    place.play(scene())
    left = (
        "SELECT extract(epoch FROM wait_until - clock_timestamp())::float FROM notifyops_private.notifications_circuit"
    )
    ((wait_s,),) = place.sql(left)
    assert wait_s > 300
