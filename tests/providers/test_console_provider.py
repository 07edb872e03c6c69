"""The developer's terminal shows a message once, whole, and as text."""

from __future__ import annotations

import asyncio
import io
from dataclasses import replace

import pytest

from notifications.providers.base import NotWritten, Request, SendResult
from notifications.providers.console import ConsoleProvider
from notifications.states import Outcome, ResultClass
from tests.providers.attempts import MESSAGE, attempt


def sent(provider: ConsoleProvider, request: Request) -> SendResult:
    return asyncio.run(provider.send(request))


def test_a_message_is_written_once_with_its_key_and_its_recipient() -> None:
    stream = io.StringIO()
    provider = ConsoleProvider(stream)
    result = sent(provider, replace(attempt(), body=provider.prepare(MESSAGE)))
    assert (result.outcome, result.code) == (Outcome.ACCEPTED, "console.accepted")
    shown = stream.getvalue()
    for part in ("report-ready/demo-001", "To: ana@example.com", "Subject: Your report is ready", "Q3 is ready."):
        assert shown.count(part) == 1


def test_nothing_in_a_message_steers_the_terminal() -> None:
    stream = io.StringIO()
    provider = ConsoleProvider(stream)
    sent(provider, replace(attempt(), body=provider.prepare(replace(MESSAGE, text="a\x1b[2Jb\rc\x07\x9bd"))))
    assert "a\ufffd[2Jb\ufffdc\ufffd\ufffdd" in stream.getvalue()


def test_a_late_lease_writes_nothing() -> None:
    def refuse() -> None:
        raise NotWritten("lease_over")

    stream = io.StringIO()
    result = sent(ConsoleProvider(stream), attempt(may_write=refuse))
    assert (result.outcome, result.code, stream.getvalue()) == (Outcome.NOT_SENT, "not_sent.lease_over", "")


def test_a_closed_terminal_is_no_proof_of_anything() -> None:
    stream = io.StringIO()
    stream.close()
    result = sent(ConsoleProvider(stream), attempt())
    assert (result.outcome, result.result_class) == (Outcome.UNKNOWN, ResultClass.UNKNOWN)


def test_the_process_own_output_is_the_usual_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    sent(ConsoleProvider(), attempt())
    assert "report-ready/demo-001" in capsys.readouterr().out
