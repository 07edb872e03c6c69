"""What becomes of a refusal that is its account's own, where another account may take the message over."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from notifications.policy.breaker import is_outage
from notifications.policy.delays import ladder_delay
from notifications.policy.retry import AttemptFacts, Decision
from notifications.providers.base import SendResult
from notifications.states import Known, Outcome, State

# What proves that the provider took nothing.
_UNSENT = frozenset({Outcome.NOT_SENT, Outcome.REJECTED})


def for_the_fallback(decision: Decision, result: SendResult, facts: AttemptFacts, rng: Random) -> Decision:
    """Let a message wait for its account's fallback instead of for a person, where nothing of it can be out.

    The account's own are refusals of its key or its quota, and the last try of a message that never reached it. Where
    the fallback cannot take it now, it has so many more tries as its ladder had, and then is a case as any other.
    """
    if facts.ambiguous_before or result.outcome not in _UNSENT:
        return decision
    is_case = decision.to_state is State.NEEDS_REVIEW
    never_reached = is_case and is_outage(result)
    if decision.circuit is None and not never_reached:
        return decision
    if not is_case:
        return replace(decision, of_account=True)
    if facts.failure_count >= facts.failure_limit:
        return decision
    return replace(
        decision,
        to_state=State.RETRY,
        known=Known.NOT_SENT,
        next_action=None,
        delay_s=ladder_delay(facts.delays_s, facts.failure_count, rng),
        counts_failure=not facts.probe,
        of_account=True,
    )
