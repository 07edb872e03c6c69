"""What a batch of results means for its accounts: wait, open, close. Shared by all hosts through the database."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from psycopg import AsyncConnection

from notifications.delivery import rates
from notifications.delivery.failover import has_fallback
from notifications.delivery.lease import Lease, Sent
from notifications.delivery.outages import (
    CLEAR,
    CONFIG,
    IS_OPEN,
    OPEN_OUTAGE,
    PICK_KEEPS_S,
    PROBE_UNUSED,
    PROBED,
    QUOTA,
    RAMP,
    REFUSALS,
    WAIT,
)
from notifications.delivery.shop import Shop
from notifications.policy.breaker import LONGEST_TIMES, behind_the_first, is_answer, is_outage, is_unused
from notifications.policy.failover import for_the_fallback
from notifications.policy.retry import Decision, decide
from notifications.states import Outcome

logger = logging.getLogger(__name__)

Decided = tuple[Sent, Decision]


def decision_of(shop: Shop, sent: Sent) -> Decision:
    """Decide what follows from one result; of a service that is its address's own, it concerns this message alone."""
    decision = decide(sent.result, sent.lease.facts, shop.rng)
    if not shares_fate(shop, sent):
        return replace(decision, account_wait_s=None, circuit=None)
    # Of a later generation the door alone knows whether all before it are proven unsent.
    at_once = sent.lease.generation == 1 and not sent.lease.ordered and has_fallback(shop, sent.lease.account_id)
    return for_the_fallback(decision, sent.result, sent.lease.facts, shop.rng) if at_once else decision


def is_news(shop: Shop, sent: Sent, decision: Decision) -> bool:
    """Say whether a result concerns its whole account: a wait, a refusal, an outage, its rate, or trouble's end."""
    if decision.account_wait_s is not None or decision.circuit is not None or sent.lease.probe:
        return True
    if sent.result.outcome is Outcome.ACCEPTED:
        return sent.lease.account_id in shop.troubled or bool(sent.result.limits and rates.is_news(shop, sent))
    return (is_outage(sent.result) and shares_fate(shop, sent)) or rates.is_news(shop, sent)


def foresee(shop: Shop, sent: Sent) -> None:
    """Stop an account in this loop's memory as soon as its answers will close it, before that is recorded."""
    account, result = sent.lease.account_id, sent.result
    if result.outcome is Outcome.ACCEPTED:
        if shop.refusals or shop.outages:
            shop.refusals.pop(account, None)
            shop.outages.pop(account, None)
        return
    if not shares_fate(shop, sent):
        return
    if is_outage(result):
        shop.outages[account] += 1
    elif is_answer(result):
        shop.outages.pop(account, None)
    decision = decision_of(shop, sent)
    if decision.circuit == "config":
        shop.refusals[account] += 1
    enough = decision.circuit == "config" and shop.refusals[account] >= shop.rules.config_failures
    enough = enough or shop.outages[account] >= shop.rules.outage_failures
    if enough or decision.account_wait_s is not None or decision.circuit not in (None, "config"):
        shop.stopped[account] = time.monotonic()


def shares_fate(shop: Shop, sent: Sent) -> bool:
    """Say whether one service answers for all messages of the account."""
    return shop.accounts[sent.lease.account_id].provider.capabilities.shares_fate


def refused_as_accounts(decided: Sequence[Decided]) -> bool:
    """Say whether any of these results refuses its account's configuration."""
    return any(decision.circuit == "config" for _, decision in decided)


async def spared(connection: AsyncConnection[Any], shop: Shop, decided: Sequence[Decided]) -> list[Decided]:
    """Let only the first refusals of an account's configuration go to a person; what else was under way waits.

    In the caller's transaction, which holds the circuits' rows until `report` has counted what is left here.
    """
    counts: Counter[int] = Counter()
    accounts = sorted({sent.lease.account_id for sent, decision in decided if decision.circuit == "config"})
    for account in accounts:
        cursor = await connection.execute(REFUSALS, (account,))
        row = await cursor.fetchone()
        counts[account] = row[0] if row else 0
    found = []
    for sent, decision in decided:
        if decision.circuit == "config":
            account = sent.lease.account_id
            counts[account] += 1
            if counts[account] > shop.rules.config_failures or sent.lease.probe:
                found.append((sent, behind_the_first(decision, sent.lease.facts, shop.rng)))
                continue
        found.append((sent, decision))
    return found


async def report(connection: AsyncConnection[Any], shop: Shop, decided: Sequence[Decided]) -> None:
    """Tell the accounts' circuits and buckets what these results mean; in the caller's transaction.

    A batch of 500 rate limits is one wait of an account; refusals of its configuration are counted one by one.
    """
    waits: dict[int, float] = {}
    down: dict[int, Sent] = {}
    # Sorted by account: two recorders that update circuits in different order would deadlock.
    for sent, decision in sorted(decided, key=lambda pair: pair[0].lease.account_id):
        account = sent.lease.account_id
        if decision.account_wait_s is not None:
            waits[account] = max(decision.account_wait_s, waits.get(account, 0.0))
        if decision.circuit is not None:
            await _opened(connection, shop, sent, CONFIG if decision.circuit == "config" else QUOTA, decision.circuit)
        elif not is_outage(sent.result):
            await _closed(connection, shop, sent)
        elif account not in down or sent.lease.probe:
            down[account] = sent
    for sent in down.values():
        await _opened(connection, shop, sent, OPEN_OUTAGE)
    for account, wait_s in waits.items():
        await connection.execute(WAIT, {"account": account, "wait_s": wait_s})
        shop.stopped[account] = time.monotonic()
    await rates.learn(connection, shop, [sent for sent, _ in decided])


async def _opened(connection: AsyncConnection[Any], shop: Shop, sent: Sent, statement: str, reason: str = "") -> None:
    """Count one piece of trouble; where it opens the circuit, say so once, whoever else finds it open."""
    account = sent.lease.account_id
    values = {
        "account": account,
        "code": sent.result.code,
        "reason": reason,
        "threshold": shop.rules.outage_failures if statement is OPEN_OUTAGE else shop.rules.config_failures,
        "cooldown_s": shop.rules.cooldown_s,
        "longest_s": LONGEST_TIMES * shop.rules.cooldown_s,
        "probe": sent.lease.probe,
    }
    cursor = await connection.execute(statement, values)
    row = await cursor.fetchone()
    is_open, is_new, why = row or (await _is_open(connection, account), False, "")
    if statement is CONFIG or is_open:
        shop.troubled.add(account)
    if is_open:
        shop.stopped[account] = time.monotonic()
    elif shop.outages[account] >= shop.rules.outage_failures:
        # Another loop's calls succeed: this one was too quick to give its leases back.
        shop.outages.pop(account, None)
        shop.stopped.pop(account, None)
    if is_new:
        logger.error(
            "circuit opened: %s (%s)", why, sent.result.code, extra={"action": "circuit_opened", "account": account}
        )


async def hold_probes(connection: AsyncConnection[Any], leases: Sequence[Lease], lease_s: float) -> None:
    """Keep the circuits of these probes closed to all others for a whole lease; in the claim's own transaction."""
    accounts = sorted({lease.account_id for lease in leases if lease.probe})
    if accounts and lease_s > PICK_KEEPS_S:
        await connection.execute(PROBED, {"accounts": accounts, "lease_s": lease_s})


async def _is_open(connection: AsyncConnection[Any], account: int) -> bool:
    cursor = await connection.execute(IS_OPEN, (account,))
    row = await cursor.fetchone()
    return row is not None and bool(row[0])


async def _closed(connection: AsyncConnection[Any], shop: Shop, sent: Sent) -> None:
    """Close the circuit by a success, or by a probe that was answered; a probe that was not made is made anew."""
    account, probe = sent.lease.account_id, sent.lease.probe
    succeeded = sent.result.outcome is Outcome.ACCEPTED
    if not probe and not (succeeded and account in shop.troubled):
        return
    if is_unused(sent.result):
        kept_s = max(PICK_KEEPS_S, shop.rules.lease_s)
        values = {"account": account, "intent": sent.lease.id, "attempt": sent.lease.attempt, "kept_s": kept_s}
        await connection.execute(PROBE_UNUSED, values)
        return
    cursor = await connection.execute(CLEAR, {"account": account, "probe": probe, "succeeded": succeeded})
    was_open = await cursor.fetchone()
    if was_open is not None:
        shop.troubled.discard(account)
        if was_open[0]:
            await connection.execute(RAMP, (account,))
            logger.warning("circuit closed", extra={"action": "circuit_closed", "account": account})
