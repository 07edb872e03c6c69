"""A provider that accepts one key twice and says so in its own answers: a person hears of it, without any receipt."""

from __future__ import annotations

import pytest

from notifications.delivery.lease import Lease, Sent
from notifications.providers.base import SendResult
from notifications.states import EntryKind, Outcome, Phase, ResultClass, State
from tests.delivery.workplace import Workplace

pytestmark = pytest.mark.django_db(transaction=True)


def took(lease: Lease, mail: str) -> Sent:
    result = SendResult(Outcome.ACCEPTED, ResultClass.ACCEPTED, "resend.accepted", Phase.ANSWER_READ, mail, 200)
    return Sent(lease, result, 9)


def two_calls(place: Workplace) -> tuple[int, Lease, Lease]:
    """Give a notification with two calls under way: of a worker that stood still, and of who took its lease over."""
    intent = place.enqueue()
    (old,) = place.claim(worker="w1")
    place.later(61)
    (new,) = place.claim(worker="w2")
    return intent, old, new


@pytest.mark.parametrize("late_first", [True, False], ids=["the-late-one-first", "the-late-one-last"])
def test_two_ids_by_two_answers_are_a_case_for_a_person(place: Workplace, late_first: bool) -> None:
    intent, old, new = two_calls(place)
    answers = [(took(old, "mail-1"), "w1"), (took(new, "mail-2"), "w2")]
    for sent, worker in answers if late_first else reversed(answers):
        place.record([sent], worker=worker)
    row, entry = place.intent(intent), place.log(intent)[-1]
    assert (row.state, row.error_code, row.known) == ("needs_review", "second_message", "accepted")
    assert (row.provider_message_id, row.next_action) == ("mail-2", "close_duplicate")
    assert (entry["kind"], entry["detail"]) == ("contradicted", {"second": "mail-1"})
    ((told,),) = place.sql("SELECT string_agg(line, ' ') FROM notifyops.explain('report-ready/demo-001') AS line")
    assert "another message of this notification: mail-1" in told


def test_both_in_one_batch_are_told_once(place: Workplace) -> None:
    intent, old, new = two_calls(place)
    place.record([took(old, "mail-1"), took(new, "mail-2")])
    place.record([took(old, "mail-1")])  # its COMMIT got no answer
    assert place.kinds(intent)[3:] == ["result", "late", "contradicted", "late"]


def test_the_same_id_twice_is_the_key_at_its_work(place: Workplace) -> None:
    intent, old, new = two_calls(place)
    place.record([took(new, "mail-1")], worker="w2")
    place.record([took(old, "mail-1")], worker="w1")
    assert (place.intent(intent).state, place.kinds(intent)[-1]) == ("accepted", "late")


def test_what_a_person_has_ended_stays_ended(place: Workplace) -> None:
    intent, old, new = two_calls(place)
    place.record([took(new, "mail-2")], worker="w2")
    assert place.person(EntryKind.CLOSED, intent, State.CLOSED).refused is None
    place.record([took(old, "mail-1")], worker="w1")
    assert (place.intent(intent).state, place.kinds(intent)[-1]) == ("closed", "late")
