"""The provider is asked about given-up generations beside the present one: a second message does not stay hidden."""

from __future__ import annotations

import pytest

from notifications.providers.base import LookupQuery, LookupResult
from notifications.states import EntryKind, Found, State
from tests.delivery.asking import KEY, Told, ask, person_asks
from tests.delivery.test_resends import order, undecided
from tests.delivery.workplace import Workplace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def resent(place: Workplace, *, arrived: bool = True, loses_answer: bool = False) -> int:
    """Give one that two leads had sent anew, although the first message may have arrived (`arrived`: it has)."""
    intent = undecided(place, arrived=arrived)
    order(place, intent)
    place.later(9)
    if loses_answer:
        place.sandbox.fault(stage="before_accept", kind="close", times=1)
    place.turn()
    assert place.intent(intent).generation == 2
    place.later(300)
    return intent


def about_the_first(place: Workplace, intent: int) -> list[tuple[str, list[str] | None]]:
    """Give what the evidence says of generation 1 since there is another one."""
    return [
        (one["outcome"], one["detail"].get("ids"))
        for one in place.log(intent)
        if one["kind"] == "evidence" and one["detail"].get("generation") == 1
    ]


def test_both_messages_are_found_and_each_is_told_by_its_generation(place: Workplace) -> None:
    intent = resent(place)
    first, second = (place.sandbox.ledger(key).ids[0] for key in (KEY, f"{KEY}~g2"))
    person_asks(place, intent)
    ask(place)
    assert about_the_first(place, intent) == [("found", [first])]
    row = place.intent(intent)
    assert (row.state, row.provider_message_id) == ("accepted", second)


def test_what_was_found_is_not_asked_for_again(place: Workplace) -> None:
    intent = resent(place)
    asked: list[list[int]] = []

    def found(query: LookupQuery) -> LookupResult:
        ids = place.sandbox.ledger(KEY if query.ref < 0 else f"{KEY}~g2").ids
        return LookupResult(query.ref, Found.FOUND, "scan", None, tuple(ids))

    for _ in range(2):
        person_asks(place, intent)
        told = Told(found)
        ask(place, told)
        asked += [[query.ref for query in round_] for round_ in told.asked]
        place.later(60)
    assert [len(refs) for refs in asked] == [2, 1]


def test_a_first_message_that_is_found_keeps_a_third_one_back(place: Workplace) -> None:
    intent = resent(place, loses_answer=True)
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0.0).refused == "given_up"
    person_asks(place, intent)
    ask(place)
    assert [answer for answer, _ in about_the_first(place, intent)] == ["found"]
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0.0).refused == "arrived"


def test_an_absent_first_message_says_nothing_of_the_present_one(place: Workplace) -> None:
    """Only of it the provider says that it has none; what is present stays in doubt."""
    intent = resent(place, arrived=False, loses_answer=True)

    def answer(query: LookupQuery) -> LookupResult:
        if query.ref < 0:
            return LookupResult(query.ref, Found.NOT_FOUND, "scan")
        return LookupResult(query.ref, Found.INCONCLUSIVE, "scan", "lookup.page_cap")

    person_asks(place, intent)
    ask(place, Told(answer))
    assert about_the_first(place, intent) == [("not_found", None)]
    assert (place.intent(intent).state, place.intent(intent).known) == ("needs_review", "unknown")
    ((answer_now,),) = place.sql("SELECT count(*) FROM notifyops_private.evidence_v1(ARRAY[%s::bigint])", intent)
    assert answer_now == 0


def test_a_round_that_answers_only_what_was_asked_beside_counts_as_none(place: Workplace) -> None:
    """Else it would be put off by two seconds for ever."""
    intent = resent(place, arrived=False, loses_answer=True)
    person_asks(place, intent)
    ask(place, Told(lambda query: LookupResult(query.ref, Found.NOT_FOUND, "scan") if query.ref < 0 else None))
    told = [one["code"] for one in place.log(intent) if one["kind"] == "evidence" and one["generation"] == 2]
    assert "lookup.page_cap" in told


def test_what_came_back_or_was_refused_is_not_asked_about(place: Workplace) -> None:
    intent = place.enqueue()
    place.sandbox.fault(kind="status", status=422, name="invalid_from_address", times=1)
    place.turn()
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused is None
    place.turn()
    person_asks(place, intent)
    told = Told(lambda query: LookupResult(query.ref, Found.INCONCLUSIVE, "scan", "lookup.page_cap"))
    ask(place, told)
    assert [[query.ref for query in round_] for round_ in told.asked] == [[intent]]
