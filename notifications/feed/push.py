"""The chore that pushes the feed: each endpoint by itself, in order, from its own cursor; none waits for another."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg import AsyncConnection
from psycopg.rows import dict_row

from notifications.feed.call import Caller, event_of

logger = logging.getLogger(__name__)

# Of one endpoint in one round; the next round goes on.
PART: Final = 100
# Endpoints that are called at the same time; a slow one holds its place for one call's deadline and then waits.
AT_ONCE: Final = 64
FIRST_DELAY_S: Final = 5.0
LONGEST_DELAY_S: Final = 3600.0
_DUE: Final = """
    SELECT e.id, e.name, e.url, e.secret_refs, e.workspaces, c.position, c.failure_count
    FROM notifyops_private.notifications_feedendpoint e
    JOIN notifyops_private.notifications_feedcursor c ON c.endpoint_id = e.id
    WHERE e.enabled AND c.gone_at IS NULL AND c.due_at <= notifyops_private.clock_v1() AND e.site_mode = %(mode)s
      -- A copy, or what was restored and not recovered, knows nothing that a receiver should hear.
      AND notifyops_private.site_trouble_v1(%(site)s) IS NULL
    ORDER BY c.due_at, e.id
"""
_ITEMS: Final = "SELECT * FROM notifyops_private.outcomes_v1(%s, NULL, %s, %s)"
# Only from where it stood: a second pusher, however it came to be, cannot set a cursor back.
_TAKEN: Final = """
    UPDATE notifyops_private.notifications_feedcursor SET position = %s, failure_count = 0, last_answer = %s
    WHERE endpoint_id = %s AND position < %s
"""
_FAILED: Final = """
    UPDATE notifyops_private.notifications_feedcursor SET failure_count = failure_count + 1, last_answer = %s,
        due_at = notifyops_private.clock_v1() + make_interval(secs => %s),
        gone_at = CASE WHEN %s = '410' THEN notifyops_private.clock_v1() END
    WHERE endpoint_id = %s
"""
KeysOf = Callable[[str], Sequence[bytes]]


@dataclass(frozen=True, slots=True)
class Pusher:
    """What a round works with. `keys_of` gives the signing keys of an endpoint's references.

    Nothing is pushed while the site named `site` may not send from this database; an endpoint gets something only in
    the site mode that it was made in.
    """

    connection: AsyncConnection[Any]
    caller: Caller
    keys_of: KeysOf
    places: asyncio.Semaphore
    rng: random.Random
    site: str
    mode: str


async def push(pusher: Pusher, busy: dict[int, asyncio.Task[None]]) -> None:
    """Begin a round for every endpoint that is due and not still in its last one. Does not wait for their ends."""
    for number in [number for number, task in busy.items() if task.done()]:
        failure = busy.pop(number).exception()
        if failure is not None:
            logger.error("push failed", exc_info=failure, extra={"action": "push_failed", "endpoint": number})
    async with pusher.connection.cursor(row_factory=dict_row) as cursor:
        due = await (await cursor.execute(_DUE, {"site": pusher.site, "mode": pusher.mode})).fetchall()
    for endpoint in due:
        if endpoint["id"] not in busy:
            busy[endpoint["id"]] = asyncio.create_task(_round(pusher, endpoint))


async def _round(pusher: Pusher, endpoint: dict[str, Any]) -> None:
    spaces = None if "*" in endpoint["workspaces"] else endpoint["workspaces"]
    async with pusher.connection.cursor(row_factory=dict_row) as cursor:
        rows = await (await cursor.execute(_ITEMS, (endpoint["position"], PART, spaces))).fetchall()
    if not rows:
        return
    keys = pusher.keys_of(endpoint["secret_refs"])
    for row in rows:
        if not await _told(pusher, endpoint, row, keys):
            return


async def _told(pusher: Pusher, endpoint: dict[str, Any], row: dict[str, Any], keys: Sequence[bytes]) -> bool:
    """Send one item and move the cursor, or put the endpoint off; say whether to go on."""
    if keys:
        async with pusher.places:
            answer = await pusher.caller.call(endpoint["url"], event_of(row), keys)
    else:
        answer = "no_secret"
    if answer.startswith("2") and len(answer) == 3:
        await pusher.connection.execute(_TAKEN, (row["position"], answer, endpoint["id"], row["position"]))
        endpoint["failure_count"] = 0
        return True
    delay = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0 ** min(endpoint["failure_count"], 12))
    await pusher.connection.execute(_FAILED, (answer, delay * pusher.rng.uniform(0.8, 1.2), answer, endpoint["id"]))
    said = {"action": "push_refused", "endpoint": endpoint["name"], "answer": answer}
    logger.warning("endpoint %s: %s", endpoint["name"], answer, extra=said)
    return False
