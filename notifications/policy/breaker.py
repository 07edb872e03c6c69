"""What one result says about its whole account: out of reach, answering, or nothing."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from notifications.policy.delays import inside_window, ladder_delay
from notifications.policy.retry import AttemptFacts, Decision
from notifications.providers.base import SendResult
from notifications.states import Known, Outcome, ResultClass, State

# Calls that were not made: they say nothing of the provider, and their token was not used.
UNUSED_CODES = frozenset({"not_sent.given_back", "not_sent.lease_over"})
# The circuit stays open for at most so many times its first time: 30 seconds, then up to ten minutes.
LONGEST_TIMES = 20.0


def is_unused(result: SendResult) -> bool:
    """Say whether the lease was given back or ran out before the call: nothing was tried."""
    return result.code in UNUSED_CODES


def is_outage(result: SendResult) -> bool:
    """Say whether the provider could not be reached or did not answer properly: consecutive ones open the circuit.

    An answer that refuses the message, the rate or the account comes from a provider that works.
    """
    match result.outcome:
        case Outcome.UNKNOWN:
            return True
        case Outcome.NOT_SENT:
            return result.http_status is None and not is_unused(result)
    return False


def is_answer(result: SendResult) -> bool:
    """Say whether the provider answered as one that works, whatever it said."""
    return not is_outage(result) and not is_unused(result) and result.result_class is not ResultClass.QUOTA


def behind_the_first(decision: Decision, facts: AttemptFacts, rng: Random) -> Decision:
    """Let a message wait that was refused only because its account is: the first few of an incident tell of it.

    Nothing of it was accepted, and what allowed the call allows it again once the account is mended.
    """
    delay_s = ladder_delay(facts.delays_s, facts.failure_count, rng)
    if facts.ambiguous_before and facts.idempotent:
        delay_s = inside_window(delay_s, facts.window_left_s)
    known = Known.UNKNOWN if facts.ambiguous_before else Known.NOT_SENT
    return replace(decision, to_state=State.RETRY, known=known, next_action=None, delay_s=delay_s)
