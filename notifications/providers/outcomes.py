"""What is true of a call: by the class of its answer; where there is none, by whether its bytes were handed over."""

from __future__ import annotations

from typing import Final

from notifications.providers.base import SendResult
from notifications.providers.http import Failure
from notifications.states import Outcome, Phase, ResultClass

OUTCOMES: Final[dict[ResultClass, Outcome]] = {
    ResultClass.ACCEPTED: Outcome.ACCEPTED,
    ResultClass.RETRYABLE: Outcome.NOT_SENT,
    ResultClass.GIVEN_BACK: Outcome.NOT_SENT,
    ResultClass.UNKNOWN: Outcome.UNKNOWN,
    ResultClass.UNKNOWN_STOP: Outcome.UNKNOWN,
    ResultClass.IN_FLIGHT: Outcome.IN_FLIGHT,
    ResultClass.RATE_LIMITED: Outcome.NOT_SENT,
    ResultClass.QUOTA: Outcome.NOT_SENT,
    ResultClass.FIX_CONFIG: Outcome.REJECTED,
    ResultClass.CONTENT: Outcome.REJECTED,
    ResultClass.RECIPIENT: Outcome.REJECTED,
    ResultClass.RECIPIENT_SOFT: Outcome.REJECTED,
    ResultClass.CONFLICT: Outcome.CONFLICT,
}


def without_answer(failure: Failure) -> SendResult:
    """Give the result of an HTTP call that has no whole answer."""
    if failure.handed:
        phase = Phase.REQUEST_WRITTEN
        return SendResult(Outcome.UNKNOWN, ResultClass.UNKNOWN, failure.code, phase, http_status=failure.status)
    return SendResult(Outcome.NOT_SENT, ResultClass.RETRYABLE, failure.code, Phase.NOT_CONNECTED)
