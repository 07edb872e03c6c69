"""How long a run takes: by what it orders each second, how long each order waits for its outcome, and how far it is.

Pure but for two readings. A model: it takes every outcome for accepted, and every account for one that answers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import connection

from reviews.bulk import outcomes
from reviews.bulk.models import BulkRun

# The stop rule sees outcomes alone: no more than this is ordered ahead of them, or than it has seen accepted.
AHEAD: Final = 40
# What an order waits for behind its time for an undo: the claim, one call, and the worker's look at what came of it.
_ANSWER_S: Final = 1
# A model of a day needs no more steps than this, and one that would is told as "more".
_LONGEST_S: Final = 86_400
_WAITS: Final = """
SELECT greatest(ceil(extract(epoch FROM t.released_at - %s::timestamptz) + %s)::int, 1), count(*)
FROM notifyops_private.reviews_bulkitem t WHERE t.bulk_id = %s AND t.outcome = 'released' GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class Stand:
    """How far a run is. `canary`: how many of it are still to be ordered, and `tests` while its outcomes are awaited.

    `out`: how many orders become known in so many seconds. `wait_s`: how long an order waits for that; 0 where it needs
    no worker.
    """

    left: int
    rate: int
    canary: int
    wait_s: int
    accepted: int = 0
    tests: bool = True
    out: Counter[int] = field(default_factory=Counter)


def wait_s(verb: str) -> int:
    """Give how many seconds an order waits for its outcome: none where nothing is sent."""
    return int(settings.NOTIFYOPS_UNDO_S) + _ANSWER_S if verb == "retry" else 0


def planned_s(verb: str, count: int, rate: int, canary: int) -> int:
    """Give how many seconds a run takes that has not begun."""
    return ends_in_s(Stand(count, rate, min(canary, count), wait_s(verb)))


def read(bulk: BulkRun, left: int, now: datetime) -> Stand:
    """Give how far a run is."""
    wait, seen = wait_s(bulk.verb), outcomes.canary(bulk)
    with connection.cursor() as cursor:
        cursor.execute(_WAITS, [now, wait, bulk.pk])
        out = Counter({int(seconds): int(count) for seconds, count in cursor.fetchall()})
    lacks = max(bulk.canary - seen.released, 0)
    # As the worker does: one that was released to the last waits for its outcomes, and a larger number is past it.
    tests = lacks > 0 or (seen.released == bulk.canary and seen.waiting > 0)
    return Stand(left, bulk.rate, min(lacks, left), wait, seen.accepted, tests, out)


def ends_in_s(stand: Stand) -> int:
    """Give in how many seconds the last outcome is known: second by second, as the worker goes (carry.py)."""
    left, canary, accepted, tests = stand.left, stand.canary, stand.accepted, stand.tests
    out, unknown, second = Counter(stand.out), stand.out.total(), 0
    while (left or unknown) and second < _LONGEST_S:
        known = out.pop(second, 0)
        unknown, accepted = unknown - known, accepted + known
        tests = tests and bool(canary or unknown)
        ahead = max(AHEAD, accepted) - unknown if stand.wait_s else left
        most = canary if tests else ahead
        step = max(0, min(most, stand.rate, left))
        left, canary = left - step, max(canary - step, 0)
        if stand.wait_s:
            unknown, out[second + stand.wait_s] = unknown + step, out[second + stand.wait_s] + step
        second += 1
    return max(second, 1)
