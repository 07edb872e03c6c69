"""Fetches what claims have asked for, beside the loops: a slow address holds up only the messages that need it.

Each file is fetched once a workspace, however many messages have it attached. What fails for a while is tried again by
the type's ladder, which costs no attempt at the provider; what fails for good stops for a person.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg
from psycopg import AsyncConnection

from notifications.delivery.beats import worker_name
from notifications.delivery.shop import Shop
from notifications.door import Entry, append_async
from notifications.policy.claim import decide_unprepared
from notifications.policy.delays import ladder_delay
from notifications.providers.fetcher import Fetcher, Unfetched
from notifications.states import EntryKind, ResultClass

logger = logging.getLogger(__name__)

LOOK_EVERY_S: Final = 0.5
# Files at once, each up to 25 MB in memory; and of one host, so that a slow one leaves places to the others.
AT_ONCE: Final = 8
OF_ONE_HOST: Final = 2
MOST: Final = 500

_LACKS: Final = """
NOT EXISTS (SELECT FROM notifyops_private.notifications_blob b
            WHERE b.workspace = i.workspace AND b.sha256 = decode(a.value ->> 'sha256', 'hex'))
"""
_COMPLETE: Final = f"""
SELECT f.intent_id, f.seq FROM notifyops_private.notifications_fetch f
JOIN notifyops_private.notifications_intent i ON i.id = f.intent_id
LEFT JOIN notifyops_private.notifications_content c ON c.intent_id = f.intent_id
-- What does not wait to be sent any more is no question either.
WHERE f.wanted AND (i.state NOT IN ('pending', 'retry')
    OR NOT EXISTS (SELECT FROM jsonb_array_elements(c.attachments) AS a(value) WHERE {_LACKS}))
ORDER BY f.intent_id LIMIT {MOST}
"""
_MISSING: Final = f"""
WITH lacking AS (
    SELECT DISTINCT ON (i.workspace, a.value ->> 'sha256') f.intent_id, i.workspace, a.value ->> 'sha256' AS sha256,
        (a.value ->> 'size')::integer AS size, a.value ->> 'url' AS url,
        substring(a.value ->> 'url' FROM '^[a-z]+://([^/?]+)') AS host
    FROM notifyops_private.notifications_fetch f
    JOIN notifyops_private.notifications_intent i ON i.id = f.intent_id
    JOIN notifyops_private.notifications_content c ON c.intent_id = f.intent_id
    CROSS JOIN LATERAL jsonb_array_elements(c.attachments) AS a(value)
    WHERE f.wanted AND i.state IN ('pending', 'retry') AND a.value ->> 'url' IS NOT NULL AND {_LACKS}
      AND NOT i.workspace || '/' || (a.value ->> 'sha256') = ANY (%s)
    ORDER BY i.workspace, a.value ->> 'sha256', f.intent_id
)
SELECT intent_id, workspace, sha256, size, url, host FROM (
    SELECT l.*, row_number() OVER (PARTITION BY l.host ORDER BY l.intent_id) AS place FROM lacking l) l
WHERE l.place <= {OF_ONE_HOST} ORDER BY l.intent_id LIMIT 100
"""
_CONCERNED: Final = f"""
SELECT f.intent_id, f.seq, f.failure_count, f.manual, i.type, i.first_ambiguous_at IS NOT NULL
FROM notifyops_private.notifications_fetch f
JOIN notifyops_private.notifications_intent i ON i.id = f.intent_id
JOIN notifyops_private.notifications_content c ON c.intent_id = f.intent_id
WHERE f.wanted AND i.workspace = %s AND c.attachments @> %s::jsonb ORDER BY f.intent_id LIMIT {MOST}
"""
_ENDED: Final = """
DELETE FROM notifyops_private.notifications_fetch f USING unnest(%s::bigint[], %s::integer[]) AS u(id, seq)
WHERE f.intent_id = u.id AND f.seq = u.seq
"""
_PUT_OFF: Final = """
UPDATE notifyops_private.notifications_fetch f SET wanted = false, failure_count = f.failure_count + 1
FROM unnest(%s::bigint[], %s::integer[]) AS u(id, seq) WHERE f.intent_id = u.id AND f.seq = u.seq
"""
_KEEP: Final = "SELECT notifyops_private.keep_fetched_v1(%s, %b)"


@dataclass(frozen=True, slots=True)
class File:
    """One file that is missing, and one of the notifications that want it."""

    intent: int
    workspace: str
    sha256: str
    size: int
    url: str
    host: str

    @property
    def key(self) -> str:
        """Name it as the look does: two links to the same bytes are one file."""
        return f"{self.workspace}/{self.sha256}"


@dataclass(slots=True)
class Fetching:
    """One holder's work. What was not finished when it ends is begun again by the next one."""

    connection: AsyncConnection[Any]
    fetcher: Fetcher
    shop: Shop
    worker: str = field(default_factory=lambda: worker_name("fetch", 0))
    _busy: dict[str, tuple[File, asyncio.Task[bytes | Unfetched]]] = field(default_factory=dict)

    async def turn(self) -> int:
        """Keep what came, let go what is complete, begin what is missing; give how many fetches are under way."""
        for key in [key for key, (_, task) in self._busy.items() if task.done()]:
            file, task = self._busy.pop(key)
            came = task.result()
            if isinstance(came, Unfetched):
                await self._fail(file, came)
            else:
                await self.connection.execute(_KEEP, (file.intent, came))
        while await self._let_go() == MOST:
            pass
        if len(self._busy) < AT_ONCE:
            await self._begin()
        return len(self._busy)

    async def wait(self, seconds: float) -> None:
        """Wait until a fetch has ended, and no longer than so many seconds."""
        if self._busy:
            await asyncio.wait(
                [task for _, task in self._busy.values()], timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        else:
            await asyncio.sleep(seconds)

    async def close(self) -> None:
        """Leave what is under way, and close the connections to the servers."""
        for _, task in self._busy.values():
            task.cancel()
        await asyncio.gather(*(task for _, task in self._busy.values()), return_exceptions=True)
        await self.fetcher.close()

    async def _begin(self) -> None:
        found = await (await self.connection.execute(_MISSING, (list(self._busy),))).fetchall()
        hosts = Counter(file.host for file, _ in self._busy.values())
        for intent, workspace, sha256, size, url, host in found:
            if len(self._busy) >= AT_ONCE:
                return
            if hosts[host] >= OF_ONE_HOST:
                continue
            hosts[host] += 1
            file = File(intent, workspace, sha256, size, url, host)
            task = asyncio.create_task(self.fetcher.fetch(url, size=size, sha256=sha256))
            self._busy[file.key] = file, task

    async def _let_go(self) -> int:
        """Make due what has all its bytes here."""
        async with self.connection.transaction():
            found = await (await self.connection.execute(_COMPLETE)).fetchall()
            if found:
                entries = [Entry(id=intent, seq=seq, delay_s=0.0) for intent, seq in found]
                await append_async(self.connection, EntryKind.FETCHED, entries, worker=self.worker)
                # Also what has moved on since: its fetch is nobody's question any more.
                await self.connection.execute(_ENDED, ([row[0] for row in found], [row[1] for row in found]))
        return len(found)

    async def _fail(self, file: File, why: Unfetched) -> None:
        """Say of all that want this file from this address that it did not come, and when it is tried again."""
        sought = json.dumps([{"sha256": file.sha256, "url": file.url}])
        while await self._fail_some(file.workspace, sought, why) == MOST:
            pass

    async def _fail_some(self, workspace: str, sought: str, why: Unfetched) -> int:
        async with self.connection.transaction():
            found = await (await self.connection.execute(_CONCERNED, (workspace, sought))).fetchall()
            later, stopped = [], []
            for intent, seq, failures, manual, kind, ambiguous in found:
                delays = self.shop.delays_s(self.shop.types.get(kind))
                if why.passing and not manual and failures < len(delays):
                    delay_s = ladder_delay(delays, failures, self.shop.rng)
                    said = Entry(id=intent, seq=seq, code=why.code, http_status=why.status, delay_s=delay_s)
                    later.append(said)
                else:
                    stopped.append(_stop(intent, seq, why, ambiguous=ambiguous))
            moved = set()
            for kind, entries in ((EntryKind.FETCHED, later), (EntryKind.INVALID, stopped)):
                written = await append_async(self.connection, kind, entries, worker=self.worker)
                moved |= {one.intent_id for one in written if one.refused}
            await self.connection.execute(_PUT_OFF, ([one.id for one in later], [one.seq for one in later]))
            ended = [one for one in (*later, *stopped) if one in stopped or one.id in moved]
            await self.connection.execute(_ENDED, ([one.id for one in ended], [one.seq for one in ended]))
        return len(found)


def _stop(intent: int, seq: int, why: Unfetched, *, ambiguous: bool) -> Entry:
    decision = decide_unprepared(why.code, ResultClass.FIX_CONFIG, ambiguous=ambiguous)
    return Entry(
        id=intent,
        seq=seq,
        to_state=decision.to_state,
        code=why.code,
        http_status=why.status,
        known=decision.known,
        next_action=decision.next_action,
    )


async def carry_on(dsn: str, fetcher: Fetcher, shop: Shop) -> None:
    """Fetch what is wanted, until cancelled."""
    async with await AsyncConnection.connect(dsn, autocommit=True) as connection:
        fetching = Fetching(connection, fetcher, shop)
        try:
            while True:
                try:
                    await fetching.turn()
                except psycopg.OperationalError:
                    raise
                except Exception as error:
                    logger.exception("fetching failed: %s", type(error).__name__, extra={"action": "fetching_failed"})
                await fetching.wait(LOOK_EVERY_S)
        finally:
            await fetching.close()
