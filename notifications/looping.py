"""How loops live inside the cluster: one task holds one slot for a while, then queues its successor.

The chain is kept up by three: the loop itself when it ends, its peers every few seconds, and a schedule each minute.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import psycopg
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connections
from django.db.models import Q
from django.utils import timezone
from django_q.models import OrmQ
from django_q.tasks import async_task

from notifications import runtime, wiring
from notifications.delivery import slots
from notifications.delivery.beats import Beat
from notifications.delivery.loop import Loop

logger = logging.getLogger(__name__)

PEERS_EVERY_S = 3.0
JUST_FETCHED = timedelta(seconds=10)
GC_THRESHOLDS = (20_000, 20, 20)


def deliver(number: int) -> str:
    """Hold slot `number` for the loop's budget. Ends at once with "busy" where somebody else holds it.

    A successor that was queued before NOTIFYOPS_LOOPS was lowered ends as well: it would queue its own for ever.
    """
    if number >= settings.NOTIFYOPS_LOOPS:
        return "not wanted"
    return long_task(lambda orphaned: _deliver(number, orphaned))


def long_task(run: Callable[[Callable[[], bool]], Awaitable[str]]) -> str:
    """Run one long task on an event loop of its own; the process must be nobody's orphan."""
    parent = os.getppid()
    _spare_the_collector()
    # A connection that was opened before the fork, or kept from the task before, must not be shared with the loop.
    connections.close_all()
    try:
        return _run(run(lambda: os.getppid() != parent))
    except (psycopg.OperationalError, slots.SlotLost) as error:
        logger.warning("loop ended: %s", type(error).__name__, extra={"action": "loop_ended"})
        return type(error).__name__


def _spare_the_collector() -> None:
    """Let the garbage collector pass over what was imported, and look at what is new less often.

    A batch of messages makes thousands of short-lived objects; each look went through all of Django's, which took
    15 % of a delivery's CPU.
    """
    if not gc.get_freeze_count():
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)


def _run(work: Awaitable[str]) -> str:
    async def main() -> str:
        return await work

    with contextlib.suppress(ImportError):
        import uvloop

        return uvloop.run(main())
    return asyncio.run(main())


async def _deliver(number: int, orphaned: Callable[[], bool]) -> str:
    dsn = wiring.direct_dsn(f"slot {number}")
    async with slots.slot(dsn, slots.LOOPS, number) as slot:
        if slot is None:
            return "busy"
        shop = await asyncio.to_thread(_shop)
        beat = Beat("loop", number)
        peers = asyncio.create_task(_watch_peers(orphaned))

        def stopping() -> bool:
            runtime.beat()
            return runtime.stopping() or orphaned()

        async def hand_over() -> None:
            peers.cancel()
            await slot.release()
            if not orphaned():
                await asyncio.to_thread(chain, "notifications.tasks.deliver", number)

        loop = Loop(
            dsn=dsn,
            shop=shop,
            slot=slot,
            beat=beat,
            stopping=stopping,
            budget_s=settings.NOTIFYOPS_LOOP_BUDGET_S,
            hand_over=hand_over,
        )
        logger.info("loop starts", extra={"action": "loop_starts", "worker": beat.worker, "slot": number})
        try:
            sent = await loop.run()
        finally:
            for account in shop.accounts.values():
                await account.provider.close()
        return f"{sent} sent"


def _shop() -> Any:
    try:
        return wiring.shop()
    finally:
        connections.close_all()


def chain(name: str, *arguments: int) -> None:
    """Queue a successor. Where the queue cannot be written, peers and the schedule do it later."""
    try:
        async_task(name, *arguments, group="notifyops")
    except (DatabaseError, InterfaceError) as error:
        logger.warning("successor not queued: %s", type(error).__name__, extra={"action": "chain_failed"})
    finally:
        connections.close_all()


async def _watch_peers(orphaned: Callable[[], bool]) -> None:
    while not runtime.stopping() and not orphaned():
        await asyncio.sleep(PEERS_EVERY_S)
        try:
            await asyncio.to_thread(watch)
        except (psycopg.Error, DatabaseError, InterfaceError):
            continue  # the next look, a few seconds on, finds the database back


def watch(*, just_fetched: timedelta = JUST_FETCHED) -> str:
    """Queue the loops and the chores that nobody holds and that are not queued already; give what was queued.

    A task that was fetched within `just_fetched` counts as queued: somebody is about to start it.
    """
    free, chores_free = slots.missing(wiring.direct_dsn("watch"), settings.NOTIFYOPS_LOOPS)
    wanted: list[tuple[str, tuple[int, ...]]] = [("notifications.tasks.deliver", (number,)) for number in free]
    if chores_free:
        wanted.append(("notifications.tasks.tend", ()))
    if not wanted:
        return "nothing missing"
    try:
        queued = _queued(just_fetched)
    finally:
        connections.close_all()
    missing = [one for one in wanted if one not in queued]
    for name, arguments in missing:
        chain(name, *arguments)
    return f"queued {len(missing)}"


def restore() -> None:
    """Queue what is missing, if the database answers; for the cluster's parent, when no worker shows progress."""
    try:
        watch()
    except (psycopg.Error, DatabaseError, InterfaceError) as error:
        logger.warning("loops not restored: %s", type(error).__name__, extra={"action": "restore_failed"})


def _queued(just_fetched: timedelta) -> set[tuple[str, tuple[int, ...]]]:
    """Give the tasks that some worker will start, or has just fetched.

    A fetched task stays in the table until it ends, also where its worker died with it: after a moment it counts no
    more, or its slot would stay empty for the minutes until the queue gives it out again. One too many ends at once.
    """
    now = timezone.now()
    retry = timedelta(seconds=settings.Q_CLUSTER["retry"])
    waiting = OrmQ.objects.filter(Q(lock__lte=now) | Q(lock__gt=now + retry - just_fetched))
    # A task signed with an older secret key cannot be read, and will be dropped by the queue.
    return {(task.task.get("func", ""), tuple(task.task.get("args", ()))) for task in waiting[:200]}
