"""What is asked beside a question: the generations before, which may be out although there is a newer one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from psycopg import AsyncConnection

from notifications.delivery.questions import Due

# Two persons gave it up, and nobody has said anything of it since: its message may lie at the provider under the older
# key, and bears tags of its own.
_OLDER: Final = """
SELECT i.id, p.generation, p.body, p.site_mode, tried.first_at, tried.last_at
FROM unnest(%s::bigint[]) AS u(id) JOIN notifyops_private.notifications_intent i ON i.id = u.id AND i.generation > 1
JOIN notifyops_private.notifications_prepared p
  ON p.intent_id = i.id AND p.generation < i.generation AND p.account_id = i.account_id AND p.body IS NOT NULL
CROSS JOIN LATERAL (
    SELECT min(l.at) FILTER (WHERE l.kind = 'claimed') AS first_at, max(l.at) AS last_at
    FROM notifyops_private.notifications_logentry l
    WHERE l.intent_id = i.id AND l.month = i.month AND l.generation = p.generation
      AND l.kind IN ('claimed', 'result', 'late', 'lease_lost')
) tried
WHERE tried.first_at IS NOT NULL AND EXISTS (
    SELECT FROM notifyops_private.notifications_logentry r WHERE r.intent_id = i.id AND r.month = i.month
        AND r.kind = 're_prepared' AND r.generation = p.generation + 1 AND r.detail ? 'may_duplicate')
  AND NOT EXISTS (
    SELECT FROM notifyops_private.notifications_logentry h WHERE h.intent_id = i.id AND h.month = i.month
        AND coalesce((h.detail ->> 'generation')::integer, h.generation) = p.generation
        AND (h.kind IN ('receipt', 'settled') OR (h.kind = 'evidence' AND h.outcome = 'found')))
"""


async def older(connection: AsyncConnection[Any], rows: Sequence[Due]) -> list[Due]:
    """Give what is to be asked about older generations of these."""
    by_id = {row.id: row for row in rows if row.generation > 1}
    if not by_id:
        return []
    cursor = await connection.execute(_OLDER, (list(by_id),))
    return [
        by_id[intent]._replace(
            generation=generation,
            provider_message_id=None,
            first_after_restore=False,
            first_at=first_at,
            last_at=last_at,
            body=body,
            site_mode=site_mode,
            recipient=None,
            older=True,
        )
        for intent, generation, body, site_mode, first_at, last_at in await cursor.fetchall()
    ]
