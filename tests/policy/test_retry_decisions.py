"""Each row of the table outcome → decision, by loss model, window and count."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from notifications.policy.retry import AttemptFacts, Decision, decide, decide_lease_lost
from notifications.providers.base import SendResult
from notifications.states import Known, LossModel, NextAction, Outcome, Phase, ResultClass, State

FACTS = AttemptFacts(
    loss_model=LossModel.AT_LEAST_ONCE,
    delays_s=(60, 300),
    failure_count=0,
    failure_limit=3,
    in_flight_count=0,
    idempotent=True,
    window_span_s=84_600,
)
AMBIGUOUS = replace(FACTS, ambiguous_before=True, window_left_s=80_000, failure_count=1)
OVER = replace(AMBIGUOUS, window_left_s=-1)

ACCEPTED = SendResult(Outcome.ACCEPTED, ResultClass.ACCEPTED, "resend.accepted", Phase.ANSWER_READ)
REFUSED = SendResult(Outcome.NOT_SENT, ResultClass.RETRYABLE, "not_sent.refused", Phase.NOT_CONNECTED)
LOST = SendResult(Outcome.UNKNOWN, ResultClass.UNKNOWN, "unknown.deadline", Phase.REQUEST_WRITTEN)
STOP = SendResult(Outcome.UNKNOWN, ResultClass.UNKNOWN_STOP, "resend.409.unclassified", Phase.ANSWER_READ)
RUNNING = SendResult(
    Outcome.IN_FLIGHT, ResultClass.IN_FLIGHT, "resend.409.concurrent_idempotent_requests", Phase.ANSWER_READ
)
CONFLICT = SendResult(
    Outcome.CONFLICT, ResultClass.CONFLICT, "resend.409.invalid_idempotent_request", Phase.ANSWER_READ
)
LIMITED = SendResult(
    Outcome.NOT_SENT, ResultClass.RATE_LIMITED, "resend.429.rate_limit_exceeded", Phase.ANSWER_READ, http_status=429
)
DAILY = SendResult(Outcome.NOT_SENT, ResultClass.QUOTA, "resend.429.daily_quota_exceeded", Phase.ANSWER_READ)
MONTHLY = replace(DAILY, code="resend.429.monthly_quota_exceeded")
BAD_KEY = SendResult(
    Outcome.REJECTED, ResultClass.FIX_CONFIG, "resend.403.suspended_api_key", Phase.ANSWER_READ, http_status=403
)
BAD_FIELD = replace(BAD_KEY, code="resend.422.invalid_parameter", http_status=422)
BAD_ADDRESS = replace(BAD_FIELD, result_class=ResultClass.RECIPIENT, code="resend.422.validation_error")
FULL = replace(BAD_FIELD, result_class=ResultClass.RECIPIENT_SOFT, code="smtp.552.full")


def decided(result: SendResult, facts: AttemptFacts = FACTS) -> Decision:
    return decide(result, facts, Random(7))


def test_accepted_is_accepted() -> None:
    assert decided(ACCEPTED) == Decision(State.ACCEPTED, Known.ACCEPTED)


@pytest.mark.parametrize(("count", "low", "high"), [(0, 48, 72), (1, 240, 360)])
@pytest.mark.parametrize("result", [REFUSED, LOST])
def test_a_failure_goes_up_the_ladder_with_jitter(result: SendResult, count: int, low: float, high: float) -> None:
    delays = [decide(result, replace(FACTS, failure_count=count), Random(seed)).delay_s for seed in range(200)]
    assert all(delay is not None and low <= delay <= high for delay in delays)
    assert len(set(delays)) > 100


@pytest.mark.parametrize(("result", "known"), [(REFUSED, Known.NOT_SENT), (LOST, Known.UNKNOWN)])
def test_a_failure_counts_and_the_third_is_for_a_person(result: SendResult, known: Known) -> None:
    first = decided(result)
    assert (first.to_state, first.counts_failure, first.known) == (State.RETRY, True, known)
    third = decided(result, replace(FACTS, failure_count=2))
    assert (third.to_state, third.counts_failure, third.known) == (State.NEEDS_REVIEW, True, known)
    assert third.error_code == result.code
    assert third.delay_s is None


def test_only_an_ambiguous_outcome_starts_the_keys_clock() -> None:
    starts = [
        result for result in (ACCEPTED, REFUSED, LOST, RUNNING, LIMITED, DAILY, BAD_KEY) if decided(result).ambiguous
    ]
    assert starts == [LOST, RUNNING]


def test_never_twice_stops_at_once_after_an_unknown_and_repeats_a_proven_not_sent() -> None:
    facts = replace(FACTS, loss_model=LossModel.NEVER_TWICE)
    lost = decided(LOST, facts)
    assert (lost.to_state, lost.known, lost.next_action) == (
        State.NEEDS_REVIEW,
        Known.UNKNOWN,
        NextAction.QUERY_PROVIDER,
    )
    assert decided(RUNNING, facts).to_state is State.NEEDS_REVIEW
    assert decided(REFUSED, facts).to_state is State.RETRY


def test_without_a_key_an_unknown_is_for_a_person_unless_the_message_must_arrive() -> None:
    facts = replace(FACTS, idempotent=False, window_span_s=None)
    assert decided(LOST, facts).to_state is State.NEEDS_REVIEW
    assert decided(LOST, facts).error_code == "unknown.deadline"
    again = decided(LOST, replace(facts, loss_model=LossModel.MUST_ARRIVE))
    assert (again.to_state, again.possible_duplicate) == (State.RETRY, True)
    assert decided(REFUSED, facts).possible_duplicate is False


def test_past_the_window_nothing_is_repeated_unless_the_message_must_arrive() -> None:
    for result in (LOST, REFUSED, RUNNING):
        stopped = decided(result, OVER)
        assert (stopped.to_state, stopped.error_code) == (State.NEEDS_REVIEW, "window_over")
        assert stopped.known is Known.UNKNOWN
        again = decided(result, replace(OVER, loss_model=LossModel.MUST_ARRIVE))
        assert (again.to_state, again.possible_duplicate) == (State.RETRY, True)


def test_inside_the_window_a_must_arrive_message_is_protected_like_any_other() -> None:
    again = decided(LOST, replace(AMBIGUOUS, loss_model=LossModel.MUST_ARRIVE))
    assert (again.to_state, again.possible_duplicate) == (State.RETRY, False)


@pytest.mark.parametrize("left_s", [1, 10, 100])
def test_a_repeat_is_due_while_the_window_is_still_open(left_s: float) -> None:
    asked = replace(LOST, retry_after_s=3600)
    running = decided(asked, replace(AMBIGUOUS, window_left_s=left_s))
    assert running.delay_s is not None
    assert 0 <= running.delay_s < left_s
    starting = decided(asked, replace(FACTS, window_span_s=left_s))
    assert starting.delay_s is not None
    assert 0 <= starting.delay_s < left_s


def test_a_provider_without_an_end_to_its_window_shortens_nothing() -> None:
    again = decided(replace(LOST, retry_after_s=3600), replace(FACTS, window_span_s=None))
    assert again.delay_s == 3600


@pytest.mark.parametrize(("asked_s", "expected"), [(120, 120), (31_536_000, 3600), (None, None), (0, None), (-5, None)])
def test_after_a_503_the_longer_of_our_delay_and_the_asked_one_counts(
    asked_s: float | None, expected: float | None
) -> None:
    delay_s = decided(replace(LOST, http_status=503, retry_after_s=asked_s)).delay_s
    assert delay_s is not None
    assert delay_s == expected or (expected is None and 48 <= delay_s <= 72)


def test_a_shorter_wait_than_our_own_changes_nothing() -> None:
    delay_s = decided(replace(LOST, retry_after_s=5)).delay_s
    assert delay_s is not None
    assert delay_s >= 48


@pytest.mark.parametrize(
    ("asked_s", "reset_s", "wait_s"),
    [(120, 0, 120), (2, 30, 30), (None, 7, 7), (None, None, 1), (0, 0, 1), (31_536_000, 1, 3600), (1, 10**9, 3600)],
)
def test_a_rate_limit_makes_the_whole_account_wait_and_costs_no_attempt(
    asked_s: float | None, reset_s: int | None, wait_s: float
) -> None:
    limits = {} if reset_s is None else {"ratelimit-reset": reset_s}
    decision = decided(replace(LIMITED, retry_after_s=asked_s, limits=limits), replace(FACTS, failure_count=2))
    assert (decision.to_state, decision.account_wait_s) == (State.RETRY, wait_s)
    assert decision.delay_s is not None
    assert wait_s <= decision.delay_s <= wait_s * 1.2
    assert (decision.counts_failure, decision.counts_in_flight, decision.ambiguous) == (False, False, False)


@pytest.mark.parametrize(("result", "circuit"), [(DAILY, "daily_quota"), (MONTHLY, "monthly_quota")])
def test_a_quota_opens_the_circuit_and_costs_no_attempt(result: SendResult, circuit: str) -> None:
    decision = decided(result, replace(FACTS, failure_count=2))
    assert (decision.to_state, decision.circuit, decision.counts_failure) == (State.RETRY, circuit, False)


def test_our_other_request_is_waited_for_with_a_cap_of_its_own() -> None:
    decision = decided(RUNNING, replace(FACTS, failure_count=2))
    assert decision.delay_s is not None
    assert 30 <= decision.delay_s <= 60
    assert (decision.to_state, decision.counts_failure, decision.counts_in_flight) == (State.RETRY, False, True)
    tenth = decided(RUNNING, replace(FACTS, in_flight_count=9))
    assert (tenth.to_state, tenth.known, tenth.counts_in_flight) == (State.NEEDS_REVIEW, Known.UNKNOWN, True)
    eleventh = decided(RUNNING, replace(FACTS, in_flight_count=10))
    assert (eleventh.to_state, eleventh.counts_in_flight) == (State.NEEDS_REVIEW, False)


def test_a_conflict_means_that_an_earlier_request_was_accepted() -> None:
    decision = decided(CONFLICT)
    assert (decision.to_state, decision.known, decision.next_action) == (
        State.NEEDS_REVIEW,
        Known.CONFLICT,
        NextAction.QUERY_PROVIDER,
    )


def test_an_unclassified_conflict_is_unknown_and_not_repeated() -> None:
    for model in LossModel:
        decision = decided(STOP, replace(FACTS, loss_model=model))
        assert (decision.to_state, decision.known, decision.ambiguous) == (State.NEEDS_REVIEW, Known.UNKNOWN, True)


@pytest.mark.parametrize(
    ("result", "known", "action", "circuit"),
    [
        (BAD_KEY, Known.INVALID, NextAction.FIX_CONFIG, "config"),
        (BAD_FIELD, Known.INVALID, NextAction.FIND_CAUSE, None),
        (replace(BAD_FIELD, field="subject"), Known.INVALID, NextAction.FIX_CONTENT, None),
        (replace(BAD_FIELD, field="reply_to"), Known.INVALID, NextAction.FIX_CONFIG, None),
        (BAD_ADDRESS, Known.INVALID, NextAction.CORRECT_ADDRESS, None),
        (FULL, Known.SOFT_BOUNCED, NextAction.RETRY_NEW_KEY, None),
        (replace(BAD_KEY, http_status=None, phase=Phase.NOT_CONNECTED), Known.INVALID, NextAction.FIX_CONFIG, None),
    ],
)
def test_a_rejection_goes_to_a_person_and_one_bad_message_opens_no_circuit(
    result: SendResult, known: Known, action: NextAction, circuit: str | None
) -> None:
    decision = decided(result)
    assert (decision.to_state, decision.known, decision.next_action) == (State.NEEDS_REVIEW, known, action)
    assert (decision.circuit, decision.counts_failure) == (circuit, False)


@pytest.mark.parametrize("result", [REFUSED, LIMITED, DAILY, BAD_KEY, BAD_ADDRESS, FULL])
def test_once_ambiguous_no_later_answer_proves_that_nothing_arrived(result: SendResult) -> None:
    assert decided(result, AMBIGUOUS).known is Known.UNKNOWN
    last = decided(result, replace(AMBIGUOUS, failure_count=2))
    assert last.known is Known.UNKNOWN
    if last.to_state is State.NEEDS_REVIEW:  # only asking tells, and only what wants asking is asked about by itself
        assert last.next_action is NextAction.QUERY_PROVIDER


def test_a_lost_lease_is_an_unknown_that_is_repeated_at_once_where_that_is_safe() -> None:
    again = decide_lease_lost(FACTS)
    assert (again.to_state, again.delay_s, again.ambiguous, again.counts_failure) == (State.RETRY, 0, True, True)
    third = decide_lease_lost(replace(AMBIGUOUS, failure_count=2))
    assert (third.to_state, third.error_code, third.known) == (State.NEEDS_REVIEW, "worker_lost", Known.UNKNOWN)
    assert decide_lease_lost(replace(FACTS, loss_model=LossModel.NEVER_TWICE)).to_state is State.NEEDS_REVIEW
    assert decide_lease_lost(replace(FACTS, idempotent=False)).to_state is State.NEEDS_REVIEW
    assert decide_lease_lost(OVER).error_code == "window_over"
    assert decide_lease_lost(replace(OVER, loss_model=LossModel.MUST_ARRIVE)).possible_duplicate


def test_an_empty_ladder_still_waits() -> None:
    delay_s = decided(REFUSED, replace(FACTS, delays_s=())).delay_s
    assert delay_s is not None
    assert delay_s >= 48
