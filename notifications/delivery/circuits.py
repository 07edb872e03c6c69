"""What a batch of results means for its accounts: wait, open, close. Shared by all hosts through the database."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection

from notifications.delivery.lease import Sent
from notifications.delivery.shop import Shop
from notifications.policy.retry import Decision, decide
from notifications.states import Outcome

logger = logging.getLogger(__name__)

LONGEST_COOLDOWN_S = 600.0

_WAIT = """
INSERT INTO notifyops_private.notifications_circuit AS c (account_id, wait_until, changed_at)
VALUES (%(account)s, notifyops_private.clock_v1() + make_interval(secs => %(wait_s)s), notifyops_private.clock_v1())
ON CONFLICT (account_id) DO UPDATE SET wait_until = greatest(c.wait_until, excluded.wait_until),
    changed_at = excluded.changed_at
"""
# A day's quota starts afresh at 00:00 UTC; a month's waits for a person.
_QUOTA = """
INSERT INTO notifyops_private.notifications_circuit AS c (account_id, open_until, reason, code, changed_at)
VALUES (%(account)s, CASE WHEN %(reason)s = 'daily_quota'
    THEN (date_trunc('day', notifyops_private.clock_v1() AT TIME ZONE 'UTC') + interval '1 day') AT TIME ZONE 'UTC'
    ELSE 'infinity' END, %(reason)s, %(code)s, notifyops_private.clock_v1())
ON CONFLICT (account_id) DO UPDATE SET open_until = greatest(c.open_until, excluded.open_until),
    reason = excluded.reason, code = excluded.code, changed_at = excluded.changed_at
"""
# Repeated refusals of the account itself open the circuit, each further one twice as long.
_CONFIG = """
INSERT INTO notifyops_private.notifications_circuit AS c (account_id, config_failures, code, changed_at)
VALUES (%(account)s, 1, %(code)s, notifyops_private.clock_v1())
ON CONFLICT (account_id) DO UPDATE SET
    -- Calls that were under way when it opened say nothing new; only a refused probe makes it wait twice as long.
    config_failures = CASE WHEN c.open_until IS NULL OR %(probe)s THEN least(c.config_failures + 1, 1000)
        ELSE c.config_failures END,
    open_until = CASE WHEN c.config_failures + 1 < %(threshold)s OR c.reason LIKE '%%quota'
            OR (c.open_until IS NOT NULL AND NOT %(probe)s) THEN c.open_until
        ELSE notifyops_private.clock_v1() + make_interval(secs => least(%(longest_s)s,
            %(cooldown_s)s * power(2, least(c.config_failures + 1 - %(threshold)s, 20)))) END,
    reason = CASE WHEN c.config_failures + 1 >= %(threshold)s THEN coalesce(c.reason, 'config') ELSE c.reason END,
    code = excluded.code, changed_at = excluded.changed_at
RETURNING open_until IS NOT NULL
"""
_CLEAR = """
UPDATE notifyops_private.notifications_circuit
SET open_until = NULL, reason = NULL, code = NULL, config_failures = 0, changed_at = notifyops_private.clock_v1()
WHERE account_id = %(account)s AND (open_until IS NOT NULL OR config_failures > 0)
    -- A success that began before a quota was used up says nothing of the quota; the probe after it does.
    AND (%(probe)s OR coalesce(reason, 'config') = 'config')
"""


def is_news(shop: Shop, sent: Sent, decision: Decision) -> bool:
    """Say whether a result concerns its whole account: a wait, a refusal, or the success that ends trouble."""
    if decision.account_wait_s is not None or decision.circuit is not None:
        return True
    return sent.result.outcome is Outcome.ACCEPTED and (sent.lease.probe or sent.lease.account_id in shop.troubled)


def foresee(shop: Shop, sent: Sent) -> None:
    """Stop an account in this loop's memory as soon as its answers will close it, before that is recorded."""
    account, result = sent.lease.account_id, sent.result
    if result.outcome is Outcome.ACCEPTED:
        shop.refusals.pop(account, None)
        return
    decision = decide(result, sent.lease.facts, shop.rng)
    if decision.circuit == "config":
        shop.refusals[account] += 1
    enough = decision.circuit == "config" and shop.refusals[account] >= shop.rules.config_failures
    if enough or decision.account_wait_s is not None or decision.circuit not in (None, "config"):
        shop.stopped[account] = time.monotonic()


async def report(connection: AsyncConnection[Any], shop: Shop, decided: Sequence[tuple[Sent, Decision]]) -> None:
    """Tell the accounts' circuits what these results mean; in the caller's transaction.

    A batch of 500 rate limits is one wait of an account; refusals of its configuration are counted one by one.
    """
    waits: dict[int, float] = {}
    quotas: dict[int, tuple[str, str]] = {}
    # Sorted by account: two recorders that update circuits in different order would deadlock.
    for sent, decision in sorted(decided, key=lambda pair: pair[0].lease.account_id):
        account = sent.lease.account_id
        if decision.account_wait_s is not None:
            waits[account] = max(decision.account_wait_s, waits.get(account, 0.0))
        elif decision.circuit == "config":
            await _refused(connection, shop, sent)
        elif decision.circuit is not None:
            quotas[account] = (decision.circuit, sent.result.code)
        elif sent.result.outcome is Outcome.ACCEPTED and (sent.lease.probe or account in shop.troubled):
            await connection.execute(_CLEAR, {"account": account, "probe": sent.lease.probe})
            shop.troubled.discard(account)
    for account, wait_s in waits.items():
        await connection.execute(_WAIT, {"account": account, "wait_s": wait_s})
        shop.stopped[account] = time.monotonic()
    for account, (reason, code) in quotas.items():
        await connection.execute(_QUOTA, {"account": account, "reason": reason, "code": code})
        shop.troubled.add(account)
        shop.stopped[account] = time.monotonic()
        logger.error("circuit opened: %s", reason, extra={"action": "circuit_opened", "account": account})


async def _refused(connection: AsyncConnection[Any], shop: Shop, sent: Sent) -> None:
    values = {
        "account": sent.lease.account_id,
        "code": sent.result.code,
        "threshold": shop.rules.config_failures,
        "cooldown_s": shop.rules.cooldown_s,
        "longest_s": LONGEST_COOLDOWN_S,
        "probe": sent.lease.probe,
    }
    cursor = await connection.execute(_CONFIG, values)
    row = await cursor.fetchone()
    shop.troubled.add(sent.lease.account_id)
    if row is not None and row[0]:
        shop.stopped[sent.lease.account_id] = time.monotonic()
        logger.error(
            "circuit opened: %s", sent.result.code, extra={"action": "circuit_opened", "account": sent.lease.account_id}
        )
