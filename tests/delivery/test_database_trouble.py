"""The database goes away at the worst moments: nothing is sent twice, and no answer is thrown away."""

from __future__ import annotations

import asyncio
import time

import psycopg
import pytest

from notifications.delivery.claim import claim
from notifications.delivery.record import record
from notifications.delivery.slots import SlotLost
from tests.delivery.proxy import DeafProxy
from tests.delivery.workplace import Workplace, connected, looped, nothing_waits, sent_all

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
KEY = "report-ready/demo-001"
# Of our own database: the runs of other workers share the server.
_END = (
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
    "WHERE datname = current_database() AND application_name LIKE %s"
)


async def calls_begin(place: Workplace, count: int) -> None:
    while len(place.sandbox.requests()) < count:
        await asyncio.sleep(0.02)


@pytest.mark.slow  # waits for seconds of real time
def test_answers_are_kept_while_the_database_is_away_and_recorded_when_it_is_back(place: Workplace) -> None:
    """The loop's connection is ended, and for two seconds no new one is let in, while five calls are in flight."""
    place.enqueue_many(5)
    place.sandbox.fault(stage="after_accept", kind="delay", seconds=0.5, times=5)
    shop = place.shop()

    async def scene() -> None:
        async with await connected(place.dsn()) as look:
            running = asyncio.create_task(looped(place.dsn(), shop, until=await nothing_waits(look)))
            await calls_begin(place, 5)
            # Of this database alone: other tests share the server and its roles.
            name = place.sql("SELECT current_database()")[0][0]
            place.sql(f'ALTER DATABASE "{name}" CONNECTION LIMIT 0', role="postgres")
            try:
                place.sql(_END, "notifyops loop%", role="postgres")
                place.sql(_END, "notifyops record%", role="postgres")
                await asyncio.sleep(2.0)
                assert set(place_states(place)) == {"sending"}
            finally:
                place.sql(f'ALTER DATABASE "{name}" CONNECTION LIMIT -1', role="postgres")
            await running

    place.play(scene())
    assert set(place.states().values()) == {"accepted"}
    assert place.sandbox.order("GET", "ledger")["http_requests"] == 5
    assert {tuple(place.kinds(intent)) for (intent,) in all_ids(place)} == {("claimed", "result")}


def place_states(place: Workplace) -> list[str]:
    return [row[0] for row in place.sql("SELECT state FROM notifyops_private.notifications_intent", role="postgres")]


def all_ids(place: Workplace) -> list[tuple[int]]:
    return [(int(row[0]),) for row in place.sql("SELECT id FROM notifyops_private.notifications_intent")]


def test_a_loop_that_lost_its_slot_finishes_and_records_its_calls_and_ends(place: Workplace) -> None:
    place.enqueue_many(5)
    place.sandbox.fault(stage="after_accept", kind="delay", seconds=0.8, times=5)
    shop = place.shop()

    async def scene() -> None:
        running = asyncio.create_task(looped(place.dsn(), shop, until=lambda: False))
        await calls_begin(place, 5)
        place.sql(_END, "notifyops slot%", role="postgres")
        with pytest.raises(SlotLost):
            await running

    place.play(scene())
    assert set(place.states().values()) == {"accepted"}
    assert place.sandbox.order("GET", "ledger")["http_requests"] == 5


def test_a_claim_whose_commit_got_no_answer_sends_nothing(place: Workplace) -> None:
    """The claim is in the database, and its worker cannot know: after the lease another one sends, once."""
    intent = place.enqueue()
    shop = place.shop()

    async def scene() -> None:
        async with DeafProxy(place.dsn()) as proxy:
            connection = await connected(proxy.dsn)
            proxy.swallow("COMMIT")
            with pytest.raises(psycopg.OperationalError):
                await claim(connection, shop, worker="w1", room=1)

    place.play(scene())
    assert (place.intent(intent).state, place.sandbox.requests()) == ("sending", [])
    place.later(61)
    place.turn(worker="w2")
    assert place.kinds(intent) == ["claimed", "lease_lost", "claimed", "result"]
    assert (place.intent(intent).state, place.sandbox.ledger(KEY).http_requests) == ("accepted", 1)


def test_a_record_whose_commit_got_no_answer_is_repeated_and_counts_once(place: Workplace) -> None:
    intent = place.enqueue()
    shop = place.shop()

    async def scene() -> None:
        async with DeafProxy(place.dsn()) as proxy:
            connection = await connected(proxy.dsn)
            sent = await sent_all(shop, await claim(connection, shop, worker="w1", room=1))
            proxy.swallow('"outcome":"accepted"')
            with pytest.raises(psycopg.OperationalError):
                await record(connection, shop, sent, worker="w1")
        async with await connected(place.dsn()) as again:
            await record(again, shop, sent, worker="w1")

    place.play(scene())
    assert place.kinds(intent) == ["claimed", "result", "late"]
    assert (place.intent(intent).state, place.sandbox.ledger(KEY).accepted) == ("accepted", 1)


@pytest.mark.slow  # waits for seconds of real time
def test_a_loop_behind_a_connection_that_swallows_a_commit_delivers_everything_once(place: Workplace) -> None:
    place.enqueue_many(10)
    shop = place.shop(lease_s=4.0, timeout_s=1.0)

    async def scene() -> None:
        async with DeafProxy(place.dsn()) as proxy, await connected(place.dsn()) as look:
            proxy.swallow("COMMIT")
            await looped(proxy.dsn, shop, until=await nothing_waits(look), budget_s=90.0)

    began = time.monotonic()
    try:
        place.play(scene())
    except SlotLost:
        place.run(shop)
    assert time.monotonic() - began < 120
    assert set(place.states().values()) == {"accepted"}
    ledger = place.sandbox.order("GET", "ledger")
    assert (ledger["accepted"], ledger["twice_count"]) == (10, 0)


def test_a_claim_that_fails_before_its_commit_leaves_everything_as_it_was(place: Workplace) -> None:
    intent = place.enqueue()
    shop = place.shop()

    async def scene() -> None:
        async with await connected(place.dsn()) as connection, connection.transaction(force_rollback=True):
            assert len(await claim(connection, shop, worker="w1", room=1)) == 1

    place.play(scene())
    row = place.intent(intent)
    assert (row.state, row.attempt_count, place.kinds(intent)) == ("pending", 0, [])
