"""Absence is believed only of a list that is known to be the account's own."""

from __future__ import annotations

import pytest

from notifications.states import Found
from tests.delivery.asking import DAY, ask, evidence, lost, past_the_window, person_asks, retry, says, witnessed
from tests.delivery.workplace import Workplace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_a_new_accounts_first_absence_proves_nothing_until_it_has_taken_a_message(place: Workplace) -> None:
    """The key may be another team's: its list is honest, and holds nothing of ours."""
    intent = past_the_window(place, arrived=False, witness=False)
    ask(place)
    assert evidence(place, intent) == [("inconclusive", "lookup.no_witness")]
    assert retry(place, intent) == "window_over"

    witnessed(place)
    place.later(61)
    ask(place)
    assert evidence(place, intent)[-1] == ("not_found", None), "asked again by itself, with the witness by then"
    assert retry(place, intent) is None


def test_whoever_the_adapter_is_its_absence_needs_the_witness(place: Workplace) -> None:
    intent = past_the_window(place, arrived=False, witness=False)
    ask(place, says(Found.NOT_FOUND))
    assert evidence(place, intent) == [("inconclusive", "lookup.no_witness")]


def test_what_the_same_look_up_finds_is_witness_enough(place: Workplace) -> None:
    absent = lost(place, "absent", arrived=False)
    place.later(30)
    found = lost(place, "found", arrived=True)
    place.later(200)
    ask(place)
    assert evidence(place, found) == [("found", None)]
    assert evidence(place, absent) == [("not_found", None)]


def test_without_a_witness_what_is_there_is_settled_all_the_same(place: Workplace) -> None:
    intent = lost(place, arrived=True)
    person_asks(place, intent)
    ask(place)
    assert place.intent(intent).state == "accepted"


@pytest.mark.parametrize("asked_after_s", [200, DAY])
def test_an_accepted_message_of_a_provider_whose_clock_is_ahead_is_not_called_absent(
    place: Workplace, asked_after_s: int
) -> None:
    """Or a person would be let to send it again. Soon the list's newest mail shows it, later the witness."""
    place.sandbox.clock(900)
    witnessed(place)
    intent = lost(place, arrived=True)
    place.later(asked_after_s)
    person_asks(place, intent)
    ask(place)
    assert evidence(place, intent) == [("inconclusive", "lookup.clock_apart")]


def test_a_message_that_was_taken_long_before_its_answer_is_no_fault_of_the_clock(place: Workplace) -> None:
    """A lost answer and the next one are hours apart, and the message bears the time of the first."""
    found = lost(place, "witness", arrived=True, kind="report_ready")
    place.later(3 * 3600)
    place.turn()
    assert place.intent(found).state == "accepted"
    absent = lost(place, "absent", arrived=False)
    place.later(200)
    person_asks(place, absent)
    ask(place)
    assert evidence(place, absent) == [("not_found", None)]
