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
          AND l.provider_message_id IS NOT NULL ORDER BY l.seq DESC LIMIT 1) END
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
        WHERE l.intent_id = i.id AND l.month = i.month AND l.provider_message_id = e.provider_message_id)) LIMIT 1
) made ON true
ORDER BY e.id
"""
_LATER: Final = """
UPDATE notifyops_private.notifications_parkedreceipt p SET due_at = t.now + make_interval(secs => u.wait_s)
FROM unnest(%s::bigint[], %s::float8[]) AS u(id, wait_s), (SELECT notifyops_private.clock_v1() AS now OFFSET 0) t
WHERE p.event_id = u.id
"""
_DONE: Final = "DELETE FROM notifyops_private.notifications_parkedreceipt WHERE event_id = ANY (%s::bigint[])"
# The graver reason stays; a recipient's own wish is never overwritten.
_BLOCK: Final = """
INSERT INTO notifyops_private.notifications_deliveryblock AS b (channel, commitment, scope, reason)
SELECT DISTINCT ON (c.commitment, i.channel) i.channel, c.commitment, '', u.reason
FROM unnest(%s::bigint[], %s::text[]) AS u(id, reason)
JOIN notifyops_private.notifications_intent i ON i.id = u.id
JOIN notifyops_private.notifications_content c ON c.intent_id = i.id
-- What was redirected went to our own address: its bounce says nothing of the recipient's.
WHERE NOT EXISTS (SELECT FROM notifyops_private.notifications_prepared p
                  WHERE p.intent_id = i.id AND p.site_mode = 'redirect')
ORDER BY c.commitment, i.channel, u.reason DESC
ON CONFLICT (commitment, channel, scope) DO UPDATE SET reason = excluded.reason
WHERE b.reason = 'bounced' AND excluded.reason = 'complained'
"""


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


async def block(connection: AsyncConnection[Any], reasons: Sequence[tuple[int | None, str]]) -> None:
    """Block the addresses of these intents on their channels, each for its reason."""
    if reasons:
        await connection.execute(_BLOCK, ([intent for intent, _ in reasons], [reason for _, reason in reasons]))
