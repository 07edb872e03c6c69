"""Bad messages concern themselves alone: what stands behind them goes out, and the loop lives on."""

from __future__ import annotations

import json

import psycopg
import pytest

from notifications.providers.base import Message, Unsendable
from notifications.states import ResultClass
from notifications.types import REPORT_ALARM, NotificationType, Registry
from tests.delivery.adapters import ACCEPTED, NovelFault, Scripted
from tests.delivery.workplace import Workplace

pytestmark = pytest.mark.django_db(transaction=True)

SUBJECTS = {
    "header": "Hi\r\nBcc: evil@example.com",
    "line": "a\nb",
    "separator": "a\u2028b",
    "tab": "a\tb",
    "long": "x" * 10_000,
    "control": "a\x1b[31mb",
}
RECIPIENTS = {
    "markup": '<a href="x">spambot</a>',
    "name-with-comma": '"Doe, Jane" <j@example.com>',
    "two": "a@example.com, c@example.com",
    "header": "a@example.com\nBcc: x@example.com",
    "no-dot": "a@b",
    "empty": "",
    "null": None,
    "long": "a" * 400 + "@example.com",
}


def five_good_ones(place: Workplace) -> None:
    for number in range(5):
        place.enqueue(f"good-{number}")


def good_states(place: Workplace) -> set[str]:
    return {state for report, state in place.states().items() if report.startswith("good-")}


def test_no_subject_smuggles_a_header_or_stops_the_messages_behind_it(place: Workplace) -> None:
    """H-POI-1."""
    for name, title in SUBJECTS.items():
        place.enqueue(name, data={"title": title})
    five_good_ones(place)
    place.run()
    assert good_states(place) == {"accepted"}
    states = place.states()
    assert states.pop("long") == "needs_review"
    assert set(states.values()) == {"accepted"}
    for request in place.sandbox.requests():
        body = json.loads(request["body"])
        assert (body["to"], "bcc" in body, "cc" in body) == (["ana@example.com"], False, False)
        assert body["subject"].isprintable()


def test_a_subject_with_a_nul_is_refused_where_it_is_enqueued(place: Workplace) -> None:
    """H-POI-1: the database's own JSON cannot hold it, so nothing of it is ever stored."""
    with pytest.raises(psycopg.DataError):
        place.enqueue(data={"title": "a\0b"})
    assert place.states() == {}


def test_the_over_long_subject_tells_the_operator_why(place: Workplace) -> None:
    intent = place.enqueue(data={"title": "x" * 10_000})
    assert place.claim() == []
    row = place.intent(intent)
    assert (row.state, row.error_code, row.known, row.next_action) == (
        "needs_review",
        "invalid_subject",
        "invalid",
        "fix_content",
    )
    assert row.attempt_count == 0


@pytest.mark.parametrize("recipient", RECIPIENTS.values(), ids=RECIPIENTS)
def test_what_is_not_one_plain_address_is_refused_where_it_is_enqueued(place: Workplace, recipient: str | None) -> None:
    """H-POI-2."""
    with pytest.raises(psycopg.Error, match="recipient") as caught:
        place.enqueue(to=recipient)  # type: ignore[arg-type]
    assert caught.value.sqlstate == "NO400"
    assert place.states() == {}


def test_a_blank_around_an_address_is_cut(place: Workplace) -> None:
    """H-POI-2."""
    place.enqueue(to=" ana@example.com ")
    place.turn()
    assert json.loads(place.sandbox.requests()[0]["body"])["to"] == ["ana@example.com"]


def test_what_only_the_adapter_knows_to_be_no_address_asks_for_another_one(place: Workplace) -> None:
    def picky(message: Message) -> bytes:
        if message.to.startswith("odd"):
            raise Unsendable("invalid_recipient", ResultClass.RECIPIENT)
        return b"{}"

    odd = place.enqueue("odd", to="odd@example.com")
    five_good_ones(place)
    place.turn(place.shop(Scripted([ACCEPTED], prepared=picky)))
    row = place.intent(odd)
    assert (row.state, row.error_code, row.next_action) == ("needs_review", "invalid_recipient", "correct_address")
    assert good_states(place) == {"accepted"}


def test_a_fault_of_an_unforeseen_class_while_preparing_leaves_the_loop_alive(place: Workplace) -> None:
    """H-POI-2: also the classes that `except Exception` does not catch."""

    def broken(message: Message) -> bytes:
        if "bad" in message.subject:
            raise NovelFault("boom")
        return b"{}"

    bad = place.enqueue("bad", data={"title": "bad"})
    five_good_ones(place)
    place.run(place.shop(Scripted([ACCEPTED], prepared=broken)))
    row = place.intent(bad)
    assert (row.state, row.error_code, row.next_action) == ("needs_review", "invalid_data", "fix_content")
    assert good_states(place) == {"accepted"}


def test_a_fault_of_an_unforeseen_class_while_sending_is_an_unknown_outcome_of_that_message(place: Workplace) -> None:
    """H-POI-2."""
    for number in range(6):
        place.enqueue(f"demo-{number}")
    adapter = Scripted([NovelFault("boom"), ACCEPTED])
    place.turn(place.shop(adapter))
    assert sorted(place.states().values()) == ["accepted"] * 5 + ["retry"]
    ((outcome, code),) = place.sql(
        "SELECT outcome, code FROM notifyops_private.notifications_logentry WHERE kind = 'result' "
        "AND outcome <> 'accepted'"
    )
    assert (outcome, code) == ("unknown", "unknown.internal_error")
    place.later(100)
    place.run(place.shop(adapter))
    assert set(place.states().values()) == {"accepted"}


def test_an_adapter_that_gives_back_nonsense_is_an_adapter_with_a_fault(place: Workplace) -> None:
    intent = place.enqueue()
    place.turn(place.shop(Scripted([None])))  # type: ignore[list-item]
    assert (place.intent(intent).state, place.intent(intent).error_code) == ("retry", "unknown.internal_error")


def test_a_type_that_this_release_does_not_know_asks_a_person(place: Workplace) -> None:
    """An older worker meets a newer release's notification: it must neither guess nor stop."""
    intent = place.enqueue("unknown")
    assert place.claim(place.shop(types=Registry())) == []
    assert place.states() == {"unknown": "needs_review"}
    row = place.intent(intent)
    assert (row.error_code, row.next_action, row.known) == ("unknown_type", "retry_new_key", "invalid")


def test_data_that_no_longer_fits_its_type_asks_a_person_and_nothing_is_sent(place: Workplace) -> None:
    """The schema became stricter between enqueue and claim."""
    from typing import TypedDict

    class Stricter(TypedDict):
        title: str
        total: int

    types = Registry()
    types.add(NotificationType(name="report_ready", template="notifications/report_ready", data=Stricter))
    intent = place.enqueue()
    assert place.turn(place.shop(types=types)) == []
    assert place.intent(intent).error_code == "invalid_data"
    assert place.sandbox.requests() == []


def test_a_template_that_is_missing_asks_a_person(place: Workplace) -> None:
    types = Registry()
    types.add(NotificationType(name="report_ready", template="nowhere", data=REPORT_ALARM.data))
    intent = place.enqueue()
    assert place.turn(place.shop(types=types)) == []
    assert (place.intent(intent).error_code, place.intent(intent).next_action) == ("invalid_data", "fix_content")
