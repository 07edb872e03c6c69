"""The accounts' buckets: what results teach about them, and the tokens of leases that were never used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection

from notifications.delivery.lease import Sent
from notifications.delivery.shop import Shop
from notifications.policy.breaker import is_unused
from notifications.policy.rate import left, stated_rate

SPEND = "SELECT notifyops_private.spend_v1(%s::bigint[], %s::integer[])"
_LEARN = "SELECT notifyops_private.learn_v1(%s, %s, %s)"


def is_news(shop: Shop, sent: Sent) -> bool:
    """Say whether a result changes what is known of its account's rate, or leaves a token unused."""
    limits = sent.result.limits
    if limits and (_new_rate(shop, sent) is not None or left(limits) is not None):
        return True
    return is_unused(sent.result)


async def spend(connection: AsyncConnection[Any], counts: Counter[int]) -> None:
    """Take one token for each lease of these accounts, in the claim's own transaction, which holds their buckets."""
    await connection.execute(SPEND, (list(counts), list(counts.values())))


async def learn(connection: AsyncConnection[Any], shop: Shop, batch: Sequence[Sent]) -> None:
    """Keep what these results say of their accounts' rates, and give unused tokens back; in the caller's transaction.

    Neither waits for a claim that holds the bucket: what was not kept now is said again by the next answer.
    """
    rates: dict[int, float] = {}
    least: dict[int, int] = {}
    unused: Counter[int] = Counter()
    for sent in batch:
        account, limits = sent.lease.account_id, sent.result.limits
        unused[account] += is_unused(sent.result)
        if not limits:
            continue
        rate, remaining = _new_rate(shop, sent), left(limits)
        if rate is not None:
            rates[account] = rate
        if remaining is not None:
            least[account] = min(remaining, least.get(account, remaining))
    for account in sorted(rates.keys() | least.keys()):
        cursor = await connection.execute(_LEARN, (account, rates.get(account), least.get(account)))
        row = await cursor.fetchone()
        if row is not None and row[0] and account in rates:
            shop.learned[account] = rates[account]
    given = Counter({account: -count for account, count in unused.items() if count})
    if given:
        await spend(connection, given)


def _new_rate(shop: Shop, sent: Sent) -> float | None:
    """Give the stated rate where this loop has not kept it yet."""
    rate = stated_rate(sent.result.limits)
    return None if rate == shop.learned.get(sent.lease.account_id) else rate
