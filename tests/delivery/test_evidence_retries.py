"""A person's retry past the window: only on the provider's fresh word that it has no such message, and once each."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command

from notifications.models import Intent
from notifications.providers.base import LookupResult
from notifications.states import EntryKind, Found, Known, State
from tests.delivery.adapters import NOT_SENT, UNKNOWN, Scripted
from tests.delivery.asking import KEY, ask, evidence, past_the_window, person_asks, retry, says, witnessed
from tests.delivery.workplace import Workplace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
MINUTE = 60.0


def absent(place: Workplace) -> int:
    """Give an intent past its window that the provider says it does not have."""
    intent = past_the_window(place, arrived=False)
    ask(place)
    assert evidence(place, intent) == [("not_found", None)]
    return intent


def test_with_fresh_evidence_it_goes_out_once_more(
    place: Workplace,
) -> None:
    intent = absent(place)
    assert retry(place, intent) is None
    place.turn()
    row, ledger = place.intent(intent), place.sandbox.ledger(KEY)
    assert (row.state, row.provider_message_id, ledger.accepted) == ("accepted", ledger.ids[0], 1)
    assert [entry["trigger"] for entry in place.log(intent) if entry["kind"] == "claimed"] == ["auto", "manual"]
    assert "possible_duplicate" not in place.log(intent)[-2]["detail"]


def test_without_evidence_it_is_refused(place: Workplace) -> None:
    intent = past_the_window(place, arrived=False)
    assert retry(place, intent) == "window_over"


@pytest.mark.parametrize("answer", [Found.INCONCLUSIVE, Found.UNAVAILABLE, Found.FOUND])
def test_no_other_answer_will_do(place: Workplace, answer: Found) -> None:
    intent = past_the_window(place, arrived=False)
    ids = ("a", "b") if answer is Found.FOUND else ()
    code = None if ids else "lookup.page_cap"
    ask(place, says(answer, *ids, code=code))
    assert retry(place, intent) == ("known" if ids else "window_over")


def test_another_reason_is_no_order_on_evidence(place: Workplace) -> None:
    intent = absent(place)
    assert retry(place, intent, "provider_recovered") == "window_over"
    assert retry(place, intent) is None


def test_stale_evidence_is_refused_and_fresh_one_takes_its_place(place: Workplace) -> None:
    intent = absent(place)
    place.later(10 * MINUTE + 1)
    assert retry(place, intent) == "evidence_old"
    person_asks(place, intent)
    ask(place)
    assert retry(place, intent) is None


def test_just_before_ten_minutes_it_is_fresh(place: Workplace) -> None:
    intent = absent(place)
    place.later(9.5 * MINUTE)
    assert retry(place, intent) is None


def test_each_evidence_is_good_for_one_retry_taken_back_or_not(place: Workplace) -> None:
    intent = absent(place)
    assert retry(place, intent) is None
    undo = {"code": "window_over", "known": Known.UNKNOWN, "next_action": "query_provider"}
    assert place.person(EntryKind.UNDONE, intent, State.NEEDS_REVIEW, **undo).refused is None
    assert retry(place, intent) == "evidence_used"


def test_after_the_attempt_its_evidence_is_used(place: Workplace) -> None:
    intent = absent(place)
    assert retry(place, intent) is None
    place.turn(place.shop(Scripted([UNKNOWN])))
    assert place.intent(intent).state == "needs_review"
    assert retry(place, intent) == "evidence_used"


def test_a_later_word_that_it_is_there_after_all_forbids_it(place: Workplace) -> None:
    intent = absent(place)
    person_asks(place, intent)
    ask(place, says(Found.FOUND, "late-1"))
    assert place.intent(intent).state == "accepted"


def test_what_turns_up_between_the_order_and_the_claim_is_not_sent(place: Workplace) -> None:
    intent = absent(place)
    assert retry(place, intent, delay_s=8.0) is None
    person_asks(place, intent)
    ask(place, says(Found.FOUND, "late-1"))
    place.later(10)
    assert place.turn() == []
    assert place.intent(intent).provider_message_id == "late-1"
    assert place.sandbox.ledger(KEY).accepted == 0


def test_two_messages_that_turn_up_between_stop_it_for_a_person(place: Workplace) -> None:
    intent = absent(place)
    assert retry(place, intent, delay_s=8.0) is None
    person_asks(place, intent)
    ask(place, says(Found.FOUND, "a", "b"))
    place.later(10)
    assert place.turn() == []
    assert place.intent(intent).error_code == "second_message"


def test_a_found_that_moves_nothing_still_bars_the_claim(place: Workplace) -> None:
    """The door looks at the evidence again: whoever wrote it, and whatever did not follow from it."""
    intent = absent(place)
    assert retry(place, intent) is None
    place.sql(
        "SELECT * FROM notifyops_private.append_v1('evidence', jsonb_build_array(jsonb_build_object("
        "'id', %s::bigint, 'outcome', 'found', 'detail', '{\"ids\": [\"x\"]}'::jsonb)), 'w')",
        intent,
        role="worker",
    )
    assert place.turn() == []
    assert place.intent(intent).error_code == "window_over"


def test_after_half_an_hour_without_a_worker_the_order_is_void(place: Workplace) -> None:
    intent = absent(place)
    assert retry(place, intent) is None
    place.later(31 * MINUTE)
    assert place.turn() == []
    assert (place.intent(intent).state, place.intent(intent).error_code) == ("needs_review", "window_over")
    assert place.sandbox.ledger(KEY).accepted == 0


def test_a_lease_that_was_given_back_untried_may_be_claimed_again(place: Workplace) -> None:
    from notifications.delivery.send import give_back

    intent = absent(place)
    assert retry(place, intent) is None
    place.record([give_back(lease) for lease in place.claim()])
    assert place.intent(intent).state == "retry"
    place.turn()
    assert place.sandbox.ledger(KEY).accepted == 1


def test_a_failed_attempt_of_it_goes_back_to_the_person(place: Workplace) -> None:
    intent = absent(place)
    assert retry(place, intent) is None
    place.turn(place.shop(Scripted([NOT_SENT])))
    assert place.intent(intent).state == "needs_review"
    assert place.turn() == []


@pytest.mark.parametrize(("waited_s", "sent"), [(MINUTE, 1), (31 * MINUTE, 0)])
def test_a_rate_limit_puts_the_order_off_and_does_not_prolong_it(place: Workplace, waited_s: float, sent: int) -> None:
    intent = absent(place)
    assert retry(place, intent) is None
    place.sandbox.fault(match="^POST ", kind="status", status=429, name="rate_limit_exceeded")
    place.turn()
    assert place.intent(intent).state == "retry"
    place.later(waited_s)
    place.sql("UPDATE notifyops_private.notifications_circuit SET wait_until = NULL")
    assert len(place.turn()) == sent
    assert place.intent(intent).state == ("accepted" if sent else "needs_review")
    assert place.turn() == [], "it bought one"


def test_the_web_role_cannot_write_evidence_for_itself(place: Workplace) -> None:
    intent = past_the_window(place, arrived=False)
    assert place.person(EntryKind.EVIDENCE, intent, None, outcome="not_found", detail={}).refused == "role"
    assert retry(place, intent) == "window_over"


def test_adopting_takes_a_fresh_found_and_its_very_id(place: Workplace) -> None:
    intent = past_the_window(place, arrived=False)
    ask(place, says(Found.FOUND, "a", "b"))
    adopt = {"to_state": State.ACCEPTED}
    assert place.person(EntryKind.ADOPTED, intent, provider_message_id="c", **adopt).refused == "no_evidence"
    place.later(11 * MINUTE)
    assert place.person(EntryKind.ADOPTED, intent, provider_message_id="a", **adopt).refused == "evidence_old"
    person_asks(place, intent)
    ask(place, says(Found.FOUND, "a", "b"))
    assert place.person(EntryKind.ADOPTED, intent, provider_message_id="a", **adopt).refused is None
    row = place.intent(intent)
    assert (row.state, row.provider_message_id, row.known, row.error_code) == ("accepted", "a", "accepted", None)


def test_absence_is_nothing_to_adopt(place: Workplace) -> None:
    intent = absent(place)
    refused = place.person(EntryKind.ADOPTED, intent, State.ACCEPTED, provider_message_id="a").refused
    assert refused == "no_evidence"


def test_a_conflict_is_asked_about_and_settled_where_it_is_ours(place: Workplace) -> None:
    """H-IDEM-1: a 409 with other content stops at once; nothing is retried, and the provider is asked what it took."""
    intent = place.enqueue()
    place.sandbox.fault(kind="status", status=409, name="invalid_idempotent_request")
    place.turn()
    row = place.intent(intent)
    assert (row.state, row.known, row.error_code) == (
        "needs_review",
        "conflict",
        "resend.409.invalid_idempotent_request",
    )
    assert retry(place, intent) == "known"
    witnessed(place)
    place.later(3 * MINUTE)
    ask(place)
    assert evidence(place, intent) == [("not_found", None)]
    assert retry(place, intent) == "known", "whatever the provider says: an earlier request was accepted"
    assert place.turn() == []
    told = LookupResult(intent, Found.FOUND, "scan", ids=("mine",))
    person_asks(place, intent)
    ask(place, says(told.answer, *told.ids))
    assert place.intent(intent).state == "accepted"


def test_the_demos_case_past_its_window_goes_out_on_the_providers_word(place: Workplace) -> None:
    """As a new user plays it, by docs/evidence.md."""
    call_command("seed_demo", stdout=StringIO())
    intent = Intent.objects.get(notification_id="report-ready/demo-102").pk
    witnessed(place)
    place.later(180)
    person_asks(place, intent)
    ask(place)
    assert evidence(place, intent)[-1] == ("not_found", None)
    assert retry(place, intent) is None
    place.turn()
    assert place.intent(intent).state == "accepted"
