"""A person's text outweighs the application's no at the claim too, and no order of a person ends in silence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from notifications.states import EntryKind, Found
from notifications.types import REPORT_READY, registry
from tests.delivery.asking import KEY, ask, past_the_window, says
from tests.delivery.workplace import Workplace
from tests.reviews.deciding import decide

pytestmark = pytest.mark.django_db(transaction=True)
WHY = "The owner needs it, whatever the application says."


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Give what the application says from now on, in its order; the last word stays."""
    said = [False]

    def still_wanted(_report_id: str) -> bool:
        return said.pop(0) if len(said) > 1 else said[0]

    monkeypatch.setitem(registry._types, REPORT_READY.name, replace(REPORT_READY, still_wanted=still_wanted))
    return said


def refused(place: Workplace) -> int:
    intent = place.enqueue()
    place.sandbox.fault(kind="status", status=422, times=1)
    place.turn()
    return intent


def carried_out(place: Workplace, intent: int) -> tuple[str, str | None]:
    place.later(9)
    place.turn()
    row = place.intent(intent)
    return row.state, row.error_code


def test_a_persons_text_outweighs_the_applications_no_at_the_claim_too(place: Workplace, answers: list[bool]) -> None:
    intent = refused(place)
    decide("retry", place.intent(intent), "lena", "owner_asked", WHY)
    assert place.log(intent)[-1]["detail"] == {"insists": True}
    assert carried_out(place, intent) == ("accepted", None)


def test_a_no_that_nobody_has_outweighed_brings_the_order_back_to_a_person(
    place: Workplace, answers: list[bool]
) -> None:
    """At the order the application said yes, so that the text was about something else."""
    answers[:] = [True, False]
    intent = refused(place)
    decide("retry", place.intent(intent), "lena", "owner_asked", WHY)
    assert carried_out(place, intent) == ("needs_review", "no_longer_wanted")
    assert place.intent(intent).next_action == "ask_lead"
    decide("retry", place.intent(intent), "lena", "owner_asked", WHY, shift_s=place.shift_s)
    assert carried_out(place, intent) == ("accepted", None)


def test_an_order_that_insists_is_good_for_itself_alone(place: Workplace, answers: list[bool]) -> None:
    intent = refused(place)
    decide("retry", place.intent(intent), "lena", "owner_asked", WHY)
    place.sandbox.fault(kind="status", status=422, times=1)
    assert carried_out(place, intent)[0] == "needs_review"
    answers[:] = [True, False]
    decide("retry", place.intent(intent), "lena", "provider_recovered", "", shift_s=place.shift_s)
    assert carried_out(place, intent) == ("needs_review", "no_longer_wanted")


def test_two_leads_outweigh_it_with_a_resend(place: Workplace, answers: list[bool]) -> None:
    intent = past_the_window(place, arrived=True)
    place.later(300)
    ask(place, says(Found.INCONCLUSIVE, code="lookup.page_cap"))
    row = place.intent(intent)
    decide("resend", row, "lena", typed=row.report_id, confirmed=True, shift_s=place.shift_s)
    decide("approve", place.intent(intent), "bob_lead", confirmed=True, shift_s=place.shift_s)
    order = place.log(intent)[-1]
    assert (order["kind"], order["detail"]["insists"]) == (EntryKind.RETRIED, True)
    assert carried_out(place, intent)[0] == "accepted"
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 1
