"""Which refusals a message takes to its account's fallback instead of to a person."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from notifications.policy.failover import for_the_fallback
from notifications.policy.retry import AttemptFacts, decide
from notifications.providers.base import SendResult
from notifications.states import Known, LossModel, Outcome, Phase, ResultClass, State

FACTS = AttemptFacts(LossModel.AT_LEAST_ONCE, (60.0, 300.0), 0, 3, 0, idempotent=True)
LAST = replace(FACTS, failure_count=2)
OUTCOMES = {
    "key": SendResult(Outcome.REJECTED, ResultClass.FIX_CONFIG, "x.403", Phase.ANSWER_READ, http_status=403),
    "quota": SendResult(Outcome.NOT_SENT, ResultClass.QUOTA, "x.daily", Phase.ANSWER_READ, http_status=429),
    "message": SendResult(Outcome.REJECTED, ResultClass.FIX_CONFIG, "x.422", Phase.ANSWER_READ, http_status=422),
    "content": SendResult(Outcome.REJECTED, ResultClass.CONTENT, "x.550", Phase.ANSWER_READ, http_status=550),
    "address": SendResult(Outcome.REJECTED, ResultClass.RECIPIENT, "x.to", Phase.ANSWER_READ, http_status=403),
    "rate": SendResult(Outcome.NOT_SENT, ResultClass.RATE_LIMITED, "x.429", Phase.ANSWER_READ, http_status=429),
    "refused": SendResult(Outcome.NOT_SENT, ResultClass.RETRYABLE, "not_sent.refused", Phase.NOT_CONNECTED),
    "unknown": SendResult(Outcome.UNKNOWN, ResultClass.UNKNOWN, "unknown.deadline", Phase.REQUEST_WRITTEN),
    "conflict": SendResult(Outcome.CONFLICT, ResultClass.CONFLICT, "x.409", Phase.ANSWER_READ, http_status=409),
}


def decided(name: str, facts: AttemptFacts) -> Any:
    result = OUTCOMES[name]
    return for_the_fallback(decide(result, facts, Random(1)), result, facts, Random(1))


@pytest.mark.parametrize(
    ("name", "facts"), [("key", FACTS), ("quota", FACTS), ("refused", LAST)], ids=["key", "quota", "last try"]
)
def test_what_is_the_accounts_own_waits_for_the_fallback(name: str, facts: AttemptFacts) -> None:
    decision = decided(name, facts)
    assert (decision.to_state, decision.known, decision.of_account) == (State.RETRY, Known.NOT_SENT, True)
    assert decision.delay_s is not None
    assert decision.delay_s > 0


@pytest.mark.parametrize("name", ["message", "content", "address", "rate", "unknown", "conflict"])
@pytest.mark.parametrize("facts", [FACTS, LAST], ids=["first", "last"])
def test_what_is_the_messages_own_or_in_doubt_is_decided_as_ever(name: str, facts: AttemptFacts) -> None:
    assert decided(name, facts) == decide(OUTCOMES[name], facts, Random(1))


@pytest.mark.parametrize("name", OUTCOMES)
def test_once_an_attempt_was_in_doubt_nothing_of_it_goes_over(name: str) -> None:
    doubted = replace(LAST, ambiguous_before=True, window_left_s=1000.0)
    assert not decided(name, doubted).of_account


def test_a_try_before_the_last_goes_on_by_the_ladder() -> None:
    assert not decided("refused", FACTS).of_account


def test_its_tries_are_counted_so_that_it_ends_as_a_case() -> None:
    assert decided("key", FACTS).counts_failure
    assert decided("key", replace(FACTS, failure_count=3)).to_state is State.NEEDS_REVIEW


def test_a_probes_failure_counts_against_nobody() -> None:
    assert not decided("key", replace(FACTS, probe=True)).counts_failure
