"""What live pages of the console hear of: cases that came, went or changed, and the counts in the header.

Ids, versions, states, codes and counters; never an address, a name or anything of a notification's content.
"""

from __future__ import annotations

import json
import time
from collections import deque
from typing import Any, Final

from django.db import connection

from notifications.live.hub import News
from notifications.policy.overall import BEAT_S
from reviews.standing import key

CASES: Final = "cases"
SITE: Final = "site"
# One look at most; where more came at once, pages are told so and ask for themselves.
MOST: Final = 1000
NAMED: Final = 200
# An entry takes its id before it commits: for so long after an id was seen, a lower one may still appear. A person's
# order and a batch of a worker take some hundredths of a second.
OVERLAP_S: Final = 15.0
# What may have been under way when the hub began.
_BEFORE: Final = 500
_SITE_EVERY_S: Final = 5.0

_NEWEST: Final = "SELECT coalesce(max(l.id), 0) FROM notifyops_private.notifications_logentry l"
# By the index logentry_of_cases alone: whatever is delivered meanwhile is not read.
_MOVED: Final = """
SELECT l.id, l.intent_id, l.seq, l.to_state, l.code FROM notifyops_private.notifications_logentry l
WHERE l.id > %s AND (l.from_state = 'needs_review' OR l.to_state = 'needs_review') AND NOT l.id = ANY (%s)
ORDER BY l.id LIMIT %s
"""
_SITE: Final = """
SELECT (SELECT count(*) FROM notifyops_private.notifications_workerbeat b
        WHERE b.ended_at IS NULL AND b.beat_at > now.t - make_interval(secs => %s)),
    (SELECT count(*) FROM notifyops_private.notifications_circuit c WHERE c.open_until > now.t),
    (SELECT count(*) FROM notifyops_private.notifications_pause p WHERE p.resumed_at IS NULL AND p.ends_at > now.t)
FROM (SELECT notifyops_private.clock_v1() AS t OFFSET 0) now
"""


class Cases:
    """Reads which cases have an entry since the last look, each entry once."""

    def __init__(self, *, most: int = MOST, overlap_s: float = OVERLAP_S) -> None:
        self._most, self._overlap_s = most, overlap_s
        self._floor = -1
        self._seen: set[int] = set()
        # When which id was the highest: what is old enough moves the floor.
        self._heights = deque[tuple[float, int]]()

    def read(self) -> list[News]:
        """Give one event with all cases that moved, or none; the first call only notes where it begins."""
        with connection.cursor() as cursor:
            if self._floor < 0:
                cursor.execute(_NEWEST)
                self._floor = max(int(cursor.fetchone()[0]) - _BEFORE, 0)
                self._note(self._rows(cursor))
                return []
            rows = self._rows(cursor)
            if len(rows) == self._most:
                cursor.execute(_NEWEST)
                self._floor = int(cursor.fetchone()[0])
                self._seen, self._heights = set(), deque()
                return [_moved(rows, has_more=True)]
        self._note(rows)
        return [_moved(rows, has_more=False)] if rows else []

    def _rows(self, cursor: Any) -> list[tuple[Any, ...]]:
        cursor.execute(_MOVED, [self._floor, list(self._seen), self._most])
        return list(cursor.fetchall())

    def _note(self, rows: list[tuple[Any, ...]]) -> None:
        now = time.monotonic()
        self._seen.update(row[0] for row in rows)
        if self._seen:
            self._heights.append((now, max(self._seen)))
        old = self._floor
        while self._heights and now - self._heights[0][0] > self._overlap_s:
            self._floor = max(self._floor, self._heights.popleft()[1])
        if self._floor > old:
            self._seen = {number for number in self._seen if number > self._floor}


class Site:
    """Reads what the header counts: whether workers live, accounts that are not called, pauses."""

    def __init__(self) -> None:
        self._next_at = 0.0

    def read(self) -> list[News]:
        """Give the counts, some times a minute."""
        if time.monotonic() < self._next_at:
            return []
        self._next_at = time.monotonic() + _SITE_EVERY_S
        with connection.cursor() as cursor:
            cursor.execute(_SITE, [BEAT_S])
            workers, circuits, pauses = cursor.fetchone()
        return [News(SITE, "site", json.dumps(key(workers, circuits, pauses)), is_state=True)]


def _moved(rows: list[tuple[Any, ...]], *, has_more: bool) -> News:
    last = {intent_id: [intent_id, seq, state, code] for _id, intent_id, seq, state, code in rows}
    named = list(last.values())[:NAMED]
    data = {"cases": named, "more": has_more or len(last) > NAMED}
    return News(CASES, "moved", json.dumps(data, separators=(",", ":")))
