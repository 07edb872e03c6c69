"""Claims all that is due, as a loop does but without sending, and prints how long each took. A process of its own.

The times are of the whole claim: BEGIN, pick, rendering, freezing, the log entries, COMMIT on the disk.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any, Final

import django
from psycopg import AsyncConnection

AT_A_TIME: Final = 50
LOOKS: Final = 200


def main() -> None:
    """Claim, and print the times as one JSON object."""
    django.setup()
    from django.db import connections

    from notifications import wiring

    shop, dsn = wiring.shop(), wiring.direct_dsn("claimer")
    connections.close_all()
    print(json.dumps(asyncio.run(_measure(shop, dsn))))


async def _measure(shop: Any, dsn: str) -> dict[str, Any]:
    from notifications.delivery.claim import claim
    from notifications.delivery.link import PINNED

    connection = await AsyncConnection.connect(dsn, autocommit=True, prepare_threshold=1)
    async with connection:
        await connection.execute(PINNED)
        pick_ms = [await _picked(connection, shop) for _ in range(10)]
        claimed, claim_ms = 0, list[float]()
        while True:
            began = time.perf_counter()
            leases = await claim(connection, shop, worker="bench", room=AT_A_TIME)
            if not leases:
                break
            claim_ms.append((time.perf_counter() - began) * 1000)
            claimed += len(leases)
        empty_ms = [await _picked(connection, shop) for _ in range(LOOKS)]
    for account in shop.accounts.values():
        await account.provider.close()
    # The first claims of a process read templates and plan; a loop lives for tens of seconds.
    return {"claimed": claimed, "claim_ms": claim_ms[3:], "pick_ms": pick_ms[5:], "empty_ms": empty_ms[20:]}


async def _picked(connection: AsyncConnection[Any], shop: Any) -> float:
    """Give how long one pick takes; what it locks is given back."""
    from notifications.door import pick

    async with connection.transaction(force_rollback=True):
        began = time.perf_counter()
        await pick(connection, AT_A_TIME, list(shop.accounts))
        ended = time.perf_counter()
    return (ended - began) * 1000


if __name__ == "__main__":
    main()
