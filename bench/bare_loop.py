"""The bare loop: the least that delivers with a durable start and finish. The yardstick, not a product.

Batches over psycopg, aiohttp and uvloop: a claim leases rows and writes a `started` row each, a finish writes what
came of them under the lease's token. No chain, no fence per intent, no policy, no ORM, no frozen bytes: the request's
body lies ready in the row. Usage: python -m bench.bare_loop DSN URL IN_FLIGHT; it waits until the lock of the start is
free, delivers until nothing is due, and ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import uuid
from collections import deque
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
from psycopg import AsyncConnection

# Enough that the claim's round trip is shared, and few enough that another loop finds work too.
CLAIM: Final = 100
FINISH: Final = 500
# Held by the measurement until all loops are ready.
START_LOCK: Final = 7899
_CLAIM: Final = """
WITH due AS (
    SELECT id FROM bench_bare.intent WHERE next_at <= now() AND status = 'pending' ORDER BY next_at, id LIMIT %s
    FOR UPDATE SKIP LOCKED
), leased AS (
    UPDATE bench_bare.intent i SET status = 'sending', lease_token = %s, lease_until = now() + interval '60 s',
        attempts = i.attempts + 1, updated_at = now()
    FROM due WHERE i.id = due.id RETURNING i.id, i.key, i.body, i.attempts
), started AS (
    INSERT INTO bench_bare.attempt (intent_id, attempt, event, lease_token)
    SELECT id, attempts, 'started', %s FROM leased
)
SELECT id, key, body, attempts FROM leased
"""
_FINISH: Final = """
WITH result AS (
    SELECT * FROM unnest(%s::bigint[], %s::int[], %s::text[], %s::int[], %s::real[]) AS t(id, attempt, pid, http, ms)
), moved AS (
    UPDATE bench_bare.intent i SET status = 'accepted', provider_id = r.pid, http_status = r.http, lease_token = NULL,
        lease_until = NULL, updated_at = clock_timestamp()
    FROM result r WHERE i.id = r.id AND i.lease_token = %s AND i.attempts = r.attempt RETURNING i.id
)
INSERT INTO bench_bare.attempt (intent_id, attempt, event, lease_token, http_status, provider_id, latency_ms)
SELECT r.id, r.attempt, CASE WHEN m.id IS NULL THEN 'late' ELSE 'finished' END, %s, r.http, r.pid, r.ms
FROM result r LEFT JOIN moved m USING (id)
"""
_PINNED: Final = (
    "SELECT set_config(n, 'off', false) FROM unnest('{enable_seqscan,enable_hashjoin,enable_mergejoin}'::text[]) n"
)


@dataclass(slots=True)
class Bare:
    """One loop's state: claimed rows that wait for a sender, results that wait for a finish."""

    url: str
    token: uuid.UUID = field(default_factory=uuid.uuid4)
    claimed: deque[tuple[int, str, str, int]] = field(default_factory=deque)
    results: list[tuple[int, int, str, int, float]] = field(default_factory=list)
    need: asyncio.Event = field(default_factory=asyncio.Event)
    have: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    dry: bool = False
    over: bool = False

    async def claim(self, connection: AsyncConnection[Any], low: int) -> None:
        """Claim whenever fewer than `low` rows wait, until nothing is due."""
        while not self.dry:
            await self.need.wait()
            cursor = await connection.execute(_CLAIM, (CLAIM, self.token, self.token))
            rows = await cursor.fetchall()
            self.dry = not rows
            self.claimed.extend(rows)
            self.have.set()
            if len(self.claimed) > low:
                self.need.clear()

    async def send(self, session: aiohttp.ClientSession, low: int) -> None:
        """Send one after the other."""
        clock = asyncio.get_running_loop().time
        while True:
            while not self.claimed:
                if self.dry:
                    return
                self.have.clear()
                self.need.set()
                await self.have.wait()
            intent, key, body, attempt = self.claimed.popleft()
            if len(self.claimed) <= low:
                self.need.set()
            began = clock()
            async with session.post(self.url, data=body, headers={"Idempotency-Key": key}) as answer:
                pid = json.loads(await answer.read())["id"]
            self.results.append((intent, attempt, pid, answer.status, (clock() - began) * 1000))
            self.ended.set()

    async def finish(self, connection: AsyncConnection[Any]) -> None:
        """Write whatever has ended until all is over; what ends meanwhile makes the next batch."""
        while not self.over or self.results:
            await self.ended.wait()
            self.ended.clear()
            while self.results:
                batch, self.results = self.results[:FINISH], self.results[FINISH:]
                columns = [list(column) for column in zip(*batch, strict=True)]
                await connection.execute(_FINISH, (*columns, self.token, self.token))


async def deliver(dsn: str, url: str, in_flight: int) -> None:
    """Connect, wait for the start, and deliver what is due."""
    bare = Bare(url)
    connector = aiohttp.TCPConnector(limit=in_flight)
    headers = {"Authorization": "Bearer re_bench", "Content-Type": "application/json"}
    claims = await AsyncConnection.connect(dsn, autocommit=True)
    finishes = await AsyncConnection.connect(dsn, autocommit=True)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session, claims, finishes:
        for connection in (claims, finishes):
            await connection.execute(_PINNED)
        await claims.execute("SELECT pg_advisory_lock_shared(%s)", (START_LOCK,))
        bare.need.set()
        finisher = asyncio.create_task(bare.finish(finishes))
        await asyncio.gather(bare.claim(claims, in_flight), *(bare.send(session, in_flight) for _ in range(in_flight)))
        bare.over = True
        bare.ended.set()
        await finisher


def run(work: Awaitable[None]) -> None:
    """Run on uvloop where it is installed, as the product's loops do."""

    async def main() -> None:
        await work

    with contextlib.suppress(ImportError):
        import uvloop

        uvloop.run(main())
        return
    asyncio.run(main())


if __name__ == "__main__":
    run(deliver(sys.argv[1], sys.argv[2], int(sys.argv[3])))
