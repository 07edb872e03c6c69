"""What a person set aside or holds for approval stands after a recovery as it stood; what is freed comes back whole."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.states import Found, State
from reviews.refusals import NotAllowedNow
from tests.delivery.asking import says, witnessed
from tests.delivery.recovering import forgotten_send, opened, round_of_questions, tended, trouble
from tests.delivery.test_recovery import refused_for_now
from tests.delivery.workplace import Workplace
from tests.reviews.deciding import decide

pytestmark = [pytest.mark.django_db(transaction=True, databases=["default", "owner"]), pytest.mark.slow]
KEY = "report-ready/demo-001"


def aside(place: Workplace, intent: int, minutes: int = 60) -> None:
    decide("wait", place.intent(intent), "lena", text="", minutes=minutes, shift_s=place.shift_s)


def asked(place: Workplace) -> None:
    place.later(130)
    round_of_questions(place)
    tended(place)


def stands(place: Workplace, intent: int) -> dict[str, Any]:
    """Give all that a hold could change."""
    row = place.intent(intent)
    names = ("state", "known", "error_code", "next_action", "manual", "failure_count", "attempt_count", "snoozed_until")
    return {name: getattr(row, name) for name in (*names, "first_ambiguous_at", "safe_until", "generation")}


def test_what_was_set_aside_for_approval_before_stays_aside_and_needs_its_approval(place: Workplace) -> None:
    witnessed(place)
    intent = place.enqueue(kind="report_approved")
    aside(place, intent)
    before = stands(place, intent)
    opened(place)
    tended(place)
    asked(place)
    assert trouble(place) is None
    assert "evidence" in place.kinds(intent)
    assert stands(place, intent) == before
    assert (before["known"], before["error_code"]) == ("awaiting_approval", "awaiting_approval")
    place.later(3600)
    round_of_questions(place)
    assert place.turn() == []
    assert stands(place, intent)["state"] == "needs_review"
    decide("approve", place.intent(intent), "lena", shift_s=place.shift_s)
    assert len(place.turn()) == 1


@pytest.mark.parametrize("taken_up", [False, True])
def test_what_a_restore_holds_and_a_person_set_aside_leaves_no_sooner(place: Workplace, taken_up: bool) -> None:
    witnessed(place)
    intent = place.enqueue()
    opened(place)
    tended(place)
    aside(place, intent)
    asked(place)
    assert trouble(place) is None, "the rest goes out meanwhile"
    row = place.intent(intent)
    assert (row.state, row.error_code, row.snoozed_until is not None) == ("needs_review", "restored", True)
    place.later(1800)
    round_of_questions(place)
    assert place.turn() == []
    if taken_up:
        decide("resume", place.intent(intent), "olga", text="", shift_s=place.shift_s)
    else:
        place.later(1801)
    round_of_questions(place)
    assert (place.intent(intent).state, place.intent(intent).error_code) == ("pending", None), place.kinds(intent)
    place.turn()
    assert place.sandbox.ledger(KEY).accepted == 1


def test_the_message_that_is_found_settles_what_was_set_aside(place: Workplace) -> None:
    witnessed(place)
    intent = place.enqueue()
    mail = forgotten_send(place, intent)
    opened(place)
    tended(place)
    aside(place, intent)
    asked(place)
    row = place.intent(intent)
    assert (row.state, row.provider_message_id, row.snoozed_until) == ("accepted", mail, None)


@pytest.mark.parametrize("kind", ["pending", "retry", "ordered"])
def test_what_is_freed_stands_as_it_stood(place: Workplace, kind: str) -> None:
    witnessed(place)
    intent = place.enqueue() if kind == "pending" else refused_for_now(place, "demo-001")
    if kind == "ordered":
        place.sandbox.fault(kind="status", status=422, name="invalid_from_address", times=1)
        place.later(4000)
        place.turn()
        decide("retry", place.intent(intent), "lena", "configuration_fixed", shift_s=place.shift_s)
    place.later(4000)
    before = stands(place, intent)
    opened(place)
    tended(place)
    assert place.intent(intent).error_code == "restored"
    asked(place)
    # What is proven is said of each that goes on: of one that nobody ever tried, that nothing was sent.
    assert stands(place, intent) == before | {"known": before["known"] or "not_sent"}
    assert len(place.turn()) == 1


def test_a_case_that_was_set_aside_is_not_decided_while_the_recovery_is_open(place: Workplace) -> None:
    intent = place.enqueue(kind="report_approved")
    aside(place, intent)
    opened(place)
    decide("resume", place.intent(intent), "olga", text="", shift_s=place.shift_s)
    with pytest.raises(NotAllowedNow, match="was restored"):
        decide("approve", place.intent(intent), "lena", shift_s=place.shift_s)
    place.later(130)
    tended(place)
    round_of_questions(place, says(Found.UNAVAILABLE, code="lookup.unreachable"))
    tended(place)
    assert trouble(place) is None
    decide("approve", place.intent(intent), "lena", shift_s=place.shift_s)
    assert place.intent(intent).state == State.PENDING
