"""Loses the answers of many accepted messages, then asks the provider about all of them. A process of its own.

The times are of everything that the chores do: finding what to ask, the scan with its confirmations, and the entries.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any, Final

import django
from psycopg import AsyncConnection

AT_A_TIME: Final = 50


def main() -> None:
    """Prepare as many as the command line says, ask, and print the figures as one JSON object."""
    django.setup()
    from django.db import connections

    from notifications import wiring

    shop, desk, dsn = wiring.shop(), wiring.desk(), wiring.direct_dsn("asker")
    connections.close_all()
    print(json.dumps(asyncio.run(_measure(shop, desk, dsn, int(sys.argv[1])))))


async def _measure(shop: Any, desk: Any, dsn: str, count: int) -> dict[str, Any]:
    from notifications.delivery import discovery
    from notifications.delivery.reconcile import Desk, reconcile
    from notifications.providers.base import LookupBudget

    async with await AsyncConnection.connect(dsn, autocommit=True, prepare_threshold=1) as connection:
        lost = 0
        while lost < count:
            lost += await _lose(connection, shop)
        await connection.execute("ANALYZE notifyops_private.notifications_intent")
        # As fast as it goes: the pace is a wish of the account's rate, and no figure of ours.
        budget = dict.fromkeys(desk.lookups, LookupBudget(seconds=600.0, per_s=None))
        began = time.perf_counter()
        await discovery.discover(connection, settle_s=0.0)
        found_s = time.perf_counter() - began
        kept = await reconcile(connection, Desk(desk.lookups, budget), worker="bench")
        took_s = time.perf_counter() - began
        cursor = await connection.execute(
            "SELECT state, count(*) FROM notifyops_private.notifications_intent GROUP BY state"
        )
        states: dict[str, int] = dict(await cursor.fetchall())
    for account in shop.accounts.values():
        await account.provider.close()
    for lookup in desk.lookups.values():
        await lookup.close()
    return {"kept": kept, "took_s": took_s, "found_s": found_s, "states": states}


async def _lose(connection: AsyncConnection[Any], shop: Any) -> int:
    """Claim and send some, and record that nobody knows what became of them."""
    from notifications.delivery.claim import claim
    from notifications.delivery.send import send
    from notifications.door import Entry, append_async
    from notifications.states import EntryKind, State

    leases = await claim(connection, shop, worker="bench", room=AT_A_TIME)
    sent = await asyncio.gather(*(send(lease, shop.accounts[lease.account_id]) for lease in leases))
    unknown = {
        "outcome": "unknown",
        "code": "unknown.disconnected",
        "known": "unknown",
        "next_action": "query_provider",
        "ambiguous": True,
        "window_s": 84_600.0,
    }
    entries = [
        Entry(id=one.lease.id, to_state=State.NEEDS_REVIEW, fence=one.lease.fence, **unknown)  # type: ignore[arg-type]
        for one in sent
        if one.result.provider_message_id
    ]
    await append_async(connection, EntryKind.RESULT, entries, worker="bench")
    return len(entries)


if __name__ == "__main__":
    main()
