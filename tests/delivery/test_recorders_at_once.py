"""Two loops that record at once wait for each other in one order: no answer is written twice, and no news is lost."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection

from notifications.delivery.lease import Lease, Sent
from notifications.delivery.record import record
from notifications.providers.base import SendResult
from notifications.states import Outcome, Phase, ResultClass
from tests.delivery.workplace import Workplace, connected

pytestmark = pytest.mark.django_db(transaction=True)
TOO_FAST = SendResult(
    Outcome.NOT_SENT, ResultClass.RATE_LIMITED, "resend.429.rate_limit_exceeded", Phase.ANSWER_READ,
    http_status=429, retry_after_s=600.0,
)  # fmt: skip
BAD_KEY = SendResult(Outcome.REJECTED, ResultClass.FIX_CONFIG, "resend.403.invalid_api_key", Phase.ANSWER_READ)
LOST = SendResult(Outcome.UNKNOWN, ResultClass.UNKNOWN, "unknown.deadline", Phase.REQUEST_WRITTEN)
_CIRCUIT = "INSERT INTO notifyops_private.notifications_circuit (account_id) VALUES (%s)"
_HOLD = "SELECT FROM notifyops_private.notifications_circuit FOR UPDATE"
_WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' "
    "AND usename = %s"
)


async def until_waiting(watcher: AsyncConnection[Any], worker: str, count: int) -> None:
    """Wait until so many of the workers' sessions wait for a lock."""
    for _ in range(6000):
        row = await (await watcher.execute(_WAITING, (worker,))).fetchone()
        if row == (count,):
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{row} sessions wait, and not {count}")


def leases(place: Workplace) -> tuple[Lease, Lease, Lease]:
    """Give two calls of one notification, of which the first is over by now, and one of another."""
    place.enqueue("shared")
    (old,) = place.claim(worker="w1")
    place.later(61)
    (new,) = place.claim(worker="w2")
    place.enqueue("other")
    (other,) = place.claim(worker="w1")
    return old, new, other


def test_a_late_answer_beside_news_meets_a_refused_account_and_both_are_written_once(place: Workplace) -> None:
    old, new, other = leases(place)
    place.sql(_CIRCUIT, place.account)
    shops = place.shop(), place.shop()

    async def scene() -> None:
        with psycopg.connect(place.dsn("owner")) as holder:
            holder.execute(_HOLD)
            async with (
                await connected(place.dsn()) as one,
                await connected(place.dsn()) as two,
                await connected(place.database_url("postgres")) as watcher,
            ):
                # It counts the refusal under the circuit's lock, and then moves the notification that both speak of.
                counts = asyncio.create_task(record(two, shops[1], [Sent(new, BAD_KEY, 9)], worker="w2"))
                await until_waiting(watcher, two.info.user, 1)
                tells = [Sent(old, LOST, 9), Sent(other, TOO_FAST, 9)]
                news = asyncio.create_task(record(one, shops[0], tells, worker="w1"))
                await until_waiting(watcher, one.info.user, 2)
                holder.commit()
                await asyncio.gather(counts, news)

    place.play(scene())
    assert place.kinds(other.id) == ["claimed", "result"]
    assert sorted(place.kinds(old.id)[3:]) == ["late", "result"]
    ((failures, waits),) = place.sql(
        "SELECT config_failures, wait_until > notifyops_private.clock_v1() + interval '9 minutes' "
        "FROM notifyops_private.notifications_circuit"
    )
    assert (failures, waits) == (1, True)
