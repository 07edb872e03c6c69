"""The parked events: take those that are due with the intents that they are about, put them off, let them go.

All of it inside the caller's transaction. Times are seconds from the database's now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from psycopg import AsyncConnection

from notifications.receipts.parse import says
from notifications.states import DeliveryStatus

# Our tags name the intent (another site's were never parked); the id does only where there are none.
# LIMIT keeps each look-up one by an index.
_TAKE: Final = """
WITH due AS MATERIALIZED (
    SELECT p.event_id FROM notifyops_private.notifications_parkedreceipt p
    WHERE p.due_at <= (SELECT notifyops_private.clock_v1())
    ORDER BY p.due_at, p.event_id LIMIT %(batch)s FOR UPDATE SKIP LOCKED
)
SELECT e.id, e.type, e.bounce_class, e.code, e.provider_message_id,
    extract(epoch FROM notifyops_private.clock_v1() - e.received_at)::float8, i.id, i.state, i.generation,
    i.type, i.seq, i.attempt_count, i.delivery_status, i.known, i.error_code, made.generation,
    CASE WHEN i.generation = 1 THEN i.provider_message_id ELSE (
        SELECT l.provider_message_id FROM notifyops_private.notifications_logentry l
        WHERE l.intent_id = i.id AND l.month = i.month AND l.generation = i.generation
          AND l.provider_message_id IS NOT NULL ORDER BY l.seq DESC LIMIT 1) END,
    made.generation < i.generation AND EXISTS (
        SELECT FROM notifyops_private.notifications_logentry l
        WHERE l.intent_id = i.id AND l.month = i.month AND l.kind = 're_prepared'
          AND l.generation = made.generation + 1 AND l.detail ? 'may_duplicate'),
    (made.generation < i.generation OR i.delivery_status IN ('soft_bounced', 'failed')) AND EXISTS (
        SELECT FROM notifyops_private.notifications_logentry l
        WHERE l.intent_id = i.id AND l.month = i.month AND l.detail ->> 'says' IN ('delivered', 'complained')
          AND coalesce((l.detail ->> 'generation')::integer, l.generation) = made.generation),
    i.first_ambiguous_at IS NOT NULL, lost.of_id
FROM due d CROSS JOIN LATERAL (
    SELECT v.* FROM notifyops_private.notifications_providerevent v WHERE v.id = d.event_id LIMIT 1
) e
CROSS JOIN LATERAL (
    SELECT CASE WHEN e.tag_site IS NOT NULL THEN e.tag_intent ELSE (
        SELECT o.id FROM notifyops_private.notifications_intent o
        WHERE o.provider_message_id = e.provider_message_id AND o.account_id = e.account_id LIMIT 1) END AS id
) named
LEFT JOIN LATERAL (SELECT o.* FROM notifyops_private.notifications_intent o WHERE o.id = named.id LIMIT 1) i ON true
LEFT JOIN LATERAL (
    -- Only what this very account was handed can be heard of from it.
    SELECT p.generation FROM notifyops_private.notifications_prepared p
    WHERE p.intent_id = i.id AND p.account_id = e.account_id AND p.generation = coalesce(
        CASE WHEN e.tag_site IS NOT NULL THEN e.tag_generation END, (
        SELECT max(l.generation) FROM notifyops_private.notifications_logentry l
        WHERE l.intent_id = i.id AND l.month = i.month AND l.provider_message_id = e.provider_message_id))
    UNION ALL
    -- What was handed over may be forgotten after a restore, and our tags tell: never sent here, or a later generation.
    SELECT e.tag_generation WHERE e.tag_site IS NOT NULL
      AND e.account_id IN (SELECT notifyops_private.reach_v1(i.account_id))
      AND (e.tag_generation > i.generation OR (e.tag_generation = i.generation AND i.attempt_count = 0))
      AND (e.occurred_at > i.created_at - interval '5 minutes') IS NOT FALSE
      AND EXISTS (SELECT FROM notifyops_private.notifications_recovery r WHERE r.started_at >= i.created_at)
    LIMIT 1
) made ON true
-- To a corrected address that was given in the lost time: only the first notification of its key is here.
LEFT JOIN LATERAL (
    SELECT o.id AS of_id FROM notifyops_private.notifications_intent o
    WHERE i.id IS NULL AND e.tag_site IS NOT NULL AND o.id = e.tag_root
      AND (e.occurred_at > o.created_at - interval '5 minutes') IS NOT FALSE
      AND EXISTS (SELECT FROM notifyops_private.notifications_recovery r WHERE r.started_at >= o.created_at)
) lost ON true
ORDER BY e.id
"""
# What a receipt says of a message that is forgotten here bars as much as the provider's list does (`forgotten_v1`).
_FORGOTTEN: Final = """
INSERT INTO notifyops_private.notifications_unknownmail
    (recovery_id, account_id, provider_message_id, tag_intent, tag_generation, tag_root, taken_at)
SELECT DISTINCT ON (e.account_id, e.provider_message_id) r.id, e.account_id, e.provider_message_id,
    coalesce(e.tag_intent::text, ''), coalesce(e.tag_generation::text, ''), coalesce(e.tag_root::text, ''),
    coalesce(e.occurred_at, e.received_at)
FROM notifyops_private.notifications_providerevent e,
    (SELECT max(r.id) AS id FROM notifyops_private.notifications_recovery r) r
WHERE e.id = ANY (%s::bigint[]) AND e.provider_message_id IS NOT NULL AND r.id IS NOT NULL
ON CONFLICT DO NOTHING
"""
_LATER: Final = """
UPDATE notifyops_private.notifications_parkedreceipt p SET due_at = t.now + make_interval(secs => u.wait_s)
FROM unnest(%s::bigint[], %s::float8[]) AS u(id, wait_s), (SELECT notifyops_private.clock_v1() AS now OFFSET 0) t
WHERE p.event_id = u.id
"""
_DONE: Final = "DELETE FROM notifyops_private.notifications_parkedreceipt WHERE event_id = ANY (%s::bigint[])"
_BLOCK: Final = "SELECT notifyops_private.block_v1(%s::bigint[], %s::integer[], %s::text[])"


class Taken(NamedTuple):
    """One parked event, locked until the transaction ends, beside the intent that it is about (None: nobody's)."""

    event: int
    type: str
    bounce_class: str | None
    code: str | None
    message_id: str | None
    age_s: float
    intent: int | None
    state: str
    current_generation: int
    kind: str
    seq: int
    attempt_count: int
    delivery_status: str
    known: str | None
    error_code: str | None
    generation: int | None
    accepted_id: str | None
    given_up: bool | None
    heard: bool | None
    ambiguous: bool | None
    lost_of: int | None

    @property
    def is_forgotten(self) -> bool:
        """Say whether it is about a later generation, or a corrected address, that a restored database forgot."""
        return self.lost_of is not None or self._is_later

    @property
    def _is_later(self) -> bool:
        return self.intent is not None and self.generation is not None and self.generation > self.current_generation

    @property
    def says(self) -> DeliveryStatus | None:
        """Give what it says about its message."""
        return says(self.type, self.bounce_class)


async def take(connection: AsyncConnection[Any], most: int) -> list[Taken]:
    """Lock the oldest events that are due, in the order of arrival; another applier's are passed over."""
    cursor = connection.cursor(binary=True)
    await cursor.execute(_TAKE, {"batch": most})
    return [Taken._make(row) for row in await cursor.fetchall()]


async def let_go(connection: AsyncConnection[Any], *, done: Sequence[int], later: Mapping[int, float]) -> None:
    """Forget what is dealt with, and put off the rest by so many seconds."""
    if later:
        await connection.execute(_LATER, (list(later), list(later.values())))
    if done:
        await connection.execute(_DONE, (list(done),))


async def note_forgotten(connection: AsyncConnection[Any], events: Sequence[int]) -> None:
    """Keep the ids of messages that a restored database does not remember, as the provider's list would show them."""
    if events:
        await connection.execute(_FORGOTTEN, (list(events),))


async def block(connection: AsyncConnection[Any], reasons: Sequence[tuple[int, int, str]]) -> None:
    """Block the addresses of these intents on their channels: the generation that came back, and why."""
    if reasons:
        ids, generations, words = ([each[place] for each in reasons] for place in range(3))
        await connection.execute(_BLOCK, (ids, generations, words))
