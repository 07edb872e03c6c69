"""What a case says of one attempt: whose number the answer bears, and what to look for in the provider's own log."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from notifications.models import LogEntry
from notifications.states import EntryKind
from reviews.story import Attempt, attempts

AT = datetime(2026, 12, 1, 6, 0, tzinfo=UTC)


def told(**end: Any) -> Attempt:
    claim = LogEntry(kind=EntryKind.CLAIMED, attempt=1, at=AT, trigger="auto", generation=1, worker="host/1")
    return attempts([claim, LogEntry(kind=EntryKind.RESULT, attempt=1, at=AT, **end)])[0]


@pytest.mark.parametrize(("code", "protocol"), [("smtp.greylisted", "SMTP"), ("resend.500.application_error", "HTTP")])
def test_a_reply_of_a_mail_server_is_no_http_status(code: str, protocol: str) -> None:
    assert told(code=code, outcome="not_sent", http_status=451).protocol == protocol


def test_an_attempt_names_its_trace_where_it_has_one() -> None:
    assert told(code="unknown.deadline", outcome="unknown", detail={"trace": "4f3a"}).trace == "4f3a"
    assert told(code="unknown.deadline", outcome="unknown", detail=None).trace == ""


def test_how_far_an_attempt_got_is_said_in_words() -> None:
    assert told(code="not_sent.tls", outcome="not_sent", phase="envelope").phase == "connected, message not handed over"
