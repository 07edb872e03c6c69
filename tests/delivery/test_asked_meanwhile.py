"""A person's question is answered for that person, whatever the chores are asking in the very moment."""

from __future__ import annotations

import pytest

from notifications.providers.base import LookupResult
from notifications.states import Found
from tests.delivery.asking import Told, ask, evidence, lost, person_asks, says
from tests.delivery.workplace import Workplace

pytestmark = pytest.mark.django_db(transaction=True)
UNCLEAR = ("inconclusive", "lookup.page_cap")
_WANTED = "SELECT wanted_by FROM notifyops_private.notifications_question WHERE wanted_at IS NOT NULL"


def test_a_question_that_comes_while_the_provider_is_being_asked_gets_an_answer_of_its_own(place: Workplace) -> None:
    intent = lost(place, arrived=False)
    place.later(130)
    ask(place, says(Found.INCONCLUSIVE, code=UNCLEAR[1]))
    assert evidence(place, intent) == [UNCLEAR]
    place.later(61)
    # The chores ask by themselves; their answer says nothing new, and so is not kept.
    asked = Told(
        lambda query: LookupResult(query.ref, Found.INCONCLUSIVE, "scan", UNCLEAR[1], ()),
        before=lambda: person_asks(place, intent),
    )
    ask(place, asked)
    assert evidence(place, intent) == [UNCLEAR]
    assert place.sql(_WANTED) == [("user:olga",)]
    ask(place, says(Found.INCONCLUSIVE, code=UNCLEAR[1]))
    assert evidence(place, intent) == [UNCLEAR, UNCLEAR]
    assert place.log(intent)[-1]["detail"]["asked_by"] == "user:olga"
    assert place.sql(_WANTED) == []
