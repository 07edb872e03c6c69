"""The chores slot: small duties with a period each, never inside a sending loop."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
from django.conf import settings
from django.db import connections
from django.utils import timezone
from django_q.models import Failure, Success
from psycopg import AsyncConnection

from notifications import looping, run_lost, runtime, wiring, works
from notifications.delivery import discovery, fetching, slots
from notifications.delivery.beats import Beat, worker_name
from notifications.delivery.forgotten import read_lists
from notifications.delivery.reconcile import SETTLE_S, Desk, reconcile
from notifications.delivery.restore import tend_recovery
from notifications.delivery.shop import Shop
from notifications.feed.call import Caller
from notifications.feed.push import AT_ONCE, Pusher, push
from notifications.policy.windows import span
from notifications.providers.fetcher import Fetcher
from notifications.receipts.apply import apply_received

logger = logging.getLogger(__name__)

TICK_S = 0.25
# A person who asked waits for this and for the provider.
ASK_EVERY_S = 1.0
# After a restore, for what is unknown here: first of all, since it says what an answer "not found" may not free.
LISTS_EVERY_S = 5.0
PUSH_EVERY_S = 0.5
KEEP_TASKS = timedelta(days=1)
KEEP_FAILURES = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class Duty:
    """One chore: how often it is due, in seconds, and what does it."""

    name: str
    every_s: float
    run: Callable[[AsyncConnection[Any]], Awaitable[None]]


async def make_partitions(connection: AsyncConnection[Any]) -> None:
    """Have the log's partitions ready three months ahead, and empty the default one."""
    await connection.execute("SELECT notifyops_private.ensure_partitions_v1()")


async def forget_beats(connection: AsyncConnection[Any]) -> None:
    """Drop the beats of workers that ended a day ago."""
    await connection.execute(
        "DELETE FROM notifyops_private.notifications_workerbeat WHERE beat_at < clock_timestamp() - interval '1 day'"
    )


async def purge_tasks(_connection: AsyncConnection[Any]) -> None:
    """Drop django-q2's records of ended loop tasks; failures are kept longer, for their traceback."""
    await asyncio.to_thread(_purge)


def _purge() -> None:
    try:
        Success.objects.filter(stopped__lt=timezone.now() - KEEP_TASKS).delete()
        Failure.objects.filter(stopped__lt=timezone.now() - KEEP_FAILURES).delete()
    finally:
        connections.close_all()


async def apply_receipts(connection: AsyncConnection[Any]) -> None:
    """Apply what providers said since the last time."""
    await apply_received(connection)


async def recover(connection: AsyncConnection[Any]) -> None:
    """After a restore: hold what may have been sent, until the provider has been asked about it."""
    numbers = wiring.rules()
    protects = span(timedelta(seconds=numbers.window_s), timedelta(seconds=numbers.margin_s))
    window_s = 0.0 if protects is None else protects.total_seconds()
    await tend_recovery(connection, window_s=window_s, mode=numbers.site_mode)


async def advance_feed(connection: AsyncConnection[Any]) -> None:
    """Let the outcomes feed show what no earlier entry can come before any more."""
    await connection.execute("SELECT notifyops_private.advance_horizon_v1()")


DUTIES = (
    Duty("outcomes", 0.5, advance_feed),
    Duty("receipts", 1.0, apply_receipts),
    Duty("lost_runs", 10.0, run_lost.notice_lost),
    Duty("partitions", 3600.0, make_partitions),
    Duty("forget_beats", 3600.0, forget_beats),
    Duty("purge_tasks", 3600.0, purge_tasks),
    Duty("forget_questions", 3600.0, discovery.forget),
    Duty("recovery", 1.0, recover),
    Duty("discover_questions", 10.0, lambda connection: discovery.discover(connection, settle_s=SETTLE_S)),
)


def tend() -> str:
    """Hold the chores slot for the loop's budget. Ends at once with "busy" where somebody else holds it."""
    return looping.long_task(_tend)


async def _tend(orphaned: Callable[[], bool]) -> str:
    dsn = wiring.direct_dsn("chores")
    async with slots.slot(dsn, slots.CHORES, 0) as slot:
        if slot is None:
            return "busy"
        ends_at = time.monotonic() + settings.NOTIFYOPS_LOOP_BUDGET_S
        connection = await AsyncConnection.connect(dsn, autocommit=True)
        beside = [asyncio.create_task(each) for each in (_ask(dsn), _push(dsn), _fetch(dsn), works.carry_on())]
        try:
            await _work(connection, slot, lambda: runtime.stopping() or orphaned() or time.monotonic() > ends_at)
        finally:
            for each in beside:
                each.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await connection.close()
            await slot.release()
            if not orphaned():
                await asyncio.to_thread(looping.chain, "notifications.tasks.tend")
        return "done"


async def _work(connection: AsyncConnection[Any], slot: slots.Slot, ended: Callable[[], bool]) -> None:
    beat, done_at = Beat("chores", 0), dict[str, float]()
    try:
        while not ended():
            slot.check()
            runtime.beat()
            await beat.write(connection, claimed=False)
            for duty in (*DUTIES, *_of_apps()):
                if time.monotonic() - done_at.get(duty.name, -duty.every_s) >= duty.every_s:
                    done_at[duty.name] = time.monotonic()
                    await _do(duty, connection)
            await asyncio.sleep(TICK_S)
    finally:
        await beat.end(connection)


def _of_apps() -> list[Duty]:
    """Give the duties that other apps have registered."""
    return [
        Duty(one.name, one.every_s, lambda connection, sql=one.statement: _execute(connection, sql))  # type: ignore[misc]
        for one in works.CHORES.values()
    ]


async def _execute(connection: AsyncConnection[Any], statement: str) -> None:
    await connection.execute(statement.encode())


async def _ask(dsn: str) -> None:
    """Ask providers about what is due, beside the other duties: a scan may take half a minute.

    Ends with the slot, wherever it is: what was not answered yet is asked again by the next holder.
    """
    worker, lists_at = worker_name("ask", 0), 0.0
    desk = await asyncio.to_thread(_desk)
    try:
        async with await AsyncConnection.connect(dsn, autocommit=True) as connection:
            while True:
                try:
                    if time.monotonic() > lists_at:
                        await read_lists(connection, desk)
                        lists_at = time.monotonic() + LISTS_EVERY_S
                    await reconcile(connection, desk, worker=worker)
                except psycopg.OperationalError:
                    raise
                except Exception as error:
                    logger.exception("asking failed: %s", type(error).__name__, extra={"action": "asking_failed"})
                await asyncio.sleep(ASK_EVERY_S)
    finally:
        for lookup in desk.lookups.values():
            await lookup.close()


async def _push(dsn: str) -> None:
    """Push the outcomes feed beside the other duties: a receiver may take ten seconds to answer.

    What was not answered when the slot ends is sent again by the next holder, under the same id.
    """
    caller = Caller(wiring.networks())
    busy: dict[int, asyncio.Task[None]] = {}
    try:
        async with await AsyncConnection.connect(dsn, autocommit=True) as connection:
            places = asyncio.Semaphore(AT_ONCE)
            place = {"site": settings.NOTIFYOPS_SITE, "mode": settings.NOTIFYOPS_SITE_MODE}
            pusher = Pusher(connection, caller, wiring.webhook_keys, places, random.Random(), **place)  # noqa: S311
            while True:
                try:
                    await push(pusher, busy)
                except psycopg.OperationalError:
                    raise
                except Exception as error:
                    logger.exception("pushing failed: %s", type(error).__name__, extra={"action": "pushing_failed"})
                await asyncio.sleep(PUSH_EVERY_S)
    finally:
        for task in busy.values():
            task.cancel()
        await asyncio.gather(*busy.values(), return_exceptions=True)
        await caller.close()


async def _fetch(dsn: str) -> None:
    """Fetch attachments beside the other duties: an address may take half a minute to answer."""
    await fetching.carry_on(dsn, Fetcher(settings.NOTIFYOPS_ATTACHMENT_NETWORKS), Shop(wiring.rules(), {}))


def _desk() -> Desk:
    try:
        return wiring.desk()
    finally:
        connections.close_all()


async def _do(duty: Duty, connection: AsyncConnection[Any]) -> None:
    """Do one duty; its failure is logged and concerns no other duty, unless the database is away."""
    try:
        await duty.run(connection)
    except (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled) as error:
        # Somebody's open transaction is in the way: another hour will do.
        logger.warning("chore put off: %s", type(error).__name__, extra={"action": "chore_put_off", "duty": duty.name})
    except psycopg.OperationalError:
        raise
    except Exception as error:
        logger.exception("chore failed: %s", type(error).__name__, extra={"action": "chore_failed", "duty": duty.name})
