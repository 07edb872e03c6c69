"""Windows of failure that need a stage of their own: a parted network, a full disk, a server error on either side."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from notifications.delivery import slots
from tests.delivery.proxy import DeafProxy
from tests.delivery.workplace import Workplace, connected, looped, nothing_waits

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
KEY = "report-ready/demo-001"
REPORTS = [f"report-ready/r-{n:05d}" for n in range(5)]


@pytest.mark.parametrize("stage", ["before_accept", "after_accept"])
def test_a_server_error_before_or_after_acceptance_ends_with_one_message(place: Workplace, stage: str) -> None:
    """The answer is the same, and tells nothing: the same key with the same bytes is right in both cases."""
    place.sandbox.fault(stage=stage, kind="status", status=500, times=1)
    intent = place.enqueue()
    place.turn()
    row = place.intent(intent)
    assert (row.state, row.known, row.failure_count) == ("retry", "unknown", 1)
    assert row.first_ambiguous_at is not None
    place.later(80)
    place.turn()
    ledger = place.sandbox.ledger(KEY)
    assert (ledger.accepted, ledger.http_requests, len(ledger.ids)) == (1, 2, 1)
    assert len({request["body_sha256"] for request in place.sandbox.requests(KEY)}) == 1
    row = place.intent(intent)
    assert (row.state, row.provider_message_id) == ("accepted", ledger.ids[0])


def test_a_host_that_is_parted_from_the_database_keeps_its_slot_and_doubles_nothing(place: Workplace) -> None:
    """It reaches the provider, and not the database: its leases pass to the other loop, its answers come late."""
    place.enqueue_many(5)
    place.sandbox.fault(stage="after_accept", kind="delay", seconds=0.5, times=5)
    parted, other = (place.shop(lease_s=4.0, timeout_s=1.5) for _ in range(2))

    async def scene() -> None:
        async with DeafProxy(place.dsn()) as proxy, await connected(place.dsn()) as look:
            settled = await nothing_waits(look)
            ends = asyncio.Event()
            cut_off = asyncio.create_task(looped(proxy.dsn, parted, until=ends.is_set))
            while len(place.sandbox.requests()) < 5:
                await asyncio.sleep(0.02)
            proxy.part()
            await looped(place.dsn(), other, until=settled, number=1)
            proxy.join()
            ends.set()
            await cut_off

    place.play(scene())
    assert set(place.states().values()) == {"accepted"}
    for key in REPORTS:
        ledger = place.sandbox.ledger(key)
        assert (ledger.accepted, ledger.http_requests) == (1, 2)
    for (intent,) in place.sql("SELECT id FROM notifyops_private.notifications_intent"):
        assert place.kinds(intent) == ["claimed", "lease_lost", "claimed", "result", "late"]


def test_the_server_drops_the_slot_of_a_host_that_was_powered_off_within_half_a_minute(place: Workplace) -> None:
    """A silent peer is found by the server's own probes: 10 s of silence, then three of 5 s; unsent bytes 30 s.

    What the kernel does with these numbers is PostgreSQL's promise; that they hold on the slot's connection is ours.
    """
    wanted = {"idle": "10", "interval": "5", "count": "3"}

    async def scene() -> dict[str, str]:
        async with slots.slot(place.dsn(), slots.LOOPS, 0) as held:
            assert held is not None
            # A setting speaks of its own session only, and that connection listens: it is asked through the same door.
            held._listener.cancel()
            await asyncio.gather(held._listener, return_exceptions=True)
            names = ["tcp_user_timeout", *(f"tcp_keepalives_{word}" for word in wanted)]
            cursor = await held._connection.execute(f"SELECT {', '.join(f'current_setting({n!r})' for n in names)}")
            return dict(zip(names, await cursor.fetchone() or (), strict=True))

    found = place.play(scene())
    assert found == {"tcp_user_timeout": "30000"} | {f"tcp_keepalives_{word}": value for word, value in wanted.items()}


@contextmanager
def full_disk(place: Workplace) -> Iterator[None]:
    """Refuse every entry of a result with the error of a full disk (SQLSTATE 53100) while the block runs."""
    place.sql(
        "CREATE FUNCTION notifyops_private.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$",
        role="postgres",
    )
    place.sql(
        "CREATE TRIGGER full_disk BEFORE INSERT ON notifyops_private.notifications_logentry FOR EACH ROW "
        "WHEN (NEW.kind = 'result') EXECUTE FUNCTION notifyops_private.full_disk()",
        role="postgres",
    )
    try:
        yield
    finally:
        place.sql("DROP FUNCTION notifyops_private.full_disk() CASCADE", role="postgres")


def test_answers_are_kept_while_the_databases_disk_is_full(place: Workplace) -> None:
    """Not one is sent again, and all are recorded when there is room."""
    place.enqueue_many(5)
    shop = place.shop()

    async def scene() -> None:
        async with await connected(place.dsn()) as look:
            with full_disk(place):
                running = asyncio.create_task(looped(place.dsn(), shop, until=await nothing_waits(look)))
                while len(place.sandbox.requests()) < 5:
                    await asyncio.sleep(0.02)
                await asyncio.sleep(2.0)
                assert place.sql("SELECT DISTINCT state FROM notifyops_private.notifications_intent") == [("sending",)]
            await running

    place.play(scene())
    assert set(place.states().values()) == {"accepted"}
    assert place.sandbox.order("GET", "ledger")["http_requests"] == 5
    for (intent,) in place.sql("SELECT id FROM notifyops_private.notifications_intent"):
        assert place.kinds(intent) == ["claimed", "result"]
