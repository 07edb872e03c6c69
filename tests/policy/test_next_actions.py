"""No suggestion is untrue: what is known, and what is suggested for it, fit together in every decision."""

from __future__ import annotations

import itertools
import random

import pytest

from notifications.policy.claim import decide_unprepared
from notifications.policy.codes import REVIEW_CODES
from notifications.policy.receipt import BAD
from notifications.policy.retry import AttemptFacts, decide, decide_lease_lost
from notifications.providers.base import SendResult
from notifications.states import Known, LossModel, NextAction, Outcome, Phase, ResultClass, State

# What may be suggested for what is known. The retries: the same key only where nothing of it was ever refused.
FITS: dict[Known, set[NextAction]] = {
    Known.NOT_SENT: {NextAction.RETRY_SAME_KEY},
    Known.UNKNOWN: {NextAction.QUERY_PROVIDER},
    Known.CONFLICT: {NextAction.QUERY_PROVIDER},
    Known.INVALID: {
        NextAction.FIX_CONFIG,
        NextAction.FIX_CONTENT,
        NextAction.FIND_CAUSE,
        NextAction.ENQUEUE_ANEW,
        NextAction.CORRECT_ADDRESS,
        NextAction.RETRY_NEW_KEY,
        NextAction.ASK_LEAD,
    },
    Known.SOFT_BOUNCED: {NextAction.RETRY_NEW_KEY},
    Known.BOUNCED: {NextAction.CORRECT_ADDRESS},
    Known.SUPPRESSED: {NextAction.CORRECT_ADDRESS},
    Known.COMPLAINED: {NextAction.ASK_LEAD},
}


def facts() -> list[AttemptFacts]:
    return [
        AttemptFacts(model, (60, 300), failures, 3, in_flight, idempotent, left_s, 84_600, before)
        for model, failures, in_flight, idempotent, (before, left_s) in itertools.product(
            LossModel, (0, 2, 3), (0, 9, 10), (False, True), ((False, None), (True, 1000.0), (True, -1.0))
        )
    ]


@pytest.mark.parametrize("outcome", [one for one in Outcome if one is not Outcome.ACCEPTED])
@pytest.mark.parametrize("result_class", [one for one in ResultClass if one is not ResultClass.ACCEPTED])
def test_every_decision_on_a_result_suggests_what_fits(outcome: Outcome, result_class: ResultClass) -> None:
    result = SendResult(outcome, result_class, "some.code", Phase.ANSWER_READ)
    for fact in facts():
        decision = decide(result, fact, random.Random(1))
        if decision.to_state is State.NEEDS_REVIEW:
            assert decision.next_action in FITS[decision.known], (fact, decision)


def test_lost_workers_what_cannot_be_prepared_and_receipts_suggest_what_fits() -> None:
    for fact in facts():
        lost = decide_lease_lost(fact)
        if lost.to_state is State.NEEDS_REVIEW:
            assert lost.next_action in FITS[lost.known]
    for code, result_class, ambiguous in itertools.product(REVIEW_CODES, ResultClass, (False, True)):
        unprepared = decide_unprepared(code, result_class, ambiguous=ambiguous)
        assert unprepared.known is not None
        if ambiguous and code == "site_mode_changed":  # the provider of the other mode cannot be asked from here
            assert unprepared.next_action is NextAction.FIX_CONFIG
        else:
            assert unprepared.next_action in FITS[unprepared.known]
    for _code, known, action in BAD.values():
        assert action in FITS[known]
