"""The queue of questions: which intents the provider is asked about now, and when again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from psycopg import AsyncConnection
from psycopg.rows import namedtuple_row

# What one look-up takes on: its questions are held in memory, with the bytes that say what to look for.
MOST: Final = 10_000
MOST_BYTES: Final = 64_000_000
# Entries are stamped before they commit: what commits late is still found by the next looks.
# LIMIT keeps each look-up one by primary key: a join with all questions took 265 ms at 150,000, this takes 2 ms.
_DISCOVER_REVIEW: Final = """
WITH t AS MATERIALIZED (SELECT notifyops_private.clock_v1() AS now), fresh AS MATERIALIZED (
    SELECT i.id, i.account_id, i.review_since, i.month FROM notifyops_private.notifications_intent i
    LEFT JOIN LATERAL (
        SELECT q.about, q.since FROM notifyops_private.notifications_question q WHERE q.intent_id = i.id LIMIT 1
    ) q ON true
    WHERE i.state = 'needs_review' AND i.next_action = 'query_provider' AND i.known IN ('unknown', 'conflict')
      AND i.review_since > (
        SELECT coalesce(max(q.since) - interval '5 minutes', '-infinity')
        FROM notifyops_private.notifications_question q WHERE q.about = 'review')
      AND (q.about = 'review' AND q.since >= i.review_since) IS NOT TRUE
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
_OPEN: Final = """(i.state = 'needs_review' AND i.next_action = 'query_provider' AND i.known IN ('unknown', 'conflict'))
    OR (i.state = 'accepted' AND i.confirm_at <= t.now)"""
_TIDY: Final = f"""
DELETE FROM notifyops_private.notifications_question q
USING notifyops_private.notifications_intent i, (SELECT notifyops_private.clock_v1() AS now) t
WHERE i.id = q.intent_id AND q.due_at <= t.now AND q.wanted_at IS NULL AND ({_OPEN}) IS NOT TRUE
"""
# Asked every second by an idle cluster: two looks into the index. The clock is read once, or no index would serve.
# ORDER BY with LIMIT keeps them there: without, the planner reads the whole table for a time that it does not know.
_ANY: Final = """
SELECT (SELECT true FROM notifyops_private.notifications_question q
        WHERE q.wanted_at IS NOT NULL ORDER BY q.wanted_at LIMIT 1),
    (SELECT true FROM notifyops_private.notifications_question q
     WHERE q.due_at <= t.now AND q.wanted_at IS NULL ORDER BY q.due_at LIMIT 1)
FROM (SELECT notifyops_private.clock_v1() AS now OFFSET 0) t
"""
# An account that waits or fails is left alone. A used-up quota or a refused sending key says nothing of reading.
_DUE: Final = """
WITH t AS MATERIALIZED (SELECT notifyops_private.clock_v1() AS now), due AS MATERIALIZED (
    SELECT q.intent_id, q.due_at, q.wanted_by, q.asked_count, t.now
    FROM t JOIN notifyops_private.notifications_question q ON q.due_at <= t.now
    LEFT JOIN notifyops_private.notifications_circuit c ON c.account_id = q.account_id
    WHERE (q.wanted_at IS NOT NULL) = %(wanted)s AND coalesce(c.wait_until, '-infinity') <= t.now
      AND (coalesce(c.open_until, '-infinity') <= t.now OR c.reason IN ('daily_quota', 'monthly_quota', 'config'))
    ORDER BY q.due_at LIMIT %(most)s
), sized AS MATERIALIZED (
    SELECT d.*, p.body IS NOT NULL AS has_body,
        sum(coalesce(octet_length(p.body), 0)) OVER (ORDER BY d.due_at, d.intent_id)
            - coalesce(octet_length(p.body), 0) AS before
    FROM due d JOIN notifyops_private.notifications_intent i ON i.id = d.intent_id
    LEFT JOIN notifyops_private.notifications_prepared p ON p.intent_id = i.id AND p.generation = i.generation
)
SELECT i.id, i.account_id, i.type, i.state, i.seq, i.error_code, i.delivery_status, i.provider_message_id,
    coalesce(i.confirm_at <= s.now, false) AS confirming, a.declares_receipts, s.asked_count, s.wanted_by, s.now,
    tried.first_at, tried.last_at, said.outcome AS said, said.code AS said_code,
    (SELECT p.body FROM notifyops_private.notifications_prepared p
     WHERE p.intent_id = i.id AND p.generation = i.generation) AS body,
    (SELECT p.site_mode FROM notifyops_private.notifications_prepared p
     WHERE p.intent_id = i.id AND p.generation = i.generation) AS site_mode
FROM sized s JOIN notifyops_private.notifications_intent i ON i.id = s.intent_id
JOIN notifyops_private.notifications_provideraccount a ON a.id = i.account_id
LEFT JOIN LATERAL (
    SELECT min(l.at) FILTER (WHERE l.kind = 'claimed') AS first_at, max(l.at) AS last_at
    FROM notifyops_private.notifications_logentry l
    WHERE l.intent_id = i.id AND l.month = i.month AND l.generation = i.generation
      AND l.kind IN ('claimed', 'result', 'late', 'lease_lost')
) tried ON true
LEFT JOIN LATERAL (
    SELECT l.outcome, l.code FROM notifyops_private.notifications_logentry l
    WHERE l.intent_id = i.id AND l.month = i.month AND l.kind = 'evidence' ORDER BY l.seq DESC LIMIT 1
) said ON true
WHERE s.before < %(bytes)s
ORDER BY s.due_at, s.intent_id
"""
# Something that this account certainly took: an adapter read its id from a success. Of demo rows none did.
_WITNESS: Final = """
SELECT n.provider_message_id FROM (
    SELECT i.* FROM notifyops_private.notifications_intent i
    WHERE i.account_id = %(account)s AND i.provider_message_id IS NOT NULL
      AND i.created_at > notifyops_private.clock_v1() - %(retention)s::interval
    ORDER BY i.id DESC LIMIT 200
) n WHERE EXISTS (
    SELECT FROM notifyops_private.notifications_logentry l
    WHERE l.intent_id = n.id AND l.month = n.month AND l.kind = 'result' AND l.outcome = 'accepted'
      AND l.code IS NOT NULL AND l.provider_message_id = n.provider_message_id)
  AND (%(mode)s = '' OR EXISTS (
    SELECT FROM notifyops_private.notifications_prepared p
    WHERE p.intent_id = n.id AND p.generation = n.generation AND p.site_mode = %(mode)s))
LIMIT 1
"""
_ANSWERED: Final = """
UPDATE notifyops_private.notifications_question q
SET asked_at = t.now, asked_count = least(q.asked_count + 1, 1000), wanted_by = NULL, wanted_at = NULL,
    due_at = t.now + make_interval(secs => u.again_s)
FROM unnest(%(ids)s::bigint[], %(again)s::double precision[]) AS u(id, again_s),
    (SELECT notifyops_private.clock_v1() AS now) t
WHERE q.intent_id = u.id
"""
_PUT_OFF: Final = """
UPDATE notifyops_private.notifications_question
SET due_at = notifyops_private.clock_v1() + make_interval(secs => %(span_s)s) WHERE intent_id = ANY (%(ids)s::bigint[])
"""
_TAKEN: Final = """
SELECT DISTINCT u.id FROM unnest(%(ids)s::bigint[], %(mails)s::text[]) AS u(id, mail)
JOIN notifyops_private.notifications_intent i ON i.provider_message_id = u.mail AND i.id <> u.id
"""
_FORGET: Final = f"""
DELETE FROM notifyops_private.notifications_question q
USING notifyops_private.notifications_intent i, (SELECT notifyops_private.clock_v1() AS now) t
WHERE i.id = q.intent_id AND q.due_at IS NULL AND q.asked_at < t.now - interval '1 day' AND ({_OPEN}) IS NOT TRUE
"""


class Due(NamedTuple):
    """One intent to ask about, as it stands at `now`, the database's time. `said` is the newest evidence's answer."""

    id: int
    account_id: int
    type: str
    state: str
    seq: int
    error_code: str | None
    delivery_status: str
    provider_message_id: str | None
    confirming: bool
    declares_receipts: bool
    asked_count: int
    wanted_by: str | None
    now: datetime
    first_at: datetime | None
    last_at: datetime | None
    said: str | None
    said_code: str | None
    body: bytes | None
    site_mode: str | None


async def discover(connection: AsyncConnection[Any], *, settle_s: float) -> None:
    """Queue what has stopped or waits for its receipt since the last look, and drop what needs no answer any more."""
    await connection.execute(_DISCOVER_REVIEW, {"most": MOST, "settle_s": settle_s})
    await connection.execute(_DISCOVER_CONFIRM, {"most": MOST})
    await connection.execute(_TIDY)


async def forget(connection: AsyncConnection[Any]) -> None:
    """Drop answered questions of a day ago whose intents are settled."""
    await connection.execute(_FORGET)


async def waiting(connection: AsyncConnection[Any]) -> tuple[bool, bool]:
    """Say whether something is due that a person wants to know, and whether anything else is."""
    row = await (await connection.execute(_ANY)).fetchone()
    return (False, False) if row is None else (bool(row[0]), bool(row[1]))


async def due(connection: AsyncConnection[Any], *, wanted: bool) -> list[Due]:
    """Give what is to be asked now: what persons want to know, or all else."""
    cursor = connection.cursor(row_factory=namedtuple_row)
    await cursor.execute(_DUE, {"wanted": wanted, "most": MOST, "bytes": MOST_BYTES})
    return [Due(*row) for row in await cursor.fetchall()]


async def witness(connection: AsyncConnection[Any], account_id: int, retention_s: float, mode: str = "") -> str | None:
    """Give the id of a message that this account is known to hold, made in site mode `mode`; None: there is none."""
    values = {"account": account_id, "retention": f"{retention_s} seconds", "mode": mode}
    row = await (await connection.execute(_WITNESS, values)).fetchone()
    return None if row is None else str(row[0])


async def answered(connection: AsyncConnection[Any], again: Sequence[tuple[int, float | None]]) -> None:
    """Note that these were asked, and in how many seconds each is asked again; None: not by itself."""
    ids, spans = [intent for intent, _ in again], [span for _, span in again]
    await connection.execute(_ANSWERED, {"ids": ids, "again": spans})


async def put_off(connection: AsyncConnection[Any], ids: Sequence[int], span_s: float) -> None:
    """Ask about these a little later: the time of this round was over before it came to them."""
    await connection.execute(_PUT_OFF, {"ids": list(ids), "span_s": span_s})


async def taken(connection: AsyncConnection[Any], found: Sequence[tuple[int, str]]) -> set[int]:
    """Give the intents for which the provider named a message that another intent has recorded as its own."""
    ids, mails = [intent for intent, _ in found], [mail for _, mail in found]
    cursor = await connection.execute(_TAKEN, {"ids": ids, "mails": mails})
    return {row[0] for row in await cursor.fetchall()}
