"""A direct connection of a loop's own, made again when it is lost."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import Any

import psycopg
from psycopg import AsyncConnection

logger = logging.getLogger(__name__)

BACKOFF_S = (0.1, 0.2, 0.5, 1.0, 2.0)
# Plans that were cached while the tables were nearly empty make each claim of a first big backlog take seconds.
REPLAN_S = 10.0
# The loop's own connections never leave the path of the due index and the primary keys (23,000 → 2,100/s otherwise),
# and walk it in order: a bitmap collects all that is due, to take fifty of it.
PINNED = (
    "SELECT set_config(name, value, false) FROM (VALUES ('enable_seqscan', 'off'), ('enable_hashjoin', 'off'), "
    "('enable_mergejoin', 'off'), ('enable_bitmapscan', 'off'), ('plan_cache_mode', 'force_generic_plan'), "
    "('lock_timeout', '5s'), ('statement_timeout', '30s'), ('idle_in_transaction_session_timeout', '60s')) "
    "AS v(name, value)"
)


# Other faces of a database that is away: read-only after a failover, timeouts that end the session, an internal error.
AWAY_STATES = frozenset({"25006", "25P03", "25P04", "XX000"})


def is_away(error: psycopg.Error) -> bool:
    """Say whether the database, not the statement, is at fault."""
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) or error.sqlstate in AWAY_STATES


class Link:
    """One connection; `get` opens it where there is none."""

    def __init__(self, dsn: str, name: str) -> None:
        self._dsn = dsn
        self._name = name
        self._connection: AsyncConnection[Any] | None = None
        self._replanned_at = 0.0

    @property
    def opened(self) -> AsyncConnection[Any] | None:
        """The connection, where it is open: for what is not worth opening one."""
        return None if self._connection is None or self._connection.closed else self._connection

    async def get(self) -> AsyncConnection[Any]:
        """Give the open connection. Raises psycopg.OperationalError where the database is away."""
        if self._connection is None or self._connection.closed:
            self._connection = await AsyncConnection.connect(
                self._dsn, autocommit=True, prepare_threshold=1, application_name=self._name
            )
            await self._connection.execute(PINNED)
            self._replanned_at = time.monotonic()
        return self._connection

    async def replan(self, *, now: bool) -> None:
        """Forget cached plans: at once, or where the last time is long ago."""
        if now or time.monotonic() - self._replanned_at > REPLAN_S:
            self._replanned_at = time.monotonic()
            await (await self.get()).execute("DISCARD PLANS")

    async def lost(self, error: psycopg.Error) -> bool:
        """Wait with growing pauses until the database is back; give whether it is."""
        logger.warning("database away: %s", type(error).__name__, extra={"action": "database_away"})
        await self.close()
        for pause_s in BACKOFF_S:
            await asyncio.sleep(pause_s)
            try:
                await self.get()
            except psycopg.OperationalError:
                continue
            return True
        return False

    async def close(self) -> None:
        """Close it, whatever state it is in."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            with contextlib.suppress(psycopg.Error):
                await connection.close()
