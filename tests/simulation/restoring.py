"""A restore: the database is turned back, and only the provider knows what was sent since; then `notify recover`.

The lost time is played by a real worker inside one transaction that is rolled back: that is what a restore is to the
rest of the world. All other processes are dead from the copy's moment until the recovery is open.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from typing import Any, Final

import psycopg
from django.db import DatabaseError, connection

from notifications.delivery import claim as claiming
from notifications.delivery import send as sending
from notifications.delivery.record import record
from notifications.delivery.site import TROUBLE
from tests.simulation.line import Line
from tests.simulation.people import as_console
from tests.simulation.scheduler import Process
from tests.simulation.violation import Violation
from tests.simulation.world import SITE, World

BEGINS_S: Final = (0.0, 5.0, 30.0, 100.0)
ROUNDS: Final = (2, 6)
BETWEEN_S: Final = (1.0, 20.0, 70.0, 400.0)
PLACES: Final = 4
REASON: Final = "Restored from last night's copy."
_DUE: Final = """
SELECT EXISTS (SELECT FROM notifyops_private.notifications_intent i
    WHERE i.account_id = ANY (%s) AND i.state IN ('pending', 'retry') AND i.next_attempt_at <= %s)
"""
_OPEN: Final = "SELECT notifyops_private.recover_v1(%s, %s, 'cli:lena@host', %s)"
_TOLD: Final = """
SELECT l.kind, count(*) FROM notifyops_private.notifications_logentry l
JOIN notifyops_private.notifications_intent i ON i.id = l.intent_id AND i.month = l.month
WHERE i.account_id = ANY (%s) AND (l.code = 'restored' OR l.kind = 'freed' OR (l.kind = 'settled' AND EXISTS (
    SELECT FROM notifyops_private.notifications_logentry h
    WHERE h.intent_id = l.intent_id AND h.seq < l.seq AND h.code = 'restored'))) GROUP BY l.kind
"""
_UNFINISHED: Final = "SELECT id FROM notifyops_private.notifications_recovery WHERE finished_at IS NULL"


class TurnedBack(Exception):
    """The copy has no more of this time."""


class Forgotten(Line):
    """A line whose one transaction is the lost time: nobody ends it for standing still."""

    @property
    def stands_still(self) -> bool:
        return False


async def restore(world: World, process: Process) -> None:
    """Lose some time once, put back the copy from before it, and recover."""
    if world.copied_at is None:
        await asyncio.sleep(world.rng.choice(BEGINS_S))
        while not (world.is_calm or _has_due(world)):
            await asyncio.sleep(0.5)
        await world.turn("restore begin")
        world.copied_at = world.wires.moment()
        world.silence()
        await _lose(world, process)
    while not world.is_restored:
        await asyncio.sleep(max(1.0, world.wires.away_until - world.scheduler.now))
        await world.turn("restore recover")
        _recover(world)
    await world.finished.wait()


def _has_due(world: World) -> bool:
    """Say whether anything would be sent in the time that is about to be lost."""
    row = world.database.owner.execute(_DUE, (world.accounts, world.wires.moment())).fetchone()
    return row == (True,)


async def _lose(world: World, process: Process) -> None:
    """Send as a worker does, and forget it."""
    shop, provider, dice = world.shop(process), world.provider, world.rng
    real, provider.lease_left_s = provider.lease_left_s, lambda *_: math.inf  # its leases are seen by itself alone
    line: Any = None
    try:
        line = Forgotten(world.wires, process, "worker", "lost")
        async with line.transaction():
            for _ in range(dice.randint(*ROUNDS)):
                leases = await claiming.claim(line, shop, worker=process.name, room=PLACES)
                world.forgotten.update(lease.id for lease in leases)
                sent = [await sending.send(lease, shop.accounts[lease.account_id]) for lease in leases]
                await record(line, shop, sent, worker=process.name)
                await asyncio.sleep(dice.choice(BETWEEN_S))
            raise TurnedBack
    except (TurnedBack, psycopg.OperationalError):
        pass
    finally:
        provider.lease_left_s = real
        if line is not None:
            line.drop()


def _recover(world: World) -> None:
    """Open the recovery, as the command does; then everything is started again."""

    def play() -> None:
        with connection.cursor() as cursor:
            cursor.execute(_OPEN, [SITE, world.copied_at, REASON])

    try:
        as_console(world, play)
    except DatabaseError:
        return
    # What was frozen in the lost time is made anew.
    world.provider.forget_bytes()
    world.rouse()


def may_send(world: World) -> bool:
    """Say what a loop is told that asks whether its site may send from this database."""
    if world.copied_at is None:
        return True
    row = world.database.owner.execute(TROUBLE, (SITE,)).fetchone()
    return row == (None,)


def is_open(world: World) -> bool:
    """Say whether a recovery has not come to its end: it waits half an hour for a list that is not to be had."""
    return world.copied_at is not None and world.database.owner.execute(_UNFINISHED).fetchone() is not None


def violations(world: World) -> Iterator[Violation]:
    """A recovery comes to its end by itself; count what it did."""
    if world.copied_at is None:
        return
    taken = world.scheduler.plan.coverage.taken
    taken["restore × forgotten"] += len(world.forgotten & {one.intent for one in world.provider.accepted})
    for kind, count in world.database.owner.execute(_TOLD, (world.accounts,)).fetchall():
        taken[f"restore × {kind}"] += count
    if not world.is_restored:
        yield Violation("not_recovered", "the recovery was never opened")
    for (number,) in world.database.owner.execute(_UNFINISHED).fetchall():
        yield Violation("recovery_not_finished", f"recovery {number}")
