"""The processes that listen and ask: what receives the provider's events, applies them, and asks about the rest.

They call production's functions as the web process and the chores' slot do. Two slots at once: a holder that was
stopped and goes on does not know that another has taken its place.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any, cast

import psycopg
from django.db import DatabaseError

from notifications.delivery import discovery
from notifications.delivery.forgotten import read_lists
from notifications.delivery.reconcile import SETTLE_S, Desk, reconcile
from notifications.delivery.restore import tend_recovery
from notifications.models import ProviderAccount
from notifications.providers import paced
from notifications.providers.base import LookupBudget
from notifications.providers.resend_events import EventsApi
from notifications.receipts import apply, catch_up
from notifications.receipts import receive as receiving
from notifications.receipts.parse import parse
from notifications.receipts.receive import Verified
from tests.simulation.courier import Event
from tests.simulation.database import at
from tests.simulation.faults import Fault
from tests.simulation.line import Link
from tests.simulation.lookups import Watched
from tests.simulation.people import as_console
from tests.simulation.removing import put
from tests.simulation.scheduler import Process, Scheduler
from tests.simulation.world import SITE, World

# How long a key protects, the margin taken off.
WINDOW_S = 84_600.0
# Without a limit of calls, but for no longer than in production.
# A call takes up to twenty seconds of this world's time: as many of them as half a minute holds of the real ones.
BUDGET = LookupBudget(pages=8, seconds=120.0, per_s=None)
_PARKED = """
SELECT EXISTS (SELECT FROM notifyops_private.notifications_parkedreceipt WHERE due_at <= %(now)s),
    EXISTS (SELECT FROM notifyops_private.notifications_question WHERE due_at <= %(now)s)
"""


async def receive(world: World, _process: Process) -> None:
    """Keep what the provider posts; it hears "kept" only where it was, and posts again otherwise."""
    while True:
        parcel = await world.courier.waiting.get()
        parcel.waits = False
        lost = await world.turn("receive statement") is Fault.COMMIT_LOST
        if lost or world.scheduler.now < world.wires.away_until:
            continue
        try:
            as_console(world, lambda: _keep(world, parcel.event))  # noqa: B023
        except DatabaseError:
            continue
        parcel.event.kept = True
        if await world.turn("receive executed") is not Fault.ANSWER_LOST:
            parcel.acknowledged = True


def _keep(world: World, event: Event) -> int:
    body = event.body(world.wires.start)
    return receiving.receive(
        world.account_of(event.message), [Verified(event.id, body, parse(body))], site=SITE, source="webhook"
    )


async def tend(world: World, process: Process) -> None:
    """Apply what was received, find out what to ask about, and ask beside it."""
    asking = asyncio.create_task(_ask(world, process))
    link = Link(world.wires, process, "worker", "apply")
    while not asking.done():
        await _nap(world)
        receipts_wait, _ = _due(world)
        if receipts_wait:
            await _duty(link, lambda line: apply.apply_received(line, world.types))
        if world.is_restored:
            await _duty(link, lambda line: tend_recovery(line, window_s=WINDOW_S))
        if world.rng.random() < 0.3:
            await _duty(link, lambda line: discovery.discover(line, settle_s=SETTLE_S))


async def _ask(world: World, process: Process) -> None:
    # A desk whose key is another team's, as happens when somebody mixes up two; set right when the faults stop.
    foreign = world.rng.random() < world.weather.foreign
    lookups = {
        account: Watched(world.provider, world.courier, world.said, foreign=foreign, spare=account == world.spare)
        for account in world.accounts
    }
    desk = Desk(lookups, dict.fromkeys(world.accounts, BUDGET), world.types, site=SITE)
    link = Link(world.wires, process, "worker", "ask")
    while True:
        await _nap(world)
        if world.is_restored:
            with contextlib.suppress(RuntimeError):  # an intent moved while its page was read, which is read again
                await _duty(link, lambda line: read_lists(line, desk))
        if _due(world)[1]:
            await _duty(link, lambda line: reconcile(line, desk, worker=process.name))


async def _duty(link: Link, work: Callable[[Any], Awaitable[Any]]) -> None:
    """Do it; where the database is away, or its rows are held, another turn will."""
    try:
        await work(await link.get())
    except (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled):
        return
    except psycopg.OperationalError as error:
        await link.lost(error)


async def _nap(world: World) -> None:
    await asyncio.sleep(world.rng.choice((90.0, 200.0) if world.is_calm else (2.0, 10.0, 30.0)))


def _due(world: World) -> tuple[bool, bool]:
    """Say whether events wait to be applied, and questions to be asked: an idle look would only cost turns."""
    row = world.database.owner.execute(_PARKED, {"now": world.wires.moment()}).fetchone()
    assert row is not None
    return row[0], row[1]


class List:
    """The provider's own list of what it posted to our address, as production's reader of it gives it."""

    def __init__(self, world: World, account: int) -> None:
        self._world = world
        self._seen = {
            one.id: one
            for one in world.courier.events
            if one.at <= world.scheduler.now and world.account_of(one.message) == account
        }

    def webhooks_at(self, path: str) -> list[str]:
        return ["webhook"]

    def summaries(self, webhook: str) -> Iterator[tuple[str, str]]:
        for one in sorted(self._seen.values(), key=lambda one: one.at, reverse=True):
            yield one.id, at(one.at, self._world.wires.start).isoformat()

    def payload(self, webhook: str, event_id: str) -> bytes:
        return self._seen[event_id].body(self._world.wires.start)


def catch_up_now(world: World) -> None:
    """Read back what never came, as `notify receipts catch-up` does."""
    for number in world.accounts:
        reading = List(world, number)

        def play() -> None:
            account = ProviderAccount.objects.get(pk=number)  # noqa: B023
            since = world.wires.moment() - timedelta(days=30)
            catch_up.catch_up(cast("EventsApi", reading), account, since=since, site=SITE)  # noqa: B023

        as_console(world, play)
        for event in reading._seen.values():
            event.kept = True


class _Time:
    """The world's time, where production paces its calls by the machine's."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.monotonic = lambda: scheduler.now


def simulated_pace(scheduler: Scheduler) -> AbstractContextManager[None]:
    """Let a look-up's time be the world's."""
    return put(paced, "time", _Time(scheduler))
