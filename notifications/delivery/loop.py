"""The loop of one slot: claim what fits and send it, until the budget or a stop ends it.

Where calls are quick, a few leases more than can be sent at once wait in memory, so that the provider is kept busy
while the database works; where they are slow, none does, since another host could be sending it. What the calls gave
is written beside the claims (recorder.py).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import AsyncConnection

from notifications.delivery.beats import Beat
from notifications.delivery.circuits import foresee, shares_fate
from notifications.delivery.claim import claim
from notifications.delivery.failover import fail_over
from notifications.delivery.lease import Lease
from notifications.delivery.link import Link, is_away
from notifications.delivery.recorder import MAX_BATCH, Recorder
from notifications.delivery.send import give_back, send
from notifications.delivery.shop import Shop
from notifications.delivery.site import TROUBLES
from notifications.delivery.slots import Slot
from notifications.delivery.stock import Stock
from notifications.door import next_due_s

logger = logging.getLogger(__name__)

# Within it the answer that closed an account is in the database, for all claims to see.
STOP_RECORDED_S = 1.0
# How often a loop that one lane fills looks for work of the others; a wake-up makes it look at once.
ASIDE_S = 0.05
# So long an idle loop may take to see that it is to stop.
STOP_HEARD_S = 1.0
# How often a loop looks whether a person changed an account, and which circuits are not clean.
LOOK_S = 5.0
CONFIGURATION = (
    "SELECT count(*), sum(a.revision), count(*) FILTER (WHERE a.enabled), "
    "coalesce((SELECT array_agg(c.account_id) FROM notifyops_private.notifications_circuit c "
    "WHERE c.config_failures > 0 OR c.open_until IS NOT NULL), '{}'), notifyops_private.site_trouble_v1(%s) "
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
    _stock: Stock = field(init=False)
    _progress: asyncio.Event = field(default_factory=asyncio.Event)
    _was_empty: bool = True
    _looked_at: float = 0.0
    _looked_through: AsyncConnection[Any] | None = None
    _trouble: str | None = None
    _fails_over: bool = False
    _aside_at: float = 0.0
    # What the accounts looked like when this loop began; None once a person changed them: a successor starts afresh.
    _configured: tuple[Any, ...] | None = ()

    async def run(self) -> int:
        """Work until the budget is used or a stop is asked; give how many calls were recorded.

        Raises SlotLost where the slot's connection ended: calls in flight are finished and recorded first.
        """
        ends_at = time.monotonic() + self.budget_s
        self._stock = Stock(self.shop.rules)
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
            if self._fails_over and self.shop.rules.sends and self._trouble is None:
                self._fails_over = await fail_over(connection, self.shop, worker=self.beat.worker)
            claimed = self._configured is not None and await self._claim(connection)
            if not claimed:
                await self._wait(connection, longest_s)
        except psycopg.Error as error:
            if not is_away(error):
                raise
            return await self._link.lost(error) or not self.stopping()
        return True

    async def _look_at_configuration(self, connection: AsyncConnection[Any]) -> None:
        # A database that was restored or replaced shows itself on a new connection: look before the first claim.
        if connection is self._looked_through and time.monotonic() - self._looked_at < LOOK_S:
            return
        self._looked_at, self._looked_through = time.monotonic(), connection
        cursor = await connection.execute(CONFIGURATION, (self.shop.rules.site,))
        row = await cursor.fetchone()
        assert row is not None
        *stamp, troubled, trouble = row
        self._hold_back(trouble)
        self.shop.troubled.update(troubled)
        self._fails_over = True
        if self._configured == ():
            self._configured = tuple(stamp)
        elif self._configured != tuple(stamp):
            self._configured = None

    def _hold_back(self, trouble: str | None) -> None:
        """Send nothing from a database that is not this site's own, or not as it left it, until a person says so."""
        if trouble is not None and trouble != self._trouble:
            logger.critical("%s", TROUBLES[trouble], extra={"action": "site_trouble", "trouble": trouble})
        self._trouble = trouble

    async def _claim(self, connection: AsyncConnection[Any]) -> bool:
        room, full = self._stock.room()
        if (full or self._stock.is_ample) and not self._looks_aside():
            return False
        sends = self.shop.rules.sends and self._trouble is None
        if room < 1 or not sends or not self.shop.accounts or self._recorder.backlog > MAX_BATCH:
            await self.beat.write(connection, claimed=not sends, sends=sends)
            return False
        self._progress.clear()
        self.slot.woken.clear()
        leases = await claim(connection, self.shop, worker=self.beat.worker, room=room, full_lanes=full)
        if leases:
            await self._link.replan(now=self._was_empty)
        if not full:  # what other lanes have not got says nothing of the plans
            self._was_empty = not leases
        for account in {lease.account_id for lease in leases if not lease.probe} & self.shop.stopped.keys():
            # Handed out a while after the stop was recorded: the account is open again.
            if time.monotonic() - self.shop.stopped[account] >= STOP_RECORDED_S:
                del self.shop.stopped[account]
                self.shop.refusals.pop(account, None)
                self.shop.outages.pop(account, None)
        self._stock.take(leases)
        self._start_waiting()
        await self.beat.write(connection, claimed=True)
        return bool(leases)

    def _looks_aside(self) -> bool:
        """Say whether to look for other lanes' work while one lane holds all that it may: at a wake-up, or by time."""
        if not self.slot.woken.is_set() and time.monotonic() - self._aside_at < ASIDE_S:
            return False
        self._aside_at = time.monotonic()
        return True

    def _start_waiting(self) -> None:
        for lease in self._stock.to_start(len(self._calls)):
            task = asyncio.create_task(self._call(lease))
            self._calls.add(task)
            task.add_done_callback(self._ended)

    async def _call(self, lease: Lease) -> None:
        try:
            if lease.account_id in self.shop.stopped and not lease.probe:
                self._recorder.add(give_back(lease))
                return
            sent = await send(lease, self.shop.accounts[lease.account_id])
            self._stock.took(sent.duration_ms / 1000, is_typical=shares_fate(self.shop, sent))
            foresee(self.shop, sent)
            self._recorder.add(sent)
        finally:
            self._stock.ended(lease)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._calls.discard(task)
        self._start_waiting()
        if not self._stock.is_ample:
            self._progress.set()

    async def _wait(self, connection: AsyncConnection[Any], longest_s: float) -> None:
        """Wait for an ended call, a wake-up, the next due time or the poll, whichever is first."""
        timeout_s = longest_s
        room, full = self._stock.room()
        if full or self._stock.is_ample:
            timeout_s = min(timeout_s, ASIDE_S)
        elif self.shop.accounts and room > 0:
            due_s = await next_due_s(connection, list(self.shop.accounts))
            # Never zero: what is due but not given to us is another loop's, or behind a full lane. With nothing due at
            # all a stop must be heard, however long the poll.
            timeout_s = min(timeout_s, STOP_HEARD_S if due_s is None else max(due_s, 0.01))
        progress = asyncio.ensure_future(self._progress.wait())
        woken = asyncio.ensure_future(self.slot.woken.wait())
        try:
            await asyncio.wait({progress, woken}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            progress.cancel()
            woken.cancel()

    def _give_back_waiting(self) -> None:
        for lease in self._stock.rest():
            self._recorder.add(give_back(lease))

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
            if self._link.opened is not None:
                await self.beat.end(self._link.opened)
            await self._link.close()
