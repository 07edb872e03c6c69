"""What was set aside is asked about when its time is over, once, for the person who set it aside."""

from __future__ import annotations

import pytest

from notifications.states import EntryKind, Found
from tests.delivery.asking import ask, evidence, past_the_window, says
from tests.delivery.workplace import Workplace
from tests.reviews.deciding import decide

pytestmark = pytest.mark.django_db(transaction=True)


def aside(place: Workplace, minutes: int) -> int:
    """Give a case whose own questions are all asked, set aside."""
    intent = past_the_window(place, arrived=False)
    for _ in range(7):
        place.later(40_000)
        ask(place, says(Found.UNAVAILABLE, code="lookup.http"))
    told = says(Found.UNAVAILABLE)
    ask(place, told)
    assert told.asked == [], "nothing is asked by itself any more"
    decide("wait", place.intent(intent), "olga", text="", minutes=minutes, shift_s=place.shift_s)
    return intent


def test_the_provider_is_asked_when_the_time_is_over_and_once(place: Workplace) -> None:
    intent, told = aside(place, 60), says(Found.INCONCLUSIVE, code="lookup.page_cap")
    place.later(3500)
    ask(place, told)
    assert told.asked == []
    place.later(200)
    ask(place, told)
    assert len(told.asked) == 1
    assert evidence(place, intent)[-1] == ("inconclusive", "lookup.page_cap")
    assert place.log(intent)[-1]["detail"]["asked_by"] == "user:olga"
    ask(place, told)
    assert len(told.asked) == 1


def test_what_the_answer_proves_settles_it(place: Workplace) -> None:
    intent = aside(place, 5)
    place.later(301)
    ask(place, says(Found.FOUND, "5e9d-found"))
    assert place.intent(intent).state == "accepted"


def test_what_never_reached_the_provider_is_not_asked_about(place: Workplace) -> None:
    intent = place.enqueue()
    place.sandbox.fault(kind="status", status=422, name="invalid_from_address", times=1)
    place.turn()
    decide("wait", place.intent(intent), "olga", text="", minutes=5, shift_s=place.shift_s)
    place.later(301)
    told = says(Found.NOT_FOUND)
    ask(place, told)
    assert (told.asked, place.kinds(intent)[-1]) == ([], EntryKind.SNOOZED)


def test_what_was_taken_up_or_decided_before_is_not_asked_about(place: Workplace) -> None:
    intent = aside(place, 5)
    decide("resume", place.intent(intent), "olga", text="", shift_s=place.shift_s)
    place.later(301)
    told = says(Found.NOT_FOUND)
    ask(place, told)
    assert told.asked == []
