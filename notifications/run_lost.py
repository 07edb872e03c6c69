"""Runs whose process is gone: told once each, however it died."""

from __future__ import annotations

import logging
from typing import Any, Final

from psycopg import AsyncConnection

logger = logging.getLogger(__name__)

# A silent run whose lock nobody holds has lost its process; half a minute spares one that is only just starting. One
# of epoch 0 was ordered and never begun: it waits its turn.
_LOST: Final = """
WITH silent AS MATERIALIZED (
    SELECT r.id, r.kind, r.key FROM notifyops_private.notifications_run r
    WHERE r.state = 'running' AND r.epoch > 0 AND r.beat_at < clock_timestamp() - interval '30 seconds'
    FOR UPDATE SKIP LOCKED
), lost AS MATERIALIZED (
    SELECT s.id FROM silent s WHERE pg_try_advisory_xact_lock(7806, hashtext(s.kind || '/' || s.key))
)
UPDATE notifyops_private.notifications_run r
SET state = 'interrupted', code = 'process_lost', step_done_count = 0, ended_at = clock_timestamp()
FROM lost WHERE r.id = lost.id RETURNING r.id, r.kind
"""


async def notice_lost(connection: AsyncConnection[Any]) -> None:
    """Mark the runs whose process is gone, once; each is an error in the log. A duty of the chores."""
    cursor = await connection.execute(_LOST)
    for number, kind in await cursor.fetchall():
        logger.error("run lost its process", extra={"action": "run_failed", "run": number, "kind": kind})
