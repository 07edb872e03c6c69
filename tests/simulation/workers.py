"""A worker process: production's claim, send and recorder, wired as the loop wires them."""

from __future__ import annotations

import asyncio

import psycopg

from notifications.delivery import claim as claiming
from notifications.delivery import send as sending
from notifications.delivery.lease import Lease
from notifications.delivery.link import is_away
from notifications.delivery.recorder import Recorder
from notifications.delivery.shop import Shop
from notifications.door import next_due_s
from tests.simulation import failing_over, restoring
from tests.simulation.line import Link
from tests.simulation.scheduler import Process
from tests.simulation.world import World

# Calls that one process has under way at most, so that leases also wait for a place.
PLACES = 3
# A deploy: the process stops by itself, and gives back what it has not begun.
STOPS = 0.03


async def work(world: World, process: Process) -> None:
    """Claim, send and record until a deploy stops it."""
    shop = world.shop(process)
    records = Recorder(Link(world.wires, process, "worker", "record"), shop, process.name, written=lambda: None)  # type: ignore[arg-type]
    worker = Worker(world, process, shop, records)
    claims = Link(world.wires, process, "worker", "claim")
    while world.is_calm or world.rng.random() > STOPS:
        await world.turn("worker idle")
        records.check()
        if not restoring.may_send(world):
            await asyncio.sleep(5.0 if not world.is_calm else 30.0)
            continue
        try:
            nap_s = await worker.claims(claims)
        except psycopg.Error as error:
            if not is_away(error):
                raise
            await claims.lost(error)
            nap_s = 1.0
        await asyncio.sleep(nap_s)
    worker.stopping = True
    while worker.calls or records.backlog:
        await asyncio.sleep(1.0)
        records.check()
    await records.close()


class Worker:
    """What one process has under way."""

    def __init__(self, world: World, process: Process, shop: Shop, records: Recorder) -> None:
        self.world = world
        self.process = process
        self.shop = shop
        self.records = records
        self.stopping = False
        self.calls: set[asyncio.Task[None]] = set()

    async def claims(self, link: Link) -> float:
        """Claim once and start the calls; give how long to wait for news."""
        room = self.world.rng.randint(1, PLACES) - len(self.calls)
        if room < 1:
            return 1.0
        line = await link.get()
        await failing_over.hand_over(self.world, line, self.shop, self.process)
        began = self.world.wires.moment()
        leases = await claiming.claim(line, self.shop, worker=self.process.name, room=room)
        self.world.probes += [(lease.account_id, lease.id, lease.attempt, began) for lease in leases if lease.probe]
        for lease in leases:
            task = asyncio.create_task(self._call(lease))
            self.calls.add(task)
            task.add_done_callback(self.calls.discard)
        if leases:
            return 0.0
        if not self.world.is_calm:
            return self.world.rng.choice((2.0, 6.0, 15.0))
        due_s = await next_due_s(line, list(self.shop.accounts))
        # A loop polls: what was paused may be resumed before its time.
        return min(300.0, 300.0 if due_s is None else due_s + self.world.rng.choice((0.5, 1.0, 5.0)))

    async def _call(self, lease: Lease) -> None:
        # Leases wait for a place: time passes before the call.
        await self.world.turn("send begin")
        if self.stopping:
            self.records.add(sending.give_back(lease))
            return
        self.records.add(await sending.send(lease, self.shop.accounts[lease.account_id]))
