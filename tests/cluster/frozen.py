"""A worker that stops itself between its claim and its call, as a paused machine does; test_frozen.py runs it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import django


async def _once() -> None:
    from psycopg import AsyncConnection

    from notifications import wiring
    from notifications.delivery.claim import claim
    from notifications.delivery.record import record
    from notifications.delivery.send import send

    shop, worker = await asyncio.to_thread(wiring.shop), f"frozen/{os.getpid()}/loop9/0000"
    async with await AsyncConnection.connect(wiring.direct_dsn("frozen"), autocommit=True) as connection:
        leases = await claim(connection, shop, worker=worker, room=1)
        os.kill(os.getpid(), signal.SIGSTOP)
        sent = [await send(lease, shop.accounts[lease.account_id]) for lease in leases]
        await record(connection, shop, sent, worker=worker)
    for account in shop.accounts.values():
        await account.provider.close()
    sys.stdout.write(" ".join(each.result.code for each in sent))


if __name__ == "__main__":
    django.setup()
    asyncio.run(_once())
