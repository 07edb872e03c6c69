"""Adapters that do as a test says: answers from a list, bugs on request, and a note of every call."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from notifications.providers.base import Capabilities, Message, Request, SendResult
from notifications.providers.resend import CAPABILITIES
from notifications.states import Outcome, Phase, ResultClass

ACCEPTED = SendResult(Outcome.ACCEPTED, ResultClass.ACCEPTED, "test.accepted", Phase.ANSWER_READ, "id-{n}", 200)
UNKNOWN = SendResult(Outcome.UNKNOWN, ResultClass.UNKNOWN, "test.500.unclassified", Phase.ANSWER_READ, http_status=500)
NOT_SENT = SendResult(Outcome.NOT_SENT, ResultClass.RETRYABLE, "not_sent.refused", Phase.NOT_CONNECTED)
IN_FLIGHT = SendResult(Outcome.IN_FLIGHT, ResultClass.IN_FLIGHT, "test.409.in_flight", Phase.ANSWER_READ)

NO_KEYS = replace(CAPABILITIES, idempotency="none", idempotency_window=None)


class NovelFault(BaseException):
    """A fault of a class that nobody foresaw, and that `except Exception` does not catch."""


@dataclass
class Scripted:
    """Answers by turns; the last answer repeats. An exception among them is raised instead of returned."""

    answers: list[SendResult | BaseException]
    capabilities: Capabilities = CAPABILITIES
    prepared: Callable[[Message], bytes] | None = None
    calls: list[Request] = field(default_factory=list)
    name: str = "scripted"

    def prepare(self, message: Message) -> bytes:
        if self.prepared is not None:
            return self.prepared(message)
        shown: dict[str, Any] = {"from": message.sender, "to": message.to, "subject": message.subject}
        return json.dumps(shown | {"text": message.text, "tags": dict(message.tags)}).encode()

    async def send(self, request: Request) -> SendResult:
        request.may_write()
        self.calls.append(request)
        answer = self.answers[min(len(self.calls), len(self.answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        if answer.provider_message_id is None:
            return answer
        return replace(answer, provider_message_id=answer.provider_message_id.format(n=len(self.calls)))

    async def close(self) -> None:
        """Nothing is open."""


def with_window(window: timedelta) -> Capabilities:
    return replace(CAPABILITIES, idempotency_window=window)
