"""Cases of before a restore: nobody decides on them before the provider was asked about them."""

from __future__ import annotations

import pytest

from notifications.states import Found
from reviews.refusals import NotAllowedNow
from tests.delivery.asking import DAY, says, witnessed
from tests.delivery.recovering import REASON, forgotten_send, opened, round_of_questions, tended, trouble
from tests.delivery.workplace import Workplace
from tests.intake.notify_cli import notify
from tests.reviews.deciding import decide

pytestmark = [pytest.mark.django_db(transaction=True, databases=["default", "owner"]), pytest.mark.slow]
AGO_S = 2 * DAY


def approved_in_the_lost_time(place: Workplace) -> tuple[int, str, str]:
    """Give one that waits for approval here, was approved in the lost time, and went out; its mail and key."""
    witnessed(place)
    intent = place.enqueue(kind="report_approved")
    mail = forgotten_send(place, intent)
    place.later(AGO_S)
    opened(place, AGO_S + 600)
    tended(place)
    return intent, mail, str(place.intent(intent).notification_id)


def test_the_recovery_does_not_end_before_held_cases_were_asked_about(place: Workplace) -> None:
    intent, mail, key = approved_in_the_lost_time(place)
    assert trouble(place) == "recovering"
    assert notify("recover", "--json").document["unanswered"] >= 1
    with pytest.raises(NotAllowedNow, match="was restored"):
        decide("approve", place.intent(intent), "lena", shift_s=place.shift_s)
    place.later(130)
    round_of_questions(place)
    tended(place)
    row = place.intent(intent)
    assert (trouble(place), row.state, row.provider_message_id) == (None, "accepted", mail)
    place.turn()
    assert place.sandbox.ledger(key).accepted == 1


def test_nobody_retries_while_a_recovery_is_open(place: Workplace) -> None:
    place.sandbox.fault(kind="status", status=422, name="invalid_from_address", times=1)
    intent = place.enqueue()
    place.turn()
    opened(place)
    tended(place)
    with pytest.raises(NotAllowedNow, match="was restored"):
        decide("retry", place.intent(intent), "lena", "provider_recovered", shift_s=place.shift_s)
    place.later(130)
    round_of_questions(place, says(Found.UNAVAILABLE, code="lookup.unreachable"))
    tended(place)
    assert trouble(place) is None
    decide("retry", place.intent(intent), "lena", "provider_recovered", shift_s=place.shift_s)


def test_what_the_provider_has_stops_what_was_approved_after_a_waiver(place: Workplace) -> None:
    """The recovery was ended early, a person approved, and the question that was left comes to its answer."""
    intent, mail, key = approved_in_the_lost_time(place)
    assert notify("recover", "--waive", "--reason", REASON).code == 0
    decide("approve", place.intent(intent), "lena", shift_s=place.shift_s)
    assert place.intent(intent).state == "pending"
    place.later(130)
    round_of_questions(place)
    row = place.intent(intent)
    assert (row.state, row.provider_message_id) == ("accepted", mail), place.kinds(intent)
    place.turn()
    assert place.sandbox.ledger(key).accepted == 1


def test_what_was_ordered_a_moment_before_the_recovery_is_held_once_it_is_due(place: Workplace) -> None:
    """The order may have been given, and carried out, in the lost time as well; it is not due when the chores begin."""
    place.sandbox.fault(kind="status", status=422, name="invalid_from_address", times=1)
    intent = place.enqueue()
    place.turn()
    decide("retry", place.intent(intent), "lena", "provider_recovered", shift_s=place.shift_s)
    opened(place)
    tended(place)
    assert place.intent(intent).state == "retry"
    place.later(130)
    tended(place)
    assert (place.intent(intent).state, place.intent(intent).error_code) == ("needs_review", "restored")
    round_of_questions(place)
    tended(place)
    assert trouble(place) is None
