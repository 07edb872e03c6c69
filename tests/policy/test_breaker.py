"""What a result says of its account, and what a provider's headers say of its rate."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from notifications.policy.breaker import behind_the_first, is_answer, is_outage, is_unused
from notifications.policy.rate import left, stated_rate
from notifications.policy.retry import AttemptFacts, decide
from notifications.providers.base import SendResult
from notifications.states import Known, LossModel, Outcome, Phase, ResultClass, State

FACTS = AttemptFacts(LossModel.AT_LEAST_ONCE, (60.0, 300.0), 2, 3, 0, idempotent=True, window_span_s=80_000.0)


def result(outcome: Outcome, kind: ResultClass, code: str, status: int | None = None) -> SendResult:
    return SendResult(outcome, kind, code, Phase.ANSWER_READ, http_status=status)


REFUSED = result(Outcome.NOT_SENT, ResultClass.RETRYABLE, "not_sent.refused")
UNKNOWN = result(Outcome.UNKNOWN, ResultClass.UNKNOWN, "resend.503.service_unavailable", 503)
DEADLINE = result(Outcome.UNKNOWN, ResultClass.UNKNOWN, "unknown.deadline")
LIMITED = result(Outcome.NOT_SENT, ResultClass.RATE_LIMITED, "resend.429.rate_limit_exceeded", 429)
QUOTA = result(Outcome.NOT_SENT, ResultClass.QUOTA, "resend.429.daily_quota_exceeded", 429)
BUSY = result(Outcome.IN_FLIGHT, ResultClass.IN_FLIGHT, "resend.409.concurrent_idempotent_requests", 409)
RECIPIENT = result(Outcome.REJECTED, ResultClass.RECIPIENT, "resend.422.validation_error", 422)
CONFLICT = result(Outcome.CONFLICT, ResultClass.CONFLICT, "resend.409.invalid_idempotent_request", 409)
KEY = result(Outcome.REJECTED, ResultClass.FIX_CONFIG, "resend.401.missing_api_key", 401)
BACK = result(Outcome.NOT_SENT, ResultClass.GIVEN_BACK, "not_sent.given_back")
LATE = result(Outcome.NOT_SENT, ResultClass.RETRYABLE, "not_sent.lease_over")


@pytest.mark.parametrize("one", [REFUSED, UNKNOWN, DEADLINE])
def test_no_proper_answer_is_an_outage(one: SendResult) -> None:
    assert (is_outage(one), is_answer(one), is_unused(one)) == (True, False, False)


@pytest.mark.parametrize("one", [LIMITED, BUSY, RECIPIENT, CONFLICT, KEY])
def test_a_provider_that_refuses_works(one: SendResult) -> None:
    assert (is_outage(one), is_answer(one)) == (False, True)


@pytest.mark.parametrize("one", [BACK, LATE])
def test_a_call_that_was_not_made_says_nothing(one: SendResult) -> None:
    assert (is_outage(one), is_answer(one), is_unused(one)) == (False, False, True)


def test_a_quota_is_no_sign_that_an_account_may_be_called() -> None:
    assert not is_answer(QUOTA)


@pytest.mark.parametrize("one", [REFUSED, UNKNOWN])
def test_a_probes_failure_costs_the_message_no_try_even_its_last(one: SendResult) -> None:
    plain, probe = decide(one, FACTS, Random(1)), decide(one, replace(FACTS, probe=True), Random(1))
    assert (plain.to_state, plain.counts_failure) == (State.NEEDS_REVIEW, True)
    assert (probe.to_state, probe.counts_failure, probe.counts_in_flight) == (State.RETRY, False, False)
    assert probe.ambiguous == (one.outcome is Outcome.UNKNOWN)


def test_a_probe_of_a_never_twice_type_still_stops_for_a_person() -> None:
    facts = replace(FACTS, probe=True, loss_model=LossModel.NEVER_TWICE)
    decision = decide(UNKNOWN, facts, Random(1))
    assert (decision.to_state, decision.counts_failure) == (State.NEEDS_REVIEW, False)
    assert decide(REFUSED, facts, Random(1)).to_state is State.RETRY


def test_a_refusal_behind_the_first_waits_and_claims_nothing_that_is_not_proven() -> None:
    for ambiguous, known in ((False, Known.NOT_SENT), (True, Known.UNKNOWN)):
        facts = replace(FACTS, ambiguous_before=ambiguous, window_left_s=40.0 if ambiguous else None)
        waits = behind_the_first(decide(KEY, facts, Random(1)), facts, Random(1))
        assert (waits.to_state, waits.known, waits.next_action, waits.counts_failure) == (
            State.RETRY,
            known,
            None,
            False,
        )
        assert waits.delay_s is not None
        assert waits.delay_s <= (40.0 if ambiguous else 360.0)


@pytest.mark.parametrize(
    ("limits", "rate"),
    [
        ({"ratelimit-limit": 10}, 10.0),
        ({"ratelimit-limit": 10, "ratelimit-window": 1}, 10.0),
        ({"ratelimit-limit": 120, "ratelimit-window": 60}, 2.0),
        ({"ratelimit-limit": 100, "ratelimit-window": 86_400}, None),
        ({"ratelimit-limit": 0}, None),
        ({"ratelimit-limit": 10, "ratelimit-window": 0}, None),
        ({"ratelimit-limit": 999_999_999}, 10_000.0),
        ({"x-resend-daily-quota": 7}, None),
        ({}, None),
    ],
)
def test_a_stated_rate_is_one_to_act_on_or_none(limits: dict[str, int], rate: float | None) -> None:
    assert stated_rate(limits) == rate


def test_only_the_end_of_a_window_is_worth_a_word() -> None:
    assert left({"ratelimit-limit": 10, "ratelimit-remaining": 9}) is None
    assert left({"ratelimit-limit": 10, "ratelimit-remaining": 1}) == 1
    assert left({"ratelimit-limit": 10}) is None
    assert left({"ratelimit-remaining": 0}) is None
