"""What became of the cases of a run, read from the log and from nothing that was only ordered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.db import connection

from reviews.bulk.models import BulkRun

# The first entry behind the order that ends its attempt, or takes the case elsewhere.
_SETTLE: Final = """
WITH ended AS MATERIALIZED (
    SELECT t.id, t.place, l.to_state, l.kind, coalesce(l.code, l.kind) AS code
    FROM notifyops_private.reviews_bulkitem t
    JOIN notifyops_private.notifications_intent i ON i.id = t.intent_id AND i.seq > t.seq_after
    CROSS JOIN LATERAL (
        SELECT l.to_state, l.kind, l.code FROM notifyops_private.notifications_logentry l
        WHERE l.intent_id = i.id AND l.month = i.month AND l.seq > t.seq_after AND l.from_state <> l.to_state
          AND l.to_state IN ('accepted', 'needs_review', 'closed', 'cancelled')
        ORDER BY l.seq LIMIT 1) l
    WHERE t.bulk_id = %s AND t.outcome = 'released'
)
UPDATE notifyops_private.reviews_bulkitem t
SET outcome = CASE WHEN e.to_state = 'accepted' THEN 'accepted' WHEN e.kind IN ('undone', 'closed', 'withdrawn')
        THEN 'moved' ELSE 'failed' END,
    code = CASE WHEN e.to_state = 'accepted' THEN '' ELSE e.code END, settled_at = notifyops_private.clock_v1()
FROM ended e WHERE t.id = e.id RETURNING t.place, t.outcome, t.code
"""
_RECENT: Final = """
SELECT count(*), count(*) FILTER (WHERE outcome = 'failed') FROM (
    SELECT t.outcome FROM notifyops_private.reviews_bulkitem t
    WHERE t.bulk_id = %s AND t.outcome IN ('accepted', 'failed') AND t.released_at >= %s
    ORDER BY t.settled_at DESC, t.place DESC LIMIT 20) AS recent
"""
_CANARY: Final = """
SELECT count(*) FILTER (WHERE t.released_at >= s.since),
    count(*) FILTER (WHERE t.released_at >= s.since AND t.outcome = 'released'),
    count(*) FILTER (WHERE t.released_at >= s.since AND t.outcome = 'accepted'),
    count(*) FILTER (WHERE t.outcome = 'released')
FROM notifyops_private.reviews_bulkitem t, (SELECT %s::timestamptz AS since) s WHERE t.bulk_id = %s
"""
_BREAKER: Final = """
SELECT a.name FROM notifyops_private.notifications_circuit c
JOIN notifyops_private.notifications_provideraccount a ON a.id = c.account_id
WHERE c.open_until > notifyops_private.clock_v1() AND EXISTS (
    SELECT FROM notifyops_private.reviews_bulkitem t JOIN notifyops_private.notifications_intent i ON i.id = t.intent_id
    WHERE t.bulk_id = %s AND t.outcome IN ('left', 'released') AND i.account_id = c.account_id) LIMIT 1
"""
# Runs that are to go on, and stopped ones of which something ordered is still under way. A week is longer than any
# attempt that is not held back for good.
_WAITING: Final = """
SELECT b.id FROM notifyops_private.reviews_bulkrun b JOIN notifyops_private.notifications_run r ON r.id = b.run_id
WHERE r.state IN ('running', 'interrupted') OR (r.ended_at > clock_timestamp() - interval '7 days' AND EXISTS (
    SELECT FROM notifyops_private.reviews_bulkitem t WHERE t.bulk_id = b.id AND t.outcome = 'released'))
ORDER BY r.state NOT IN ('running', 'interrupted'), b.id
"""
# What was accepted may come back afterwards, also when its run has long ended.
_SHORT: Final = """
SELECT b.run_id, CASE t.outcome WHEN 'accepted' THEN 'came_back' ELSE t.outcome END AS shown, count(*)
FROM notifyops_private.reviews_bulkrun b JOIN notifyops_private.reviews_bulkitem t ON t.bulk_id = b.id
WHERE b.run_id = ANY (%s) AND (t.outcome IN ('failed', 'skipped', 'moved') OR (t.outcome = 'accepted' AND EXISTS (
    SELECT FROM notifyops_private.notifications_intent i WHERE i.id = t.intent_id AND i.state = 'needs_review')))
GROUP BY 1, 2 ORDER BY 1, 2
"""
_LAST: Final = """
SELECT f.code, f.intent_id FROM (
    SELECT t.code, t.intent_id, t.settled_at AS at FROM notifyops_private.reviews_bulkitem t
    WHERE t.bulk_id = %s AND t.outcome = 'failed'
    UNION ALL
    SELECT i.error_code, i.id, i.review_since FROM notifyops_private.reviews_bulkitem t
    JOIN notifyops_private.notifications_intent i ON i.id = t.intent_id AND i.state = 'needs_review'
    WHERE t.bulk_id = %s AND t.outcome = 'accepted') f
ORDER BY f.at DESC NULLS LAST, f.intent_id DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Settled:
    """One case whose outcome has just become known."""

    place: int
    outcome: str
    code: str


@dataclass(frozen=True, slots=True)
class Recent:
    """The last outcomes since the run was started or resumed, twenty at most: how many, and how many failed again."""

    count: int
    bad: int

    def is_too_bad(self, percent: int) -> bool:
        """Tell whether more than `percent` of them failed."""
        return self.bad * 100 > self.count * percent


@dataclass(frozen=True, slots=True)
class Canary:
    """How many were released since the run was started or resumed; of these, how many wait, and were accepted.

    `unknown`: of how many orders of the whole run nothing is known yet.
    """

    released: int
    waiting: int
    accepted: int
    unknown: int


def waiting() -> list[int]:
    """Give the runs to go on with, the oldest first; behind them stopped ones of which there is something to learn."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITING)
        return [number for (number,) in cursor.fetchall()]


def settle(bulk: BulkRun) -> list[Settled]:
    """Note what has become of released cases; the caller has opened the transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_SETTLE, [bulk.pk])
        return [Settled(*row) for row in cursor.fetchall()]


def shortfalls(run_ids: Sequence[int]) -> dict[int, dict[str, int]]:
    """Give of these runs how many cases failed again, came back, were skipped or moved; none where all went well."""
    found: dict[int, dict[str, int]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_SHORT, [list(run_ids)])
        for run_id, outcome, count in cursor.fetchall():
            found.setdefault(run_id, {})[outcome] = count
    return found


def last_failure(bulk: BulkRun) -> tuple[str, int]:
    """Give code and case of what failed last, or came back last; an empty code where nothing did."""
    with connection.cursor() as cursor:
        cursor.execute(_LAST, [bulk.pk, bulk.pk])
        code, intent_id = cursor.fetchone() or ("", 0)
    return code or "", intent_id


def recent(bulk: BulkRun) -> Recent:
    """Give the last outcomes."""
    with connection.cursor() as cursor:
        cursor.execute(_RECENT, [bulk.pk, bulk.since])
        return Recent(*cursor.fetchone())


def canary(bulk: BulkRun) -> Canary:
    """Give how far the canary is."""
    with connection.cursor() as cursor:
        cursor.execute(_CANARY, [bulk.since, bulk.pk])
        return Canary(*cursor.fetchone())


def open_breaker(bulk: BulkRun) -> str:
    """Give an account that is not called now and that the run still needs; empty where there is none."""
    with connection.cursor() as cursor:
        cursor.execute(_BREAKER, [bulk.pk])
        row = cursor.fetchone()
    return str(row[0]) if row else ""


def site_trouble() -> str:
    """Give why nothing is sent from this database now, such as `restored` or `recovering`; empty where it may be."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(notifyops_private.site_trouble_v1(%s), '')", [settings.NOTIFYOPS_SITE])
        return str(cursor.fetchone()[0])
