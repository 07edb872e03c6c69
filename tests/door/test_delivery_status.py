"""The graver word about a message stays, whichever kind of entry says the milder one, and in whichever order."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from notifications.states import DeliveryStatus, EntryKind, State
from tests.door.conftest import Tell

pytestmark = pytest.mark.django_db(databases=["default", "owner"])
PAIRS = list(itertools.permutations(list(DeliveryStatus)[1:], 2))
KINDS = [EntryKind.RECEIPT, EntryKind.EVIDENCE, EntryKind.LATE]
WORDS: dict[str, Any] = {"outcome": "found", "detail": {"method": "id"}}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_door_merges_by_severity(tell: Tell, kind: EntryKind, first: str, second: str) -> None:
    story = tell().accepted()
    more: dict[str, Any] = {"fence": 1, "attempt": 1} if kind is EntryKind.LATE else {}
    assert story.append(EntryKind.RECEIPT, State.ACCEPTED, delivery_status=first) is None
    assert story.append(kind, delivery_status=second, **WORDS, **more) is None
    graver = max(DeliveryStatus(first), DeliveryStatus(second), key=list(DeliveryStatus).index)
    assert story.column("delivery_status") == graver


def test_a_proof_of_acceptance_does_not_lessen_what_came_back(tell: Tell) -> None:
    story = tell().unknown(State.NEEDS_REVIEW)
    assert story.append(EntryKind.RECEIPT, delivery_status="failed") is None
    told: dict[str, Any] = {"provider_message_id": "pm-1", "delivery_status": "delivered"}
    assert story.append(EntryKind.SETTLED, State.ACCEPTED, **told) is None
    assert story.column("delivery_status") == "failed"


def test_what_came_back_for_a_while_and_was_then_delivered_is_delivered(tell: Tell) -> None:
    facts: dict[str, Any] = {"code": "soft_bounced", "known": "soft_bounced", "next_action": "retry_same_key"}
    story = tell().accepted("pm-1")
    assert story.append(EntryKind.RECEIPT, State.NEEDS_REVIEW, delivery_status="soft_bounced", **facts) is None
    assert story.append(EntryKind.SETTLED, State.ACCEPTED, delivery_status="delivered") is None
    assert story.column("delivery_status") == "delivered"


def test_what_its_receipt_says_failed_is_not_settled_by_the_answer_written_again(tell: Tell) -> None:
    """A result whose COMMIT was answered to nobody is written once more, and is late then."""
    facts: dict[str, Any] = {"code": "failed", "known": "invalid", "next_action": "fix_config"}
    story = tell().accepted("pm-1")
    assert story.append(EntryKind.RECEIPT, State.NEEDS_REVIEW, delivery_status="failed", **facts) is None
    assert story.append(EntryKind.LATE, fence=1, attempt=1, outcome="accepted") is None
    assert story.append(EntryKind.SETTLED, State.ACCEPTED, provider_message_id="pm-1") == "known"
    assert story.column("state") == "needs_review"
