"""The sign of life that the watchdog judges by: written after a successful claim, at most every two seconds."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import time
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import AsyncConnection

EVERY_S = 2.0

_WRITE = """
INSERT INTO notifyops_private.notifications_workerbeat
    (worker, host, role, slot, started_at, beat_at, claimed_at, sends)
VALUES (%(worker)s, %(host)s, %(role)s, %(slot)s, clock_timestamp(), clock_timestamp(),
    CASE WHEN %(claimed)s THEN clock_timestamp() END, %(sends)s)
ON CONFLICT (worker) DO UPDATE SET beat_at = excluded.beat_at,
    sends = excluded.sends, claimed_at = coalesce(excluded.claimed_at, notifications_workerbeat.claimed_at)
"""
_END = "UPDATE notifyops_private.notifications_workerbeat SET ended_at = clock_timestamp() WHERE worker = %s"


def worker_name(role: str, slot: int) -> str:
    """Give a name that no other start of any process has: host and pid alone come back after a restart."""
    return f"{socket.gethostname()[:60]}/{os.getpid()}/{role}{slot}/{secrets.token_hex(4)}"


@dataclass(slots=True)
class Beat:
    """One worker's beat."""

    role: str
    slot: int
    worker: str = ""
    host: str = field(default_factory=socket.gethostname)
    _written_at: float = -EVERY_S

    def __post_init__(self) -> None:
        self.worker = self.worker or worker_name(self.role, self.slot)

    async def write(self, connection: AsyncConnection[Any], *, claimed: bool, sends: bool = True) -> None:
        """Write the beat, unless one was written a moment ago; `sends` False where the site's mode forbids it."""
        if time.monotonic() - self._written_at < EVERY_S:
            return
        self._written_at = time.monotonic()
        await connection.execute(
            _WRITE,
            {
                "worker": self.worker,
                "host": self.host[:120],
                "role": self.role,
                "slot": self.slot,
                "claimed": claimed,
                "sends": sends,
            },
        )

    async def end(self, connection: AsyncConnection[Any]) -> None:
        """Say that this worker works no more. Where that cannot be written, its silence says so within half a minute.

        The row stays: the watchdog judges by it until the successor's first beat.
        """
        with contextlib.suppress(psycopg.Error):
            await connection.execute(_END, (self.worker,))
