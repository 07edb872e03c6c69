"""The chores' rounds: what is due, how often it is asked again, and what one look-up may cost."""

from __future__ import annotations

import itertools

import pytest

from notifications.providers.base import LookupQuery, LookupResult
from notifications.states import EntryKind, Found, State
from tests.delivery.asking import DAY, Told, ask, evidence, lost, person_asks, says
from tests.delivery.workplace import Workplace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
ONCE = "report-once/demo-001"
MINUTE = 60.0


def test_what_proves_nothing_is_asked_again_with_growing_pauses_and_then_left(place: Workplace) -> None:
    intent = lost(place, arrived=True)
    nothing = says(Found.UNAVAILABLE, code="lookup.unreachable")
    place.later(3 * MINUTE)
    times = []
    for minute in range(16 * 60):
        if ask_quickly(place, nothing, minute):
            times.append(minute)
    assert [later - earlier for earlier, later in itertools.pairwise(times)] == [1, 5, 30, 120, 480]
    assert evidence(place, intent) == [("unavailable", "lookup.unreachable")]
    person_asks(place, intent)
    ask(place)
    assert place.intent(intent).state == "accepted", "a person may ask at any time"


def ask_quickly(place: Workplace, told: Told, minute: int) -> int:
    """Ask in each minute in which something can be due; the others need no round."""
    if minute not in {0, 1, 2, 5, 6, 7, 35, 36, 37, 155, 156, 157, 635, 636, 637, 900}:
        place.shift_s += MINUTE
        return 0
    kept = ask(place, told)
    place.shift_s += MINUTE
    return kept


def test_one_scan_settles_many(place: Workplace) -> None:
    place.enqueue_many(40)
    place.sandbox.fault(stage="after_accept", kind="close", times=20)
    place.sandbox.fault(match="^POST ", stage="before_accept", kind="close", times=None, skip=20)
    place.turn(place.shop(outage_failures=1000), room=40)
    place.later(DAY)
    while place.turn(room=40):
        pass
    assert set(place.states().values()) == {"needs_review"}
    ask(place)
    states = list(place.states().values())
    assert (states.count("accepted"), states.count("needs_review")) == (20, 20)
    lists = [seen for seen in place.sandbox.requests() if seen["method"] == "GET" and seen["path"] == "/emails"]
    assert len(lists) == 1


def test_a_round_that_had_no_time_for_all_goes_on_with_the_rest(place: Workplace) -> None:
    intents = [lost(place, f"demo-00{number}", arrived=True) for number in range(3)]
    place.later(3 * MINUTE)
    one_at_a_time = Told(lambda query: None)
    answered: list[int] = []

    def first_only(query: LookupQuery) -> LookupResult | None:
        if query.ref != min(one.ref for one in one_at_a_time.asked[-1]):
            return None
        answered.append(query.ref)
        return LookupResult(query.ref, Found.FOUND, "scan", None, (f"id-{query.ref}",))

    one_at_a_time.answer = first_only
    for _ in intents:
        assert ask(place, one_at_a_time) == 1
        place.later(3)
    assert answered == intents
    assert set(place.states().values()) == {"accepted"}


def test_a_round_that_answers_nothing_counts_or_it_would_go_on_for_ever(place: Workplace) -> None:
    intent = lost(place, arrived=True)
    place.later(3 * MINUTE)
    silent = Told(lambda _query: None)
    for _ in range(3):
        ask(place, silent)
    assert len(silent.asked) == 1
    assert evidence(place, intent) == [("inconclusive", "lookup.page_cap")]
    place.later(61)
    ask(place, silent)
    assert len(silent.asked) == 2


def test_an_account_that_waits_or_fails_is_left_alone(place: Workplace) -> None:
    lost(place, arrived=True)
    place.later(3 * MINUTE)
    circuit = (
        "INSERT INTO notifyops_private.notifications_circuit (account_id, wait_until, open_until, reason) "
        "VALUES (%s, %s, %s, %s) ON CONFLICT (account_id) DO UPDATE "
        "SET wait_until = excluded.wait_until, open_until = excluded.open_until, reason = excluded.reason"
    )
    ever = "infinity"
    for wait, opened, reason, asked in (
        (ever, None, None, 0),
        (None, ever, "breaker", 0),
        (None, ever, "monthly_quota", 1),
    ):
        place.sql(circuit, place.account, wait, opened, reason)
        assert ask(place) == asked


def test_what_is_no_question_any_more_is_forgotten(place: Workplace) -> None:
    intent = lost(place, arrived=True)
    silent = Told(lambda _query: None)
    place.later(3 * MINUTE)
    ask(place, silent)
    place.person(EntryKind.CLOSED, intent, State.CLOSED)
    place.later(61)
    ask(place, silent)
    assert len(silent.asked) == 1
    assert place.sql("SELECT count(*) FROM notifyops_private.notifications_question") == [(0,)]


def test_what_was_accepted_meanwhile_is_not_asked_about(place: Workplace) -> None:
    intent = lost(place, arrived=True, kind="report_once")
    silent = Told(lambda _query: None)
    place.later(3 * MINUTE)
    ask(place, silent)
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused is None
    place.turn()
    assert place.intent(intent).state == "accepted"
    place.later(61)
    ask(place, silent)
    assert len(silent.asked) == 1


def test_a_raising_adapter_is_logged_and_loses_nothing(place: Workplace) -> None:
    lost(place, arrived=True)
    place.later(3 * MINUTE)

    def broken(query: object) -> LookupResult:
        raise RuntimeError("an adapter's bug")

    with pytest.raises(RuntimeError):
        ask(place, Told(broken))
    assert ask(place) == 1
