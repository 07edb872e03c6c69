"""The first story: the provider accepts, the answer is lost, and the second attempt is no second message."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from notifications.providers.base import Message, Request, SendResult
from notifications.providers.resend import CAPABILITIES

if TYPE_CHECKING:
    from tests.delivery.workplace import Workplace

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "report-ready/demo-001"


def told(place: Workplace, intent: int) -> str:
    """Say where the notification stands: state, attempts, and the messages that the provider really has."""
    row = place.intent(intent)
    return f"{row.state} {row.attempt_count} {place.sandbox.order('GET', 'ledger')['accepted']}"


def test_the_answer_is_lost_and_the_same_key_brings_the_first_message(place: Workplace) -> None:
    intent = place.enqueue("demo-001")
    place.sandbox.fault(stage="after_accept", kind="close", match=KEY, times=1)
    place.turn()
    lines = [told(place, intent)]
    place.later(100)
    place.turn()
    lines.append(told(place, intent))
    # The third run finds it accepted and does nothing.
    place.later(100)
    assert place.turn() == []
    lines.append(f"provider messages: {place.sandbox.ledger(KEY).accepted}")
    assert lines == ["retry 1 1", "accepted 2 1", "provider messages: 1"]
    assert place.intent(intent).provider_message_id == place.sandbox.ledger(KEY).ids[0]


class KeyPerAttempt:
    """The mistake that the story warns of: an adapter that makes a new key for each attempt."""

    name = "resend"
    capabilities = CAPABILITIES

    def __init__(self, place: Workplace) -> None:
        self._real = place.adapter()
        self._count = 0

    def prepare(self, message: Message) -> bytes:
        return self._real.prepare(message)

    async def send(self, request: Request) -> SendResult:
        self._count += 1
        return await self._real.send(replace(request, key=f"{request.key}/{self._count}"))

    async def close(self) -> None:
        await self._real.close()


def test_with_a_new_key_for_each_attempt_the_recipient_gets_two(place: Workplace) -> None:
    intent = place.enqueue("demo-001")
    shop = place.shop(KeyPerAttempt(place))
    place.sandbox.fault(stage="after_accept", kind="close", times=1)
    place.turn(shop)
    place.later(100)
    place.turn(shop)
    assert told(place, intent) == "accepted 2 2"


def test_a_second_notification_for_the_same_report_is_the_first_one(place: Workplace) -> None:
    """The callback "report finished" came twice: the outbox knows the report, and owes nothing new."""
    assert place.enqueue("demo-001") == place.enqueue("demo-001")
    place.turn()
    assert place.sandbox.order("GET", "ledger")["accepted"] == 1
