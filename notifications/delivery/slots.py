"""Slots: how many loops run in the whole installation, decided by session advisory locks in the database.

A slot's lock lives on a direct connection of its own, which also listens for wake-ups. When that connection is gone,
so is the slot: the loop must end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import psycopg
from psycopg import AsyncConnection

LOOPS: Final = 7800
CHORES: Final = 7801
CHANNEL: Final = "notifyops_due"

# The server drops a dead peer after 10 + 3 × 5 s: a host that was powered off would else keep its slots for two hours.
_KEEPALIVE: Final = (
    "SELECT set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false), "
    "set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '30000', false)"
)
_HELD: Final = (
    "SELECT l.objid::integer FROM pg_locks l WHERE l.locktype = 'advisory' AND l.classid = %s AND l.objsubid = 2 "
    "AND l.granted AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())"
)


class SlotLost(Exception):
    """The connection that held the slot is gone: another loop may hold it now."""


class Slot:
    """A held slot. `woken` is set when something may have come due; `check` raises once the slot is lost."""

    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self.woken = asyncio.Event()
        self._connection = connection
        self._listener = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        async for _ in self._connection.notifies():
            self.woken.set()

    def check(self) -> None:
        """Raise SlotLost where the slot's connection has ended."""
        if self._listener.done():
            raise SlotLost

    async def release(self) -> None:
        """Give the slot back at once; the lock goes with its connection."""
        self._listener.cancel()
        await asyncio.gather(self._listener, return_exceptions=True)
        await self._connection.close()


@asynccontextmanager
async def slot(dsn: str, family: int, number: int) -> AsyncIterator[Slot | None]:
    """Hold one slot while the block runs; gives None where somebody else holds it."""
    connection = await AsyncConnection.connect(
        dsn, autocommit=True, application_name=f"notifyops slot {family}/{number}"
    )
    try:
        await connection.execute(_KEEPALIVE)
        cursor = await connection.execute("SELECT pg_try_advisory_lock(%s, %s)", (family, number))
        row = await cursor.fetchone()
        if row is None or not row[0]:
            yield None
            return
        await connection.execute(f"LISTEN {CHANNEL}")
        held = Slot(connection)
        try:
            yield held
        finally:
            await held.release()
    finally:
        await connection.close()


def missing(dsn: str, loops: int) -> tuple[list[int], bool]:
    """Give the numbers of loop slots that nobody holds, and whether the chores slot is free."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        held = {row[0] for row in connection.execute(_HELD, (LOOPS,)).fetchall()}
        chores = connection.execute(_HELD, (CHORES,)).fetchone()
    return [number for number in range(loops) if number not in held], chores is None
