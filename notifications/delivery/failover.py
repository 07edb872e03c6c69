"""Failover: hand over to its fallback what waits for an account that is not called. The database decides on each."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from psycopg import AsyncConnection

from notifications.delivery.lease import Sent
from notifications.delivery.shop import Shop

logger = logging.getLogger(__name__)

# One call locks and looks at so many: a fraction of a second, in which they are nobody else's.
BATCH: Final = 200
_MOVE: Final = (
    "SELECT count(*) FILTER (WHERE refused IS NULL), count(*) "
    "FROM notifyops_private.fail_over_v1(%s::bigint[], %s, %s, %s::bigint[])"
)


def has_fallback(shop: Shop, account_id: int) -> bool:
    """Say whether another account may take over from this one, and this host can use it."""
    account = shop.accounts.get(account_id)
    return account is not None and account.fallback in shop.accounts


def of_its_own(shop: Shop, sent: Sent) -> Sent:
    """Give the call without its word that the address is gone, where that holds for a stand-in alone.

    A bot that takes over from another one knows none of that one's chats: it must not close them for both.
    """
    account = shop.accounts[sent.lease.account_id]
    if not (sent.result.address_gone and account.provider.capabilities.knows_its_own):
        return sent
    stands_in = any(other.fallback == account.id for other in shop.accounts.values())
    return replace(sent, result=replace(sent.result, address_gone=False)) if stands_in else sent


async def fail_over(connection: AsyncConnection[Any], shop: Shop, *, worker: str) -> bool:
    """Hand over a batch of what is due behind open circuits; say whether there may be more.

    Cheap where no account of this host is in trouble or none has a fallback: nothing is asked then.
    """
    if not any(has_fallback(shop, account) for account in shop.troubled):
        return False
    moved, looked_at = await _moved(connection, shop, worker, None)
    return moved > 0 and looked_at >= BATCH


async def fail_over_refused(connection: AsyncConnection[Any], shop: Shop, ids: Sequence[int], *, worker: str) -> None:
    """Hand over what its account has just refused for a reason of its own; what may not go stays as it was recorded."""
    if ids:
        await _moved(connection, shop, worker, list(ids))


async def _moved(connection: AsyncConnection[Any], shop: Shop, worker: str, only: list[int] | None) -> tuple[int, int]:
    cursor = await connection.execute(_MOVE, (list(shop.accounts), BATCH, worker, only))
    row = await cursor.fetchone()
    assert row is not None
    if row[0]:
        logger.warning("failed over: %d", row[0], extra={"action": "failed_over"})
    return row[0], row[1]
