"""A retry of bytes that another site mode would have to send: refused at the order, before anything is used up."""

from __future__ import annotations

import pytest

from notifications.states import EntryKind, State
from tests.door.conftest import Tell
from tests.door.story import Story

pytestmark = pytest.mark.django_db(databases=["default", "owner"])


def retried(story: Story, mode: str | None) -> str | None:
    return story.append(
        EntryKind.RETRIED,
        State.RETRY,
        actor="user:olga",
        seq=story.seq,
        delay_s=0,
        reason_code="evidence_not_sent",
        site_mode=mode,
    )


@pytest.mark.parametrize("window_s", [3600, -1])
def test_bytes_that_may_have_been_accepted_in_another_mode_are_not_retried(tell: Tell, window_s) -> None:
    story = tell().unknown(State.NEEDS_REVIEW, window_s=window_s).evidence("not_found")
    seq = story.seq
    assert retried(story, "live") == "site_mode"
    assert story.seq == seq  # the evidence is not used up: back in its own mode the same order goes
    assert retried(story, "sandbox") is None


@pytest.mark.parametrize("known", ["invalid", "soft_bounced", "not_sent"])
def test_what_can_be_prepared_anew_is_retried_in_any_mode(tell: Tell, known) -> None:
    story = tell().claim().result("not_sent", State.NEEDS_REVIEW, known=known, code="code")
    assert retried(story, "live") is None


def test_what_was_never_prepared_belongs_to_no_mode(tell: Tell) -> None:
    story = tell()
    facts = {"code": "invalid_data", "known": "invalid", "next_action": "fix_config"}
    assert story.append(EntryKind.INVALID, State.NEEDS_REVIEW, **facts) is None
    assert retried(story, "live") is None
