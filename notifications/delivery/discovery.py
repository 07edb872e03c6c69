"""Which intents are worth a question to the provider: queued by the chores, and dropped when nobody needs to know."""

from __future__ import annotations

from typing import Any, Final

from psycopg import AsyncConnection

from notifications.delivery.questions import MOST

# Entries are stamped before they commit: what commits late is still found by the next looks.
# LIMIT keeps each look-up one by primary key: a join with all questions took 265 ms at 150,000, this takes 2 ms.
_DISCOVER_REVIEW: Final = """
WITH t AS MATERIALIZED (SELECT notifyops_private.clock_v1() AS now), fresh AS MATERIALIZED (
    SELECT i.id, i.account_id, i.review_since, i.month FROM notifyops_private.notifications_intent i
    LEFT JOIN LATERAL (
        SELECT q.about, q.since FROM notifyops_private.notifications_question q WHERE q.intent_id = i.id LIMIT 1
    ) q ON true
    WHERE i.state = 'needs_review' AND i.next_action = 'query_provider' AND i.known IN ('unknown', 'conflict')
      AND i.error_code <> 'restored'  -- its question was left when it was held (restore.py)
      AND i.review_since > (
        SELECT coalesce(max(q.since) - interval '5 minutes', '-infinity')
        FROM notifyops_private.notifications_question q WHERE q.about = 'review')
      AND (q.about = 'review' AND q.since >= i.review_since) IS NOT TRUE
      -- What a recovery asks about is looked for in the forgotten time as well.
      AND NOT (q.about IS NOT DISTINCT FROM 'restore' AND EXISTS (
        SELECT FROM notifyops_private.notifications_recovery r WHERE r.started_at >= i.review_since))
    ORDER BY i.review_since LIMIT %(most)s
)
INSERT INTO notifyops_private.notifications_question AS q (intent_id, account_id, about, since, due_at)
SELECT f.id, f.account_id, 'review', f.review_since,
    greatest(t.now, coalesce(last.at, t.now) + make_interval(secs => %(settle_s)s))
FROM t, fresh f LEFT JOIN LATERAL (
    SELECT max(l.at) AS at FROM notifyops_private.notifications_logentry l
    WHERE l.intent_id = f.id AND l.month = f.month AND l.kind IN ('claimed', 'result', 'lease_lost')
) last ON true
ON CONFLICT (intent_id) DO UPDATE SET about = 'review', since = excluded.since, asked_count = 0,
    due_at = least(excluded.due_at, CASE WHEN q.wanted_at IS NOT NULL THEN q.due_at END)
"""
_DISCOVER_CONFIRM: Final = """
INSERT INTO notifyops_private.notifications_question AS q (intent_id, account_id, about, since, due_at)
SELECT i.id, i.account_id, 'confirm', i.confirm_at, t.now
FROM (SELECT notifyops_private.clock_v1() AS now) t
JOIN notifyops_private.notifications_intent i ON i.confirm_at <= t.now
JOIN notifyops_private.notifications_provideraccount a ON a.id = i.account_id AND a.declares_receipts
LEFT JOIN LATERAL (
    SELECT q.about, q.since FROM notifyops_private.notifications_question q WHERE q.intent_id = i.id LIMIT 1
) q ON true
WHERE (q.about = 'confirm' AND q.since >= i.confirm_at) IS NOT TRUE
ORDER BY i.confirm_at LIMIT %(most)s
ON CONFLICT (intent_id) DO UPDATE SET about = 'confirm', since = excluded.since, asked_count = 0,
    due_at = excluded.due_at
"""
# What was set aside until now, and may be at the provider: asked about once, for the person who set it aside.
_DISCOVER_WAITED: Final = """
INSERT INTO notifyops_private.notifications_question AS q
    (intent_id, account_id, about, since, due_at, wanted_by, wanted_at)
SELECT i.id, i.account_id, 'person', i.snoozed_until, t.now, coalesce(aside.actor, 'wait'), t.now
FROM (SELECT notifyops_private.clock_v1() AS now OFFSET 0) t
JOIN notifyops_private.notifications_intent i ON i.snoozed_until <= t.now
LEFT JOIN LATERAL (
    SELECT q.asked_at, q.wanted_at FROM notifyops_private.notifications_question q WHERE q.intent_id = i.id LIMIT 1
) q ON true
LEFT JOIN LATERAL (
    SELECT l.actor FROM notifyops_private.notifications_logentry l
    WHERE l.intent_id = i.id AND l.month = i.month AND l.kind = 'snoozed' ORDER BY l.seq DESC LIMIT 1
) aside ON true
WHERE i.state = 'needs_review' AND (i.attempt_count > 0 OR i.error_code = 'restored')
  AND (i.known IN ('unknown', 'conflict', 'accepted') OR i.error_code = 'restored')
  AND q.wanted_at IS NULL AND (q.asked_at IS NULL OR q.asked_at < i.snoozed_until)
ORDER BY i.snoozed_until LIMIT %(most)s
ON CONFLICT (intent_id) DO UPDATE SET due_at = excluded.due_at, wanted_by = excluded.wanted_by,
    wanted_at = excluded.wanted_at
"""
_OPEN: Final = """(i.state = 'needs_review' AND i.next_action = 'query_provider' AND i.known IN ('unknown', 'conflict'))
    OR (i.state = 'accepted' AND i.confirm_at <= t.now)"""
_TIDY: Final = f"""
DELETE FROM notifyops_private.notifications_question q
USING notifyops_private.notifications_intent i, (SELECT notifyops_private.clock_v1() AS now) t
WHERE i.id = q.intent_id AND q.due_at <= t.now AND q.wanted_at IS NULL AND ({_OPEN}) IS NOT TRUE
"""
_FORGET: Final = f"""
DELETE FROM notifyops_private.notifications_question q
USING notifyops_private.notifications_intent i, (SELECT notifyops_private.clock_v1() AS now) t
WHERE i.id = q.intent_id AND q.due_at IS NULL AND q.asked_at < t.now - interval '1 day' AND ({_OPEN}) IS NOT TRUE
"""


async def discover(connection: AsyncConnection[Any], *, settle_s: float) -> None:
    """Queue what has stopped, waits for its receipt, or was set aside until now; drop what needs no answer any more."""
    await connection.execute(_DISCOVER_REVIEW, {"most": MOST, "settle_s": settle_s})
    await connection.execute(_DISCOVER_CONFIRM, {"most": MOST})
    await connection.execute(_DISCOVER_WAITED, {"most": MOST})
    await connection.execute(_TIDY)


async def forget(connection: AsyncConnection[Any]) -> None:
    """Drop answered questions of a day ago whose intents are settled."""
    await connection.execute(_FORGET)
