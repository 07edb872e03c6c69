"""The door and a resend: two persons, within half an hour, of what the provider cannot tell; one new key each time."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from notifications.states import EntryKind, State
from tests.door.conftest import Owner, Tell
from tests.door.story import BODY, Story
from tests.door.test_doctor import examined
from tests.door.test_guards import retried, shift

pytestmark = pytest.mark.django_db(databases=["default", "owner"])


def undecided(story: Story) -> Story:
    return story.unknown(State.NEEDS_REVIEW, window_s=-1).evidence("inconclusive")


def asked(story: Story, by: str = "user:lena") -> str | None:
    return story.append(EntryKind.RESEND_ASKED, actor=by, seq=story.seq)


def confirmed(story: Story, by: str = "user:bob") -> str | None:
    return story.append(EntryKind.RETRIED, State.RETRY, actor=by, seq=story.seq, delay_s=0, reason_code="forced_resend")


def dropped(story: Story, by: str = "user:lena") -> str | None:
    return story.append(EntryKind.RESEND_DROPPED, actor=by, seq=story.seq)


def claimed_anew(story: Story) -> str | None:
    assert story.append(EntryKind.RE_PREPARED) is None
    frozen: dict[str, Any] = {"body": BODY, "detail": {"sha256": hashlib.sha256(BODY).hexdigest()}}
    return story.append(EntryKind.CLAIMED, State.SENDING, delay_s=60, **frozen)


def test_one_asks_another_confirms_and_it_buys_one_new_generation(owner: Owner, tell: Tell) -> None:
    story = undecided(tell())
    assert asked(story) is None
    assert confirmed(story) is None
    assert claimed_anew(story) is None
    story.attempts += 1
    assert (story.column("generation"), story.column("first_ambiguous_at")) == (2, None)
    story.result("unknown", State.RETRY, ambiguous=True, window_s=-1, delay_s=0)
    assert story.append(EntryKind.RE_PREPARED) == "ambiguous", "the order is used up"
    assert examined(owner, story.id) == set()


@pytest.mark.parametrize("guarded", [True, False])
def test_the_doubt_outlives_the_new_generation_and_doctor_knows_it_too(owner: Owner, tell: Tell, guarded: bool) -> None:
    story = undecided(tell())
    assert asked(story) is None
    assert confirmed(story) is None
    assert story.append(EntryKind.RE_PREPARED, detail={"may_duplicate": True}) is None
    frozen: dict[str, Any] = {"body": BODY, "detail": {"sha256": hashlib.sha256(BODY).hexdigest()}}
    assert story.append(EntryKind.CLAIMED, State.SENDING, delay_s=60, **frozen) is None
    story.attempts += 1
    story.result("rejected", State.NEEDS_REVIEW, known="invalid")
    if guarded:
        assert retried(story) == "given_up"
        assert examined(owner, story.id) == set()
        return
    owner.execute(
        "CREATE OR REPLACE FUNCTION notifyops_private.doubted_v1(intent bigint, here text DEFAULT '') "
        "RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER AS 'SELECT false'"
    )
    assert retried(story) is None
    assert claimed_anew(story) is None
    assert examined(owner, story.id) == {"resend_by_two", "new_key_is_earned"}


def test_an_order_whose_generation_is_made_is_used_up_also_while_its_attempt_is_put_off(
    owner: Owner, tell: Tell
) -> None:
    story = undecided(tell())
    assert asked(story) is None
    assert confirmed(story) is None
    ordered = "SELECT id FROM notifyops_private.forced_v1(ARRAY[%s]::bigint[])"
    assert owner.execute(ordered, (story.id,)).fetchall() == [(story.id,)]
    assert claimed_anew(story) is None
    story.attempts += 1
    story.result("not_sent", State.RETRY, delay_s=0)
    assert story.column("manual")
    assert owner.execute(ordered, (story.id,)).fetchall() == []


@pytest.mark.parametrize("by", ["user:lena", "cli:lena@host", "user:LENA"])
def test_the_one_who_asked_does_not_confirm_by_whichever_way_they_come(tell: Tell, by: str) -> None:
    story = undecided(tell())
    assert asked(story) is None
    assert confirmed(story, by) == "same_person"
    assert confirmed(story, "user:bob") is None


def test_nothing_is_confirmed_that_was_not_asked_for_or_was_taken_back_or_moved(tell: Tell) -> None:
    story = undecided(tell())
    assert confirmed(story) == "not_asked"
    assert dropped(story) == "not_asked"
    assert asked(story) is None
    assert dropped(story) is None
    assert confirmed(story) == "not_asked"
    assert asked(story) is None
    assert story.append(EntryKind.CLOSED, State.CLOSED, actor="user:lena", seq=story.seq) is None
    again: dict[str, Any] = {"code": "reopened", "known": "unknown", "next_action": "ask_lead"}
    assert story.append(EntryKind.REOPENED, State.NEEDS_REVIEW, actor="user:lena", seq=story.seq, **again) is None
    assert confirmed(story) == "not_asked"


def test_a_request_is_open_for_half_an_hour_and_there_is_one(owner: Owner, tell: Tell) -> None:
    story = undecided(tell())
    assert asked(story) is None
    assert asked(story, "user:bob") == "asked"
    shift(owner, 1801)
    assert confirmed(story) == "not_asked"
    assert asked(story, "user:bob") == "evidence_old"
    assert asked(story.evidence("inconclusive"), "user:bob") is None


def test_each_order_needs_a_request_of_its_own(tell: Tell) -> None:
    story = undecided(tell())
    assert asked(story) is None
    assert confirmed(story) is None
    assert story.append(EntryKind.UNDONE, State.NEEDS_REVIEW, actor="user:bob", seq=story.seq) is None
    assert confirmed(story) == "not_asked"


@pytest.mark.parametrize("answer", ["found", "not_found", "unavailable"])
def test_it_is_for_what_the_provider_was_asked_and_cannot_tell(tell: Tell, answer: str) -> None:
    story = tell().unknown(State.NEEDS_REVIEW, window_s=-1)
    assert asked(story) == "no_evidence"
    assert asked(story.evidence(answer, *(["pm-1"] if answer == "found" else []))) == "no_evidence"
    if answer == "found":
        assert asked(story.evidence("inconclusive")) == "no_evidence", "it was seen there before"
    else:
        assert asked(story.evidence("inconclusive")) is None


@pytest.mark.parametrize("answer", ["found", "not_found"])
def test_what_the_provider_says_after_the_request_overtakes_it(tell: Tell, answer: str) -> None:
    story = undecided(tell())
    assert asked(story) is None
    assert confirmed(story.evidence(answer, *(["pm-1"] if answer == "found" else []))) == "no_evidence"


def test_it_is_for_what_no_key_protects_and_nobody_knows(tell: Tell) -> None:
    protected = tell().unknown(State.NEEDS_REVIEW, window_s=3600).evidence("inconclusive")
    assert asked(protected) == "window_open"
    unsent = tell().claim().result("not_sent", State.NEEDS_REVIEW, known="not_sent").evidence("inconclusive")
    assert asked(unsent) == "known"
    assert asked(unsent.evidence("inconclusive")) == "known"


def test_no_other_retry_gets_a_new_generation_of_what_may_have_arrived(owner: Owner, tell: Tell) -> None:
    story = tell().unknown(State.NEEDS_REVIEW, window_s=-1).evidence("not_found")
    assert retried(story, reason_code="evidence_not_sent") is None
    assert story.append(EntryKind.RE_PREPARED) == "ambiguous"
    inside = tell().unknown(State.NEEDS_REVIEW, window_s=3600)
    assert retried(inside) is None
    assert inside.append(EntryKind.RE_PREPARED) == "ambiguous"


def test_an_order_is_good_for_half_an_hour_of_a_standstill(owner: Owner, tell: Tell) -> None:
    story = undecided(tell())
    assert asked(story) is None
    assert confirmed(story) is None
    shift(owner, 1801)
    assert story.append(EntryKind.RE_PREPARED) == "ambiguous"
    assert story.append(EntryKind.CLAIMED, State.SENDING, delay_s=60) == "window_over"


@pytest.mark.parametrize(("hours", "refused"), [(1, None), (-1, "bounds"), (24 * 9, "bounds"), (None, "bounds")])
def test_a_case_is_set_aside_for_a_bounded_time(tell: Tell, hours: int | None, refused: str | None) -> None:
    story = tell().claim().result("not_sent", State.NEEDS_REVIEW)
    until = None if hours is None else datetime.now(UTC) + timedelta(hours=hours)
    assert story.append(EntryKind.RESUMED, actor="user:olga", seq=story.seq) == "not_snoozed"
    assert story.append(EntryKind.SNOOZED, actor="user:olga", seq=story.seq, until=until) == refused
    if refused is None:
        assert story.append(EntryKind.RESUMED, actor="user:olga", seq=story.seq) is None
        assert story.column("snoozed_until") is None
