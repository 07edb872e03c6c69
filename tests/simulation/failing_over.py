"""Two accounts, of which the second takes over: the hand-over as the loop does it, and what both ledgers say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from notifications.delivery.failover import fail_over
from notifications.delivery.shop import Shop
from tests.simulation.scheduler import Process
from tests.simulation.violation import Violation
from tests.simulation.world import World

_TOLD: Final = """
SELECT count(*) FILTER (WHERE l.kind = 'failed_over'),
    count(*) FILTER (WHERE l.kind = 'claimed' AND i.account_id = %(a)s AND EXISTS (
        SELECT FROM notifyops_private.notifications_logentry o WHERE o.intent_id = i.id AND o.month = i.month
        AND o.attempt < l.attempt AND o.kind = 'result' AND o.outcome = 'unknown'))
FROM notifyops_private.notifications_intent i
JOIN notifyops_private.notifications_logentry l ON l.intent_id = i.id AND l.month = i.month
WHERE i.account_id = ANY (%(accounts)s)
"""


async def hand_over(world: World, line: Any, shop: Shop, process: Process) -> None:
    """Hand over what waits, where this world has an account that takes it: a statement, and so a transaction."""
    if world.spare is None:
        return
    shop.troubled.add(world.account)  # as the loop hears from the database every few seconds
    async with line.transaction():
        await fail_over(line, shop, worker=process.name)


def violations(world: World) -> Iterator[Violation]:
    """No notification is accepted by two accounts, whatever each of them heard of it. Count what went over."""
    if world.spare is None:
        return
    ledgers = defaultdict(set)
    for one in world.provider.accepted:
        ledgers[one.intent].add(one.is_spare)
    for intent, theirs in ledgers.items():
        if len(theirs) > 1 and intent not in world.provider.lied_about:
            yield Violation("accepted_by_two_accounts", f"intent {intent}")
    values = {"a": world.account, "accounts": world.accounts}
    row = world.database.owner.execute(_TOLD, values).fetchone()
    assert row is not None
    taken = world.scheduler.plan.coverage.taken
    taken["weather × failed_over"] += row[0]
    taken["weather × stayed_in_doubt"] += row[1]
    taken["weather × sent_by_spare"] += sum(one.is_spare for one in world.provider.accepted)
