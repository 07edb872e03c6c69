"""The recorder of one loop: writes ended calls on a connection of its own, beside the claims.

Records are natural batches: while one is written, further calls end and wait for the next. Answers whose record failed
because the database was away stay in memory and are written when it is back: a failure to write is not a failure to
send.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import psycopg

from notifications.delivery.lease import Sent
from notifications.delivery.link import Link, is_away
from notifications.delivery.record import record
from notifications.delivery.shop import Shop
from notifications.states import ResultClass

MAX_BATCH = 500
# A statement costs as much as twenty of its entries: so long a pause between two writes, unless so many are ready,
# takes a fifth off a delivery's CPU (0.55 to 0.44 s per 1,000), and delays no record by more.
GATHER_S = 0.005
GATHERED = 32


class Recorder:
    """Takes what was sent, and writes it. `count` is how many calls were recorded, given-back leases aside.

    `written` is called after each batch: a retry's due time is known only now.
    """

    def __init__(self, link: Link, shop: Shop, worker: str, written: Callable[[], None]) -> None:
        self.count = 0
        self._written = written
        self._link = link
        self._shop = shop
        self._worker = worker
        self._ready: list[Sent] = []
        # By the loop's own clock, so that a simulated loop gathers by simulated time.
        self._clock = asyncio.get_running_loop().time
        self._wrote_at = -GATHER_S
        self._news = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._task = asyncio.create_task(self._run())

    @property
    def backlog(self) -> int:
        """How many answers are not written yet."""
        return len(self._ready)

    def add(self, sent: Sent) -> None:
        """Take one answer."""
        self._ready.append(sent)
        self._idle.clear()
        self._news.set()

    def check(self) -> None:
        """Raise what ended the recorder, where something did: without it no loop may go on sending."""
        if self._task.done():
            self._task.result()

    async def settle(self, within_s: float) -> None:
        """Wait until all is written, at most so long. Raises what ended the recorder."""
        waiting = asyncio.ensure_future(self._idle.wait())
        await asyncio.wait({waiting, self._task}, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        self.check()

    async def close(self) -> None:
        """End; what is not written by now is lost to this process, and its lease will say so."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._link.close()

    async def _run(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            while self._ready:
                await self._gather()
                try:
                    await self._write()
                except psycopg.Error as error:
                    if not is_away(error):
                        raise
                    await self._link.lost(error)
            self._idle.set()
            self._written()

    async def _gather(self) -> None:
        """Where one write has just ended, let a few more answers come in; the first after a silence never waits."""
        pause_s = self._wrote_at + GATHER_S - self._clock()
        if pause_s > 0 and len(self._ready) < GATHERED:
            await asyncio.sleep(pause_s)

    async def _write(self) -> None:
        batch = self._ready[:MAX_BATCH]
        await self._link.replan(now=False)
        await record(await self._link.get(), self._shop, batch, worker=self._worker)
        del self._ready[: len(batch)]
        self._wrote_at = self._clock()
        self.count += sum(sent.result.result_class is not ResultClass.GIVEN_BACK for sent in batch)
