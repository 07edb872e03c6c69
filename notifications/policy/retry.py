"""What we do with the outcome of one attempt: a result and the intent's facts in, one decision out.

The rules follow what the account's provider promises, never its name. The loss model of the type says which error
costs more; a repeat that could become a second message is never chosen but for `must_arrive`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from notifications.policy import causes, codes
from notifications.policy.delays import inside_window, ladder_delay, spread_later, usable
from notifications.providers.base import SendResult
from notifications.states import Known, LossModel, NextAction, Outcome, Phase, ResultClass, State

Circuit = Literal["config", "daily_quota", "monthly_quota"]
RATE_WAIT_S = 1.0  # a rate limit without a stated wait; the strictest published window is one second
LONGEST_RESET_S = 86_400  # beyond a day a reset header is no number to act on

# These refusals concern one message. Every other configuration error (keys, domains, addresses of the service)
# stops all messages of the account, so only those may open its circuit.
_MESSAGE_STATUSES = frozenset({400, 413, 415, 422})

_REJECTED = {
    ResultClass.RECIPIENT_SOFT: (Known.SOFT_BOUNCED, NextAction.RETRY_NEW_KEY),
    ResultClass.RECIPIENT: (Known.INVALID, NextAction.CORRECT_ADDRESS),
}


@dataclass(frozen=True, slots=True)
class AttemptFacts:
    """What the decision needs of the intent, as it stood when this attempt began.

    Counts are those before this attempt. `window_left_s` is None while no attempt was ambiguous, else the seconds
    until the key's window closes (margin taken off, negative once closed); `window_span_s` is the whole window less
    margin, None where the provider names no end. `ambiguous_before`: an earlier attempt may have been accepted.
    `probe`: it was tried for its account's sake, so that its failure counts against nobody.
    """

    loss_model: LossModel
    delays_s: Sequence[float]
    failure_count: int
    failure_limit: int
    in_flight_count: int
    idempotent: bool
    window_left_s: float | None = None
    window_span_s: float | None = None
    ambiguous_before: bool = False
    probe: bool = False
    in_flight_cap: int = 10
    in_flight_delay_s: tuple[float, float] = (30.0, 60.0)
    retry_after_cap_s: float = 3600.0


@dataclass(frozen=True, slots=True)
class Decision:
    """What to record for one attempt.

    `delay_s` is set where `to_state` is RETRY. `ambiguous` starts the key's clock, if it does not run yet.
    `account_wait_s` makes the whole account wait; `circuit` asks to open it (`config` only when repeated).
    `possible_duplicate` marks a repeat that no key protects, `of_account` what the account's fallback may take over.
    """

    to_state: State
    known: Known
    error_code: str | None = None
    next_action: NextAction | None = None
    delay_s: float | None = None
    counts_failure: bool = False
    counts_in_flight: bool = False
    ambiguous: bool = False
    account_wait_s: float | None = None
    circuit: Circuit | None = None
    possible_duplicate: bool = False
    of_account: bool = False


_ACCEPTED = Decision(State.ACCEPTED, Known.ACCEPTED)


def decide(result: SendResult, facts: AttemptFacts, rng: Random) -> Decision:
    """Decide what follows from one recorded result; never raises, whatever the numbers.

    What is true (`outcome`) comes first: no class can turn an ambiguous outcome into a plain retry.
    """
    match result.outcome:
        case Outcome.ACCEPTED:
            return _ACCEPTED
        case Outcome.CONFLICT:
            return Decision(State.NEEDS_REVIEW, Known.CONFLICT, result.code, NextAction.QUERY_PROVIDER)
        case Outcome.UNKNOWN:
            return _after_unknown(result, facts, rng)
        case Outcome.IN_FLIGHT:
            return _after_in_flight(result.code, facts, rng)
        case Outcome.REJECTED:
            return _after_rejection(result, facts)
        case Outcome.NOT_SENT:
            return _after_not_sent(result, facts, rng)


def decide_lease_lost(facts: AttemptFacts) -> Decision:
    """Decide what follows when a lease ended without a result: unknown, and repeated at once where that is safe."""
    return _failure(codes.WORKER_LOST, facts, delay_s=0.0, ambiguous=True)


def _after_unknown(result: SendResult, facts: AttemptFacts, rng: Random) -> Decision:
    if result.result_class is ResultClass.UNKNOWN_STOP:
        return Decision(
            State.NEEDS_REVIEW,
            Known.UNKNOWN,
            result.code,
            NextAction.QUERY_PROVIDER,
            ambiguous=True,
            counts_failure=_may_count_failure(facts),
        )
    return _failure(result.code, facts, delay_s=_own_or_asked_delay(result, facts, rng), ambiguous=True)


def _after_not_sent(result: SendResult, facts: AttemptFacts, rng: Random) -> Decision:
    if result.result_class is ResultClass.RATE_LIMITED:
        return _after_rate_limit(result, facts, rng)
    if result.result_class is ResultClass.QUOTA:
        return _after_quota(result.code, facts, rng)
    if result.result_class is ResultClass.GIVEN_BACK or result.code == "not_sent.lease_over":
        # Our own lateness: no failure of the message or of the provider.
        return Decision(State.RETRY, _known(Known.NOT_SENT, facts), result.code, delay_s=0.0)
    return _failure(result.code, facts, delay_s=_own_or_asked_delay(result, facts, rng), ambiguous=False)


def _after_rejection(result: SendResult, facts: AttemptFacts) -> Decision:
    usual = (Known.INVALID, causes.action_of(result.code, result.field))
    known, action = _REJECTED.get(result.result_class, usual)
    if facts.ambiguous_before:  # only what suggests asking is asked about by itself
        known, action = Known.UNKNOWN, NextAction.QUERY_PROVIDER
    if result.result_class in _REJECTED:
        return Decision(State.NEEDS_REVIEW, known, result.code, action)
    local = result.phase is Phase.NOT_CONNECTED or result.result_class is ResultClass.CONTENT  # no sign of its account
    circuit: Circuit | None = None if local or result.http_status in _MESSAGE_STATUSES else "config"
    return Decision(State.NEEDS_REVIEW, known, result.code, action, circuit=circuit)


def _after_rate_limit(result: SendResult, facts: AttemptFacts, rng: Random) -> Decision:
    """Make the whole account wait; the intent's own attempts are not touched.

    The provider did not process the call, so what allowed it still allows it: no loss model is asked here. Where the
    window closes meanwhile, the next claim finds it closed.
    """
    reset_s = float(max(0, min(result.limits.get("ratelimit-reset", 0), LONGEST_RESET_S)))
    asked_s = max(usable(result.retry_after_s), usable(reset_s))
    wait_s = min(max(asked_s, RATE_WAIT_S), max(facts.retry_after_cap_s, RATE_WAIT_S))
    # Only later, never earlier than asked: the spread keeps the account's intents from coming back in one burst.
    delay_s = spread_later(wait_s, rng)
    if facts.ambiguous_before:
        delay_s = _kept_in_window(delay_s, facts)
    return Decision(State.RETRY, _known(Known.NOT_SENT, facts), result.code, delay_s=delay_s, account_wait_s=wait_s)


def _after_quota(code: str, facts: AttemptFacts, rng: Random) -> Decision:
    """Open the account's circuit; the intent waits behind it and loses no attempt.

    A quota that does not say it is daily waits for a person, since guessing midnight would hammer a used-up month.
    """
    circuit: Circuit = "daily_quota" if "daily" in code else "monthly_quota"
    delay_s = ladder_delay(facts.delays_s, facts.failure_count, rng)
    if facts.ambiguous_before:
        delay_s = _kept_in_window(delay_s, facts)
    return Decision(State.RETRY, _known(Known.NOT_SENT, facts), code, delay_s=delay_s, circuit=circuit)


def _after_in_flight(code: str, facts: AttemptFacts, rng: Random) -> Decision:
    """Wait for our other request to end; it has a cap of its own and counts as no failure."""
    capped = facts.in_flight_count + 1 >= facts.in_flight_cap
    if capped or facts.loss_model is LossModel.NEVER_TWICE:
        # A person's retry can end here with the count at its cap, which the row may not pass.
        counts = facts.in_flight_count < facts.in_flight_cap
        return Decision(
            State.NEEDS_REVIEW, Known.UNKNOWN, code, NextAction.QUERY_PROVIDER, ambiguous=True, counts_in_flight=counts
        )
    delay_s = rng.uniform(*facts.in_flight_delay_s)
    return replace(_repeat(code, facts, delay_s=delay_s, ambiguous=True), counts_in_flight=True)


def _failure(code: str, facts: AttemptFacts, *, delay_s: float, ambiguous: bool) -> Decision:
    """Count one failure, then repeat or stop, by the limit and the loss model.

    A probe's failure is its account's, and costs the message none of its tries.
    """
    may_have_arrived = ambiguous or facts.ambiguous_before
    exhausted = not facts.probe and facts.failure_count + 1 >= facts.failure_limit
    if exhausted or (may_have_arrived and facts.loss_model is LossModel.NEVER_TWICE):
        known = Known.UNKNOWN if may_have_arrived else Known.NOT_SENT
        action = NextAction.QUERY_PROVIDER if may_have_arrived else NextAction.RETRY_SAME_KEY
        counts = not facts.probe and _may_count_failure(facts)
        return Decision(State.NEEDS_REVIEW, known, code, action, ambiguous=ambiguous, counts_failure=counts)
    return replace(_repeat(code, facts, delay_s=delay_s, ambiguous=ambiguous), counts_failure=not facts.probe)


def _repeat(code: str, facts: AttemptFacts, *, delay_s: float, ambiguous: bool) -> Decision:
    """Repeat with the same key and bytes, where the key protects that or nothing may have arrived; counts nothing."""
    may_have_arrived = ambiguous or facts.ambiguous_before
    protected = not may_have_arrived or _key_protects(facts)
    if not protected and facts.loss_model is not LossModel.MUST_ARRIVE:
        return Decision(
            State.NEEDS_REVIEW,
            Known.UNKNOWN,
            codes.WINDOW_OVER if facts.idempotent else code,
            NextAction.QUERY_PROVIDER,
            ambiguous=ambiguous,
        )
    return Decision(
        State.RETRY,
        Known.UNKNOWN if may_have_arrived else Known.NOT_SENT,
        code,
        delay_s=_kept_in_window(delay_s, facts) if may_have_arrived else delay_s,
        ambiguous=ambiguous,
        possible_duplicate=not protected,
    )


def _key_protects(facts: AttemptFacts) -> bool:
    left_s = _window_left(facts)
    return facts.idempotent and (left_s is None or left_s > 0)


def _window_left(facts: AttemptFacts) -> float | None:
    """Give the seconds that a clock running from now at the latest has left; None where it never ends."""
    return facts.window_span_s if facts.window_left_s is None else facts.window_left_s


def _kept_in_window(delay_s: float, facts: AttemptFacts) -> float:
    """Shorten a delay that no window may outlast: only where the provider has one, and a clock runs or starts now."""
    return inside_window(delay_s, _window_left(facts)) if facts.idempotent else delay_s


def _own_or_asked_delay(result: SendResult, facts: AttemptFacts, rng: Random) -> float:
    """Give our own delay, or the longer one that the provider asked for, up to the cap."""
    own_s = ladder_delay(facts.delays_s, facts.failure_count, rng)
    return max(own_s, min(usable(result.retry_after_s), facts.retry_after_cap_s))


def _may_count_failure(facts: AttemptFacts) -> bool:
    return facts.failure_count < facts.failure_limit  # the row's count may not pass its limit


def _known(otherwise: Known, facts: AttemptFacts) -> Known:
    """Once an attempt was ambiguous, no later refusal proves that it did not arrive."""
    return Known.UNKNOWN if facts.ambiguous_before else otherwise
