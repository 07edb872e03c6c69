"""What holds for every result and every set of facts."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from notifications.policy.retry import AttemptFacts, Decision, decide, decide_lease_lost
from notifications.providers.base import SendResult
from notifications.states import Known, LossModel, Outcome, Phase, ResultClass, State

numbers = st.floats(allow_nan=True, allow_infinity=True)
results = st.builds(
    SendResult,
    outcome=st.sampled_from(Outcome),
    result_class=st.sampled_from(ResultClass),
    code=st.sampled_from(["resend.429.daily_quota_exceeded", "resend.500.application_error", "not_sent.dns"]),
    phase=st.sampled_from(Phase),
    http_status=st.none() | st.integers(100, 999),
    retry_after_s=st.none() | numbers,
    limits=st.dictionaries(st.just("ratelimit-reset"), st.integers(-(10**400), 10**400)),
)


@st.composite
def consistent_facts(draw: st.DrawFn) -> AttemptFacts:
    """The clock runs exactly where an attempt was ambiguous."""
    ambiguous = draw(st.booleans())
    limit = draw(st.integers(1, 6))
    return AttemptFacts(
        loss_model=draw(st.sampled_from(LossModel)),
        delays_s=draw(st.lists(st.floats(0, 100_000), max_size=4)),
        failure_count=draw(st.integers(0, limit)),
        failure_limit=limit,
        in_flight_count=draw(st.integers(0, 10)),
        idempotent=draw(st.booleans()),
        window_left_s=draw(st.floats(-100_000, 100_000)) if ambiguous else None,
        window_span_s=draw(st.none() | st.floats(0, 100_000)),
        ambiguous_before=ambiguous,
        retry_after_cap_s=draw(st.floats(1, 100_000)),
    )


def decided(result: SendResult, facts: AttemptFacts, seed: int) -> Decision:
    return decide(result, facts, Random(seed))


@settings(deadline=None, max_examples=300)
@given(result=results, facts=consistent_facts(), seed=st.integers())
def test_a_decision_is_always_one_that_the_tables_allow(result: SendResult, facts: AttemptFacts, seed: int) -> None:
    decision = decided(result, facts, seed)
    assert decision.to_state in {State.ACCEPTED, State.RETRY, State.NEEDS_REVIEW}
    assert (decision.delay_s is not None) == (decision.to_state is State.RETRY)
    assert decision.delay_s is None or 0 <= decision.delay_s < 10**6
    assert (decision.to_state is State.ACCEPTED) == (result.outcome is Outcome.ACCEPTED)
    if decision.to_state is State.NEEDS_REVIEW:
        assert decision.error_code
        assert decision.next_action
    assert facts.failure_count + decision.counts_failure <= facts.failure_limit
    assert facts.in_flight_count + decision.counts_in_flight <= facts.in_flight_cap
    assert not (decision.counts_failure and decision.counts_in_flight)


@settings(deadline=None, max_examples=300)
@given(result=results, facts=consistent_facts(), seed=st.integers())
def test_an_ambiguous_outcome_is_never_repeated_where_the_type_or_the_key_forbids_it(
    result: SendResult, facts: AttemptFacts, seed: int
) -> None:
    decision = decided(result, facts, seed)
    may_have_arrived = facts.ambiguous_before or decision.ambiguous
    # A call that was put off, by the provider or by us, changes nothing: what allowed it still allows it.
    waits = result.outcome is Outcome.NOT_SENT and result.result_class in {
        ResultClass.RATE_LIMITED,
        ResultClass.QUOTA,
        ResultClass.GIVEN_BACK,
    }
    if not may_have_arrived or decision.to_state is not State.RETRY or waits:
        return
    assert facts.loss_model is not LossModel.NEVER_TWICE
    left_s = facts.window_left_s if facts.window_left_s is not None else facts.window_span_s
    protected = facts.idempotent and (left_s is None or left_s > 0)
    assert protected or facts.loss_model is LossModel.MUST_ARRIVE
    assert decision.possible_duplicate == (not protected)


@settings(deadline=None, max_examples=300)
@given(result=results, facts=consistent_facts(), seed=st.integers())
def test_no_repeat_is_due_after_the_window_that_protects_it(result: SendResult, facts: AttemptFacts, seed: int) -> None:
    decision = decided(result, facts, seed)
    may_have_arrived = facts.ambiguous_before or decision.ambiguous
    left_s = facts.window_left_s if facts.window_left_s is not None else facts.window_span_s
    if decision.delay_s is not None and may_have_arrived and facts.idempotent and left_s is not None and left_s > 0:
        assert decision.delay_s < left_s


@settings(deadline=None)
@given(result=results, facts=consistent_facts(), seed=st.integers())
def test_the_outcome_outranks_the_class(result: SendResult, facts: AttemptFacts, seed: int) -> None:
    decision = decided(result, facts, seed)
    assert decision.ambiguous == (result.outcome in {Outcome.UNKNOWN, Outcome.IN_FLIGHT})
    if facts.ambiguous_before:
        assert decision.known in {Known.UNKNOWN, Known.ACCEPTED, Known.CONFLICT}


@settings(deadline=None)
@given(result=results, facts=consistent_facts(), seed=st.integers())
def test_the_same_values_give_the_same_decision(result: SendResult, facts: AttemptFacts, seed: int) -> None:
    assert decided(result, facts, seed) == decided(result, facts, seed)


@settings(deadline=None)
@given(facts=consistent_facts())
def test_a_lost_lease_is_always_unknown(facts: AttemptFacts) -> None:
    decision = decide_lease_lost(facts)
    assert decision.ambiguous
    assert decision.known is Known.UNKNOWN
    assert facts.loss_model is not LossModel.NEVER_TWICE or decision.to_state is State.NEEDS_REVIEW
