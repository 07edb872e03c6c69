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
# The recovery for which the providers' lists are read: before the provider has settled they may be behind, and of an
# older one they are not read any more, as providers keep messages for about as long. The clock is `t.now`.
LISTED_FOR: Final = """
    SELECT r.id, r.since, r.started_at FROM notifyops_private.notifications_recovery r
    WHERE (r.marked_at IS NOT NULL OR r.marked_count > 0) AND (r.waived_by IS NULL OR r.marked_count > 0)
      AND r.started_at > t.now - interval '14 days'
    ORDER BY r.id DESC LIMIT 1
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
_DUE: Final = f"""
WITH t AS MATERIALIZED (SELECT notifyops_private.clock_v1() AS now), due AS MATERIALIZED (
    SELECT q.intent_id, q.about, q.due_at, q.wanted_by, q.asked_count, t.now,
        q.about = 'restore' AND q.asked_at IS NULL AS first_after_restore
    FROM t JOIN notifyops_private.notifications_question q ON q.due_at <= t.now
    LEFT JOIN notifyops_private.notifications_circuit c ON c.account_id = q.account_id
    WHERE (q.wanted_at IS NOT NULL) = %(wanted)s AND coalesce(c.wait_until, '-infinity') <= t.now
      -- The list first: what it shows keeps a "no" from freeing. One that does not end is not waited for.
      AND NOT (q.about = 'restore' AND EXISTS (
        SELECT FROM ({LISTED_FOR}) r JOIN notifyops_private.notifications_recoverylist l ON l.recovery_id = r.id
        WHERE l.account_id = q.account_id AND l.done_at IS NULL AND l.code IS NULL
          AND r.started_at > t.now - interval '30 minutes'))
      AND (coalesce(c.open_until, '-infinity') <= t.now OR c.reason IN ('daily_quota', 'monthly_quota', 'config'))
    ORDER BY q.due_at LIMIT %(most)s
), sized AS MATERIALIZED (
    SELECT d.*, p.body IS NOT NULL AS has_body,
        sum(coalesce(octet_length(p.body), 0)) OVER (ORDER BY d.due_at, d.intent_id)
            - coalesce(octet_length(p.body), 0) AS before
    FROM due d JOIN notifyops_private.notifications_intent i ON i.id = d.intent_id
    LEFT JOIN notifyops_private.notifications_prepared p ON p.intent_id = i.id AND p.generation = i.generation
)
SELECT i.id, i.account_id, i.type, i.seq, i.generation,
    -- What the list has shown already is asked about by its id: the list reads farther back than a scan.
    coalesce(i.provider_message_id, shown.id) AS provider_message_id, a.declares_receipts,
    s.asked_count, s.wanted_by, s.now, s.first_after_restore,
    -- What a restored database has forgotten began at the restored point, and ended before the recovery began.
    CASE WHEN r.since IS NULL THEN tried.first_at
        WHEN coalesce((held.detail ->> 'ambiguous')::boolean, i.first_ambiguous_at IS NOT NULL)
        THEN least(tried.first_at, r.since)
        -- Held by an earlier recovery and not settled since: its forgotten time counts as well.
        ELSE greatest(least(r.since, (held.detail ->> 'since')::timestamptz - interval '10 minutes'), i.created_at)
        END AS first_at,
    greatest(tried.last_at, r.started_at) AS last_at, said.outcome AS said, said.code AS said_code,
    (SELECT p.body FROM notifyops_private.notifications_prepared p
     WHERE p.intent_id = i.id AND p.generation = i.generation) AS body,
    (SELECT p.site_mode FROM notifyops_private.notifications_prepared p
     WHERE p.intent_id = i.id AND p.generation = i.generation) AS site_mode,
    CASE WHEN r.since IS NOT NULL AND NOT s.has_body THEN
        (SELECT c.recipient FROM notifyops_private.notifications_content c WHERE c.intent_id = i.id) END AS recipient
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
LEFT JOIN LATERAL (
    SELECT o.since - interval '10 minutes' AS since, o.started_at FROM notifyops_private.notifications_recovery o
    WHERE s.about = 'restore' ORDER BY o.id DESC LIMIT 1
) r ON true
LEFT JOIN LATERAL (
    SELECT l.detail FROM notifyops_private.notifications_logentry l
    WHERE s.about = 'restore' AND i.error_code = 'restored' AND l.intent_id = i.id AND l.month = i.month
      AND l.code = 'restored' ORDER BY l.seq DESC LIMIT 1
) held ON true
LEFT JOIN LATERAL (
    SELECT min(u.provider_message_id) AS id FROM notifyops_private.notifications_unknownmail u
    WHERE i.provider_message_id IS NULL AND u.tag_intent = i.id::text AND u.tag_generation = i.generation::text
      AND u.account_id = i.account_id AND u.taken_at >= i.created_at - interval '5 minutes'
    HAVING count(*) = 1
) shown ON true
WHERE s.before < %(bytes)s
ORDER BY s.due_at, s.intent_id
"""
# Something that this account certainly took: an adapter read its id from a success. Of demo rows none did.
_WITNESS: Final = """
SELECT n.provider_message_id, n.created_at, seen.at FROM (
    SELECT i.* FROM notifyops_private.notifications_intent i
    WHERE i.account_id = %(account)s AND i.provider_message_id IS NOT NULL
      AND i.created_at > notifyops_private.clock_v1() - %(retention)s::interval
    ORDER BY i.id DESC LIMIT 200
) n JOIN LATERAL (
    SELECT l.at FROM notifyops_private.notifications_logentry l
    WHERE l.intent_id = n.id AND l.month = n.month AND l.kind = 'result' AND l.outcome = 'accepted'
      AND l.code IS NOT NULL AND l.provider_message_id = n.provider_message_id LIMIT 1
) seen ON true
WHERE (%(mode)s = '' OR EXISTS (
    SELECT FROM notifyops_private.notifications_prepared p
    WHERE p.intent_id = n.id AND p.generation = n.generation AND p.site_mode = %(mode)s))
LIMIT 1
"""
# What a person wants to know since the round began is not answered by it: that question stays, and is asked anew.
_ANSWERED: Final = """
UPDATE notifyops_private.notifications_question q
SET asked_at = t.now, asked_count = least(q.asked_count + 1, 1000),
    wanted_by = CASE WHEN u.since < q.wanted_at THEN q.wanted_by END,
    wanted_at = CASE WHEN u.since < q.wanted_at THEN q.wanted_at END,
    due_at = CASE WHEN u.since < q.wanted_at THEN q.due_at ELSE t.now + make_interval(secs => u.again_s) END
FROM unnest(%(ids)s::bigint[], %(since)s::timestamptz[], %(again)s::double precision[]) AS u(id, since, again_s),
    (SELECT notifyops_private.clock_v1() AS now) t
WHERE q.intent_id = u.id
"""
_PUT_OFF: Final = """
UPDATE notifyops_private.notifications_question
SET due_at = notifyops_private.clock_v1() + make_interval(secs => %(span_s)s) WHERE intent_id = ANY (%(ids)s::bigint[])
"""
# As if a person waited for it: an answer that was overtaken is wanted whatever became of the intent meanwhile.
_ASK_AGAIN: Final = """
UPDATE notifyops_private.notifications_question q
SET due_at = t.now + make_interval(secs => %(span_s)s), wanted_at = coalesce(q.wanted_at, t.now)
FROM (SELECT notifyops_private.clock_v1() AS now) t WHERE q.intent_id = ANY (%(ids)s::bigint[])
"""
_TAKEN: Final = """
SELECT DISTINCT u.id FROM unnest(%(ids)s::bigint[], %(mails)s::text[]) AS u(id, mail)
JOIN notifyops_private.notifications_intent i ON i.provider_message_id = u.mail AND i.id <> u.id
"""


class Due(NamedTuple):
    """One intent to ask about, as it stands at `now`, the database's time. `said` is the newest evidence's answer.

    `recipient` is read only where a restored database may have forgotten the bytes. `first_after_restore`: the recovery
    waits for this answer, whatever it is. `older`: the question is about a generation before the present one.
    """

    id: int
    account_id: int
    type: str
    seq: int
    generation: int
    provider_message_id: str | None
    declares_receipts: bool
    asked_count: int
    wanted_by: str | None
    now: datetime
    first_after_restore: bool
    first_at: datetime | None
    last_at: datetime | None
    said: str | None
    said_code: str | None
    body: bytes | None
    site_mode: str | None
    recipient: str | None
    older: bool = False

    @property
    def ref(self) -> int:
        """The question's number in its look-up: the intent's own, or one that no intent has."""
        return -(self.id * 1000 + self.generation) if self.older else self.id


async def waiting(connection: AsyncConnection[Any]) -> tuple[bool, bool]:
    """Say whether something is due that a person wants to know, and whether anything else is."""
    row = await (await connection.execute(_ANY)).fetchone()
    return (False, False) if row is None else (bool(row[0]), bool(row[1]))


async def due(connection: AsyncConnection[Any], *, wanted: bool) -> list[Due]:
    """Give what is to be asked now: what persons want to know, or all else."""
    cursor = connection.cursor(row_factory=namedtuple_row)
    await cursor.execute(_DUE, {"wanted": wanted, "most": MOST, "bytes": MOST_BYTES})
    return [Due(*row) for row in await cursor.fetchall()]


class Witness(NamedTuple):
    """A message that an account is known to hold: its id, and between which times of our clock it was taken."""

    id: str
    since: datetime
    until: datetime


async def witness(
    connection: AsyncConnection[Any], account_id: int, retention_s: float, mode: str = ""
) -> Witness | None:
    """Give a message that this account is known to hold, made in site mode `mode`; None: there is none."""
    values = {"account": account_id, "retention": f"{retention_s} seconds", "mode": mode}
    row = await (await connection.execute(_WITNESS, values)).fetchone()
    return None if row is None else Witness(*row)


async def answered(connection: AsyncConnection[Any], again: Sequence[tuple[Due, float | None]]) -> None:
    """Note that these were asked, and in how many seconds each is asked again; None: not by itself."""
    ids, since = [row.id for row, _ in again], [row.now for row, _ in again]
    await connection.execute(_ANSWERED, {"ids": ids, "since": since, "again": [span for _, span in again]})


async def put_off(connection: AsyncConnection[Any], ids: Sequence[int], span_s: float) -> None:
    """Ask about these a little later: the time of this round was over before it came to them."""
    await connection.execute(_PUT_OFF, {"ids": list(ids), "span_s": span_s})


async def ask_again(connection: AsyncConnection[Any], ids: Sequence[int], span_s: float) -> None:
    """Ask about these once more in any case: what was answered had been overtaken when it was to be written."""
    if ids:
        await connection.execute(_ASK_AGAIN, {"span_s": span_s, "ids": list(ids)})


async def taken(connection: AsyncConnection[Any], found: Sequence[tuple[int, str]]) -> set[int]:
    """Give the intents for which the provider named a message that another intent has recorded as its own."""
    ids, mails = [intent for intent, _ in found], [mail for _, mail in found]
    cursor = await connection.execute(_TAKEN, {"ids": ids, "mails": mails})
    return {row[0] for row in await cursor.fetchall()}
