"""The loop of one slot: claim what fits and send it, until the budget or a stop ends it.

Where calls are quick, a few leases more than can be sent at once wait in memory, so that the provider is kept busy
while the database works; where they are slow, none does, since another host could be sending it. What the calls gave
is written beside the claims (recorder.py).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import AsyncConnection

from notifications.delivery.beats import Beat
from notifications.delivery.claim import claim
from notifications.delivery.lease import Lease
from notifications.delivery.link import Link, is_away
from notifications.delivery.recorder import MAX_BATCH, Recorder
from notifications.delivery.send import give_back, send
from notifications.delivery.shop import Shop
from notifications.delivery.slots import Slot
from notifications.door import next_due_s

logger = logging.getLogger(__name__)

# Calls shorter than this, by the running mean of this weight, allow leases to wait for a place: no wait is longer.
QUICK_S = 0.25
WEIGHT = 0.1
# How often a loop that one lane fills looks for work of the others; a wake-up makes it look at once.
ASIDE_S = 0.05
# How often a loop looks whether a person changed an account, and which circuits are not clean.
LOOK_S = 5.0
CONFIGURATION = (
    "SELECT count(*), sum(a.revision), count(*) FILTER (WHERE a.enabled), "
    "coalesce((SELECT array_agg(c.account_id) FROM notifyops_private.notifications_circuit c "
    "WHERE c.config_failures > 0 OR c.open_until IS NOT NULL), '{}') "
    "FROM notifyops_private.notifications_provideraccount a"
)


@dataclass(slots=True)
class Loop:
    """One slot's work. `stopping` is asked before each claim; `budget_s` bounds the run.

    `hand_over` gives the slot to a successor as soon as this loop claims no more: it then only drains, for at most
    `drain_s`, so that slow calls leave no hole.
    """

    dsn: str
    shop: Shop
    slot: Slot
    beat: Beat
    stopping: Callable[[], bool]
    budget_s: float
    hand_over: Callable[[], Awaitable[None]]
    drain_s: float = 30.0
    _link: Link = field(init=False)
    _recorder: Recorder = field(init=False)
    _calls: set[asyncio.Task[None]] = field(default_factory=set)
    # Leases that wait for a free place, oldest first; calls under way by lane; both together by lane.
    _waiting: deque[Lease] = field(default_factory=deque)
    _busy: Counter[int] = field(default_factory=Counter)
    _held: Counter[int] = field(default_factory=Counter)
    _progress: asyncio.Event = field(default_factory=asyncio.Event)
    _mean_s: float = 2 * QUICK_S  # slow until shown to be quick
    _was_empty: bool = True
    _looked_at: float = 0.0
    _aside_at: float = 0.0
    # What the accounts looked like when this loop began; None once a person changed them: a successor starts afresh.
    _configured: tuple[Any, ...] | None = ()

    async def run(self) -> int:
        """Work until the budget is used or a stop is asked; give how many calls were recorded.

        Raises SlotLost where the slot's connection ended: calls in flight are finished and recorded first.
        """
        ends_at = time.monotonic() + self.budget_s
        self._link = Link(self.dsn, f"notifyops loop {self.beat.slot}")
        link = Link(self.dsn, f"notifyops record {self.beat.slot}")
        self._recorder = Recorder(link, self.shop, self.beat.worker, written=self._progress.set)
        try:
            while not self.stopping() and time.monotonic() < ends_at:
                self.slot.check()
                self._recorder.check()
                longest_s = min(self.shop.rules.poll_s, max(0.0, ends_at - time.monotonic()))
                if not await self._turn(longest_s) or self._configured is None:
                    break
        finally:
            try:
                await self.hand_over()
            finally:
                # Whatever became of the slot: the calls in flight are real, and their answers are wanted.
                await self._drain()
        return self._recorder.count

    async def _turn(self, longest_s: float) -> bool:
        """Claim, and wait for news where there was nothing to do. False: stop, and the database is away."""
        try:
            connection = await self._link.get()
            await self._look_at_configuration(connection)
            claimed = self._configured is not None and await self._claim(connection)
            if not claimed:
                await self._wait(connection, longest_s)
        except psycopg.Error as error:
            if not is_away(error):
                raise
            return await self._link.lost(error) or not self.stopping()
        return True

    async def _look_at_configuration(self, connection: AsyncConnection[Any]) -> None:
        if time.monotonic() - self._looked_at < LOOK_S:
            return
        self._looked_at = time.monotonic()
        cursor = await connection.execute(CONFIGURATION)
        row = await cursor.fetchone()
        assert row is not None
        *stamp, troubled = row
        self.shop.troubled.update(troubled)
        if self._configured == ():
            self._configured = tuple(stamp)
        elif self._configured != tuple(stamp):
            self._configured = None

    async def _claim(self, connection: AsyncConnection[Any]) -> bool:
        room, full = self._room()
        if full and not self._looks_aside():
            return False
        if room < 1 or not self.shop.rules.sends or not self.shop.accounts or self._recorder.backlog > MAX_BATCH:
            sends = self.shop.rules.sends
            await self.beat.write(connection, claimed=not sends, sends=sends)
            return False
        self._progress.clear()
        self.slot.woken.clear()
        leases = await claim(connection, self.shop, worker=self.beat.worker, room=room, full_lanes=full)
        if leases:
            await self._link.replan(now=self._was_empty)
        if not full:  # what other lanes have not got says nothing of the plans
            self._was_empty = not leases
        for lease in leases:
            self._held[lease.lane_key] += 1
        self._waiting.extend(leases)
        self._start_waiting()
        await self.beat.write(connection, claimed=True)
        return bool(leases)

    def _room(self) -> tuple[int, list[int]]:
        """Give how many to claim, and the lanes that may have no more.

        A lane may use the loop but for the reserve, and where calls are quick hold as much again in memory.
        """
        rules = self.shop.rules
        most = rules.concurrency * (2 if self._mean_s < QUICK_S else 1)
        full = [lane for lane, count in self._held.items() if count >= most]
        fullest = max((count for lane, count in self._held.items() if count < most), default=0)
        return min(most + rules.reserve - self._held.total(), most - fullest), full

    def _looks_aside(self) -> bool:
        """Say whether to look for other lanes' work while one lane holds all that it may: at a wake-up, or by time."""
        if not self.slot.woken.is_set() and time.monotonic() - self._aside_at < ASIDE_S:
            return False
        self._aside_at = time.monotonic()
        return True

    def _start_waiting(self) -> None:
        """Start calls while there are free places, in order, but past leases whose lane uses all that it may."""
        rules = self.shop.rules
        passed: list[Lease] = []
        while self._waiting and len(self._calls) < rules.concurrency + rules.reserve:
            lease = self._waiting.popleft()
            if self._busy[lease.lane_key] >= rules.concurrency:
                passed.append(lease)
                continue
            self._busy[lease.lane_key] += 1
            task = asyncio.create_task(self._call(lease))
            self._calls.add(task)
            task.add_done_callback(self._ended)
        self._waiting.extendleft(reversed(passed))

    async def _call(self, lease: Lease) -> None:
        try:
            sent = await send(lease, self.shop.accounts[lease.account_id])
            self._mean_s += WEIGHT * (sent.duration_ms / 1000 - self._mean_s)
            self._recorder.add(sent)
        finally:
            for counter in (self._busy, self._held):
                counter[lease.lane_key] -= 1
                if not counter[lease.lane_key]:
                    del counter[lease.lane_key]

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._calls.discard(task)
        self._start_waiting()
        self._progress.set()

    async def _wait(self, connection: AsyncConnection[Any], longest_s: float) -> None:
        """Wait for an ended call, a wake-up, the next due time or the poll, whichever is first."""
        timeout_s = longest_s
        room, full = self._room()
        if full:
            timeout_s = min(timeout_s, ASIDE_S)
        elif self.shop.accounts and room > 0:
            due_s = await next_due_s(connection, list(self.shop.accounts))
            if due_s is not None:
                # Never zero: what is due but not given to us is another loop's, or behind a full lane.
                timeout_s = min(timeout_s, max(due_s, 0.01))
        progress = asyncio.ensure_future(self._progress.wait())
        woken = asyncio.ensure_future(self.slot.woken.wait())
        try:
            await asyncio.wait({progress, woken}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            progress.cancel()
            woken.cancel()

    def _give_back_waiting(self) -> None:
        while self._waiting:
            self._recorder.add(give_back(self._waiting.popleft()))

    async def _drain(self) -> None:
        """Let the calls in flight end, and record them, for at most `drain_s`.

        Leases that wait for a place are sent as well where only the budget is over; told to stop, they are given back.
        """
        ends_at = time.monotonic() + self.drain_s
        try:
            if self.stopping():
                self._give_back_waiting()
            while self._calls and time.monotonic() < ends_at:
                await asyncio.wait(self._calls, timeout=0.5, return_when=asyncio.FIRST_COMPLETED)
            self._give_back_waiting()
            for task in self._calls:
                task.cancel()
            await asyncio.gather(*self._calls, return_exceptions=True)
            await self._recorder.settle(max(0.0, ends_at - time.monotonic()))
        finally:
            if self._recorder.backlog:
                logger.error("answers not recorded: %d", self._recorder.backlog, extra={"action": "answers_lost"})
            await self._recorder.close()
            await self._link.close()
