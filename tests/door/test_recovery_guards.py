"""What a restore holds goes on by itself only on the provider's fresh word, said after it, that there is none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from notifications.states import EntryKind, State
from tests.door.conftest import Owner, Tell
from tests.door.story import Story
from tests.door.test_guards import in_review, shift

pytestmark = pytest.mark.django_db(databases=["default", "owner"])
HELD: dict[str, Any] = {"code": "restored", "known": "unknown", "next_action": "query_provider", "ambiguous": True}


def held(story: Story, window_s: float = 3600) -> Story:
    assert story.append(EntryKind.RESTORED, State.NEEDS_REVIEW, window_s=window_s, **HELD) is None
    return story


def freed(story: Story, *, ambiguous: bool = False) -> str | None:
    return story.append(EntryKind.FREED, State.PENDING, known="not_sent", ambiguous=ambiguous, delay_s=0)


def test_only_what_a_restore_holds_is_freed(tell: Tell) -> None:
    assert freed(in_review(tell(), "unknown").evidence("not_found")) == "not_restored"
    assert freed(held(tell()).evidence("not_found")) is None


def test_it_takes_the_providers_word_that_there_is_none(tell: Tell) -> None:
    story = held(tell())
    assert freed(story) == "no_evidence"
    for answer in ("inconclusive", "unavailable"):
        assert freed(story.evidence(answer)) == "no_evidence"
    assert freed(story.evidence("found", "pm-1")) == "no_evidence"


def test_the_word_is_fresh_and_said_after_the_restore(owner: Owner, tell: Tell) -> None:
    story = tell().evidence("not_found")
    shift(owner, 5)
    assert freed(held(story)) == "evidence_old"
    shift(owner, 10)
    story.evidence("not_found")
    shift(owner, 620)
    assert freed(story) == "evidence_old"
    assert freed(story.evidence("not_found")) is None


@pytest.mark.parametrize("ambiguous", [True, False])
def test_the_doubt_of_the_forgotten_time_ends_with_it_and_an_older_one_does_not(tell: Tell, ambiguous: bool) -> None:
    story = held(tell())
    assert story.column("first_ambiguous_at") is not None
    assert story.column("safe_until") is not None
    assert freed(story.evidence("not_found"), ambiguous=ambiguous) is None
    assert (story.column("first_ambiguous_at") is not None) == ambiguous
    assert (story.column("safe_until") is not None) == ambiguous


def test_the_forgotten_time_begins_no_earlier_than_the_restored_point_whatever_was_claimed_before(
    owner: Owner, tell: Tell
) -> None:
    story = tell().claim().result("not_sent", State.RETRY, delay_s=0, code="not_sent.dns")
    shift(owner, 7200)
    held(story, window_s=100)
    left = owner.execute(
        "SELECT extract(epoch FROM safe_until - notifyops_private.clock_v1())::float FROM "
        "notifyops_private.notifications_intent WHERE id = %s",
        (story.id,),
    ).fetchone()
    assert left is not None
    assert left[0] == pytest.approx(100, abs=30)


def test_what_a_person_set_aside_is_not_freed_before_its_time(owner: Owner, tell: Tell) -> None:
    story = held(tell())
    until = datetime.now(UTC) + timedelta(hours=1)
    assert story.append(EntryKind.SNOOZED, actor="user:olga", seq=story.seq, until=until) is None
    assert freed(story.evidence("not_found")) == "set_aside"
    assert story.append(EntryKind.RESUMED, actor="user:olga", seq=story.seq) is None
    assert freed(story.evidence("not_found")) is None
