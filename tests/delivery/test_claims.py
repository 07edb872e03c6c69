"""Claims are atomic: whoever asks, and however often, each due intent is sent once."""

from __future__ import annotations

import asyncio

import pytest

from notifications.delivery.claim import claim
from notifications.delivery.record import record
from notifications.delivery.shop import Shop
from notifications.models import Intent
from tests.delivery.workplace import WORKER, Workplace, connected, sent_all

pytestmark = pytest.mark.django_db(transaction=True)


async def ticks(dsn: str, shop: Shop, *, count: int, worker: str) -> int:
    """Do `count` delivery ticks one after the other; give how many calls they made."""
    calls = 0
    async with await connected(dsn) as connection:
        for _ in range(count):
            leases = await claim(connection, shop, worker=worker, room=32)
            calls += len(leases)
            await record(connection, shop, await sent_all(shop, leases), worker=worker)
    return calls


@pytest.mark.parametrize(("claimers", "due"), [(2, 200), (8, 200), (8, 1)], ids=["H-DUP-3", "H-DUP-3-8", "H-DUP-3-one"])
def test_thirty_ticks_at_once_make_as_many_calls_as_there_are_intents(
    place: Workplace, claimers: int, due: int
) -> None:
    place.enqueue_many(due)
    shops = [place.shop() for _ in range(claimers)]

    async def scene() -> list[int]:
        return await asyncio.gather(
            *(ticks(place.dsn(), shop, count=30 // claimers + 1, worker=f"w{n}") for n, shop in enumerate(shops))
        )

    assert sum(place.play(scene())) == due
    totals = place.sandbox.order("GET", "ledger")
    assert (totals["http_requests"], totals["accepted"], totals["twice_count"]) == (due, due, 0)
    assert set(place.states().values()) == {"accepted"}


def test_two_claimers_on_real_connections_never_hold_the_same_intent(place: Workplace) -> None:
    place.enqueue_many(40)
    shop = place.shop()

    async def scene() -> tuple[set[int], set[int]]:
        async with await connected(place.dsn()) as one, await connected(place.dsn()) as other:
            async with one.transaction():
                first = await claim(one, shop, worker="w1", room=20)
                # The first claim is not committed yet: its rows are locked, and skipped.
                second = await claim(other, shop, worker="w2", room=40)
            return {lease.id for lease in first}, {lease.id for lease in second}

    first, second = place.play(scene())
    assert (len(first), len(second), first & second) == (20, 20, set())


def test_a_claim_leaves_its_worker_its_attempt_and_the_hash_of_its_bytes_in_the_log(place: Workplace) -> None:
    intent = place.enqueue()
    (lease,) = place.claim()
    (entry,) = place.log(intent)
    row = place.intent(intent)
    assert (entry["kind"], entry["worker"], entry["attempt"], entry["fence"]) == ("claimed", WORKER, 1, 1)
    (digest,) = place.sql("SELECT encode(sha256, 'hex') FROM notifyops_private.notifications_prepared")[0]
    assert entry["detail"].pop("template")
    assert entry["detail"] == {"sha256": digest}
    assert (row.state, row.leased_by, row.attempt_count, row.fence) == ("sending", WORKER, 1, lease.fence)


def test_what_is_not_due_is_not_claimed(place: Workplace) -> None:
    place.enqueue("late", not_before="2099-01-01T00:00:00Z")
    place.enqueue("now")
    assert [lease.notification_id for lease in place.claim()] == ["report-ready/now"]
    assert place.states() == {"late": "pending", "now": "sending"}


def test_a_claim_takes_no_more_than_it_has_room_for(place: Workplace) -> None:
    place.enqueue_many(10)
    assert len(place.claim(room=3)) == 3
    assert place.claim(room=0) == []
    assert Intent.objects.filter(state="sending").count() == 3


def test_accounts_of_other_hosts_are_left_alone(place: Workplace) -> None:
    place.enqueue()
    shop = place.shop()
    shop.accounts.clear()
    assert place.claim(shop) == []
    assert place.states() == {"demo-001": "pending"}
