"""What the provider's answers settle by themselves, and what is left to a person."""

from __future__ import annotations

from urllib.request import Request, urlopen

import pytest

from notifications.providers.base import LookupBudget
from notifications.states import DeliveryStatus, EntryKind, Found, Known, NextAction, State
from tests.delivery.asking import DAY, ask, evidence, lost, past_the_window, person_asks, says
from tests.delivery.workplace import Workplace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
ONCE = "report-once/demo-001"
MINUTE = 60.0


def test_a_lost_answer_that_the_provider_knows_is_settled_without_a_person(place: Workplace) -> None:
    intent = lost(place, arrived=True)
    place.later(3 * MINUTE)
    assert ask(place) == 1
    row = place.intent(intent)
    (mail_id,) = place.sandbox.ledger(ONCE).ids
    assert (row.state, row.provider_message_id, row.known, row.error_code) == ("accepted", mail_id, None, None)
    assert place.kinds(intent) == ["claimed", "result", "evidence", "settled"]
    said = place.log(intent)[-2]
    assert (said["outcome"], said["worker"], said["actor"]) == ("found", "host/1/ask0", None)
    assert said["detail"]["method"] == "scan"
    assert said["detail"]["ids"] == [mail_id]
    assert said["detail"]["asked_at"]
    assert place.sandbox.ledger(ONCE).accepted == 1


def test_past_the_window_what_is_found_is_accepted_and_never_sent_again(place: Workplace) -> None:
    intent = past_the_window(place, arrived=True)
    ask(place)
    assert place.intent(intent).state == "accepted"
    assert place.turn() == []
    assert place.sandbox.ledger("report-ready/demo-001").http_requests == 1


def test_absence_settles_nothing_and_is_asked_once(place: Workplace) -> None:
    intent = past_the_window(place, arrived=False)
    assert ask(place) == 1
    row = place.intent(intent)
    assert (row.state, row.known, row.error_code) == ("needs_review", Known.UNKNOWN, "window_over")
    assert evidence(place, intent) == [("not_found", None)]
    place.later(DAY)
    assert ask(place) == 0


def test_it_is_asked_only_when_the_provider_has_settled(place: Workplace) -> None:
    lost(place, arrived=False)
    assert ask(place) == 0
    place.later(100)
    assert ask(place) == 0
    place.later(25)
    assert ask(place) == 1


def test_a_sending_key_is_unavailable_and_said_once(place: Workplace) -> None:
    intent = lost(place, arrived=True)
    for _ in range(8):
        place.later(10 * 3600)
        ask(place, key=place.sandbox.sending_key)
    assert evidence(place, intent) == [("unavailable", "lookup.restricted_key")]
    assert place.intent(intent).state == "needs_review"


def test_without_a_key_a_person_is_told_so(place: Workplace) -> None:
    intent = lost(place, arrived=True)
    for _ in range(2):
        person_asks(place, intent)
        assert ask(place, no_key=True) == 1
    assert evidence(place, intent) == [("unavailable", "lookup.no_key")] * 2
    assert place.log(intent)[-1]["detail"]["asked_by"] == "user:olga"


def test_the_page_cap_leaves_it_open(place: Workplace) -> None:
    intent = lost(place, arrived=True)
    for number in range(3):
        place.enqueue(f"more-{number}")
    place.turn()
    place.later(3 * MINUTE)
    ask(place, budget=LookupBudget(pages=0, per_s=None))
    assert evidence(place, intent) == [("inconclusive", "lookup.page_cap")]
    assert place.intent(intent).state == "needs_review"


def test_two_messages_of_one_key_are_a_case_of_their_own(place: Workplace) -> None:
    intent = lost(place, arrived=True)
    place.later(3 * MINUTE)
    ask(place, says(Found.FOUND, "id-1", "id-2"))
    row = place.intent(intent)
    assert (row.state, row.error_code, row.known) == ("needs_review", "second_message", Known.ACCEPTED)
    assert row.next_action == NextAction.ASK_LEAD
    assert place.kinds(intent)[-2:] == ["evidence", "contradicted"]
    person_asks(place, intent)
    ask(place, says(Found.FOUND, "id-1", "id-2"))
    assert place.kinds(intent)[-1] == "evidence", "the same contradiction is no second case"


def test_a_really_doubled_acceptance_is_seen(place: Workplace) -> None:
    """A provider that forgot its key: two mails with one set of tags."""
    intent = lost(place, arrived=True, kind="report_alarm")
    place.later(DAY + MINUTE)
    place.sandbox.fault(stage="after_accept", kind="close", times=1)
    place.turn()
    assert place.sandbox.ledger("report-alarm/demo-001").accepted == 2
    person_asks(place, intent)
    ask(place)
    assert place.intent(intent).error_code == "second_message"


def test_a_copy_sent_by_hand_ends_in_an_answer_to_adopt(place: Workplace) -> None:
    """The trial of docs/evidence.md: the same bytes under another key."""
    intent = lost(place, arrived=True)
    ((body,),) = place.sql("SELECT body FROM notifyops_private.notifications_prepared WHERE intent_id = %s", intent)
    headers = {
        "Authorization": f"Bearer {place.sandbox.sending_key}",
        "Idempotency-Key": "by-hand",
        "Content-Type": "application/json",
        "User-Agent": "a person",
    }
    with urlopen(Request(f"{place.sandbox.url}/emails", bytes(body), headers)) as answer:
        assert answer.status == 200
    place.later(3 * MINUTE)
    ask(place)
    assert place.intent(intent).error_code == "second_message"
    first, _second = next(entry["detail"]["ids"] for entry in place.log(intent) if entry["kind"] == "evidence")
    assert place.person(EntryKind.ADOPTED, intent, State.ACCEPTED, provider_message_id=first).refused is None
    assert place.intent(intent).state == "accepted"


def test_another_id_than_the_recorded_one_is_a_contradiction(place: Workplace) -> None:
    intent = place.enqueue()
    place.turn()
    person_asks(place, intent)
    ask(place, says(Found.FOUND, "another"))
    row = place.intent(intent)
    assert (row.state, row.error_code) == ("needs_review", "second_message")
    assert row.provider_message_id == place.sandbox.ledger("report-ready/demo-001").ids[0]


def test_an_id_that_belongs_to_another_notification_settles_nothing(place: Workplace) -> None:
    place.enqueue("taken")
    place.turn()
    (mail_id,) = place.sandbox.ledger("report-ready/taken").ids
    intent = lost(place, arrived=True)
    place.later(3 * MINUTE)
    ask(place, says(Found.FOUND, mail_id))
    row = place.intent(intent)
    assert (row.state, row.error_code, row.provider_message_id) == ("needs_review", "id_of_another", None)


@pytest.mark.parametrize(
    ("status", "code", "known"),
    [
        (DeliveryStatus.BOUNCED, "bounced", Known.BOUNCED),
        (DeliveryStatus.COMPLAINED, "complained", Known.COMPLAINED),
        (DeliveryStatus.SUPPRESSED, "suppressed", Known.SUPPRESSED),
        (DeliveryStatus.FAILED, "failed", Known.INVALID),
    ],
)
def test_what_was_accepted_and_came_back_is_settled_and_a_case(
    place: Workplace, status: DeliveryStatus, code: str, known: Known
) -> None:
    intent = lost(place, arrived=True)
    place.later(3 * MINUTE)
    ask(place, says(Found.FOUND, "id-1", status=status))
    row = place.intent(intent)
    assert (row.state, row.error_code, row.known, row.delivery_status) == ("needs_review", code, known, status)
    assert place.kinds(intent)[-3:] == ["evidence", "settled", "receipt"]


def test_what_moved_while_the_provider_was_asked_is_not_judged_by_an_old_absence(place: Workplace) -> None:
    intent = lost(place, arrived=False, kind="report_once")
    place.later(3 * MINUTE)

    def retry_meanwhile() -> None:
        assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0.0).refused is None

    told = says(Found.NOT_FOUND)
    told.before = retry_meanwhile
    ask(place, told)
    assert evidence(place, intent) == []
    found = says(Found.FOUND, "id-1")
    place.later(5)
    person_asks(place, intent)
    ask(place, found)
    assert place.intent(intent).state == "accepted", "what is there stays there, whatever moved"


def test_beyond_the_providers_memory_nothing_is_asked(place: Workplace) -> None:
    intent = past_the_window(place, arrived=True)
    place.later(30 * DAY)
    ask(place)
    assert evidence(place, intent) == [("inconclusive", "lookup.retention")]


def test_a_lying_list_settles_nothing(place: Workplace) -> None:
    intent = lost(place, arrived=True)
    place.later(3 * MINUTE)
    place.sandbox.fault(match="^GET /emails ", kind="wrong_shape", body={"data": [{"id": 1}], "has_more": False})
    ask(place)
    assert evidence(place, intent) == [("inconclusive", "lookup.malformed")]
