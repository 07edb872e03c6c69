"""The doctor names a receipt without a verified event of its own, and one that was applied twice."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from notifications.states import EntryKind, State
from tests.door.conftest import Owner, Tell, owner, tell
from tests.door.story import Story

__all__ = ["owner", "tell"]
pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.slow]
INVARIANT = "receipts_once_and_verified"
KEEP = """
SELECT notifyops_private.receive_v1(%s, jsonb_build_array(jsonb_build_object(
    'event_id', %s::text, 'type', 'email.delivered', 'sha256', repeat('00', 32))), 'webhook')
"""


def kept(owner: Owner, story: Story, event_id: str, *, account: int | None = None) -> int:
    """Keep a verified event of the story's account, or of another one; give its number."""
    owner.execute(KEEP, (account or story.column("account_id"), event_id))
    row = owner.execute(
        "SELECT id FROM notifyops_private.notifications_providerevent WHERE event_id = %s", (event_id,)
    ).fetchone()
    assert row is not None
    return int(row[0])


def receipt(story: Story, detail: dict[str, Any] | None) -> None:
    assert story.append(EntryKind.RECEIPT, State.ACCEPTED, delivery_status="delivered", detail=detail) is None


def named(owner: Owner, story: Story) -> list[str]:
    rows = owner.execute("SELECT invariant FROM notifyops_private.doctor_v1(ARRAY[%s::bigint])", (story.id,)).fetchall()
    return [row[0] for row in rows]


def test_an_honest_receipt_and_two_of_two_events_break_nothing(owner: Owner, tell: Tell) -> None:
    story = tell().accepted()
    for number in range(2):
        receipt(story, {"event": kept(owner, story, f"msg_{number}")})
    assert named(owner, story) == []


def test_a_proof_and_a_receipt_may_come_of_one_event(owner: Owner, tell: Tell) -> None:
    story = tell().unknown()
    detail = {"event": kept(owner, story, "msg_1")}
    assert story.append(EntryKind.SETTLED, State.ACCEPTED, provider_message_id="pm-1", detail=detail) is None
    receipt(story, detail)
    assert named(owner, story) == []


@pytest.mark.parametrize("detail", [None, {}, {"event": 987654321}])
def test_a_receipt_without_an_event_is_named(owner: Owner, tell: Tell, detail: dict[str, Any] | None) -> None:
    story = tell().accepted()
    receipt(story, detail)
    assert named(owner, story) == [INVARIANT]


def test_a_receipt_that_was_applied_twice_is_named(owner: Owner, tell: Tell) -> None:
    story = tell().accepted()
    event = kept(owner, story, "msg_1")
    receipt(story, {"event": event})
    receipt(story, {"event": event})
    assert named(owner, story) == [INVARIANT]


def test_a_receipt_of_another_account_is_named(owner: Owner, tell: Tell) -> None:
    story = tell().accepted()
    receipt(story, {"event": kept(owner, story, "msg_1", account=4711)})
    assert named(owner, story) == [INVARIANT]


def test_a_proof_by_an_event_that_is_not_there_is_named(owner: Owner, tell: Tell) -> None:
    story = tell().unknown()
    assert story.append(EntryKind.SETTLED, State.ACCEPTED, provider_message_id="pm-1", detail={"event": 5}) is None
    assert named(owner, story) == [INVARIANT]


def test_an_event_is_kept_once_and_hashed(owner: Owner, tell: Tell) -> None:
    story = tell()
    kept(owner, story, "msg_1")
    row = owner.execute(KEEP, (story.column("account_id"), "msg_1")).fetchone()
    assert row == (0,)
    with pytest.raises(psycopg.errors.NotNullViolation), owner.transaction():
        owner.execute(KEEP.replace("'sha256', repeat('00', 32)", "'x', 'x'").encode(), (1, "msg_2"))
