"""What a push service's status proves, and what is kept of its words."""

from __future__ import annotations

import asyncio

import pytest

from notifications.providers import webpush_answers
from notifications.providers.outcomes import OUTCOMES
from notifications.providers.webpush_message import frozen_push, read_push
from notifications.states import Outcome, ResultClass
from tests.providers.candidate_webpush import saying
from tests.providers.scripted_server import answer, answering
from tests.providers.test_webpush import KEY, MESSAGE, with_server


@pytest.mark.parametrize("status", [200, 201, 202])
def test_what_the_protocol_calls_taken_is_accepted_whatever_the_body_says(status: int) -> None:
    (result,), _ = asyncio.run(with_server(answering(answer(b"\xff<", status=f"{status} x"))))
    assert (result.outcome, result.code) == (Outcome.ACCEPTED, "webpush.accepted")


@pytest.mark.parametrize(
    "status",
    [203, 206, 226, 299, 301, 307, *range(400, 419), *range(422, 432), 451, 499, *range(500, 509), 599, 600, 999],
)
def test_each_status_has_one_class_and_keeps_what_is_true(status: int) -> None:
    script = answering(answer(b"", status=f"{status} Said"))
    (result,), _ = asyncio.run(with_server(script))
    assert result.http_status == status
    assert OUTCOMES[result.result_class] is result.outcome
    assert result.code in webpush_answers.CODES
    assert result.provider_message_id is None
    certain = 300 <= status < 500 and status not in (408, 425)
    assert (result.outcome is Outcome.UNKNOWN) is not certain
    assert result.address_gone is (status in (404, 410))


@pytest.mark.parametrize("status", [429, 503])
def test_the_wait_that_a_service_asks_for_is_told(status: int) -> None:
    (result,), _ = asyncio.run(with_server(saying(status, "Retry-After: 120")))
    assert (result.retry_after_s, result.retry_after_raw) == (120.0, "120")
    assert result.result_class is (ResultClass.RATE_LIMITED if status == 429 else ResultClass.UNKNOWN)


@pytest.mark.parametrize(
    ("location", "kept"),
    [
        ("https://push.example.com/m/gAAAA-x_1", "/gAAAA-x_1"),
        ("/message/0:151%e6", "/0:151%e6"),
        ("https://push.example.com/m/", ""),
        ("https://push.example.com/m/" + "x" * 300, ""),
        ("ana@example.com", ""),
        ("https://push.example.com/m/ana@example.com", ""),
        ("javascript:alert(1)", ""),
        ("https://push.example.com/m/<b>", ""),
        ("", ""),
    ],
)
def test_the_services_name_of_it_stands_behind_ours(location: str, kept: str) -> None:
    script = answering(answer(b"", status="201 Created", headers=(f"Location: {location}",)))
    (result,), _ = asyncio.run(with_server(script))
    push = read_push(frozen_push(MESSAGE))
    assert push is not None
    assert result.provider_message_id == push.id(KEY) + kept
    assert len(result.provider_message_id) <= 255
