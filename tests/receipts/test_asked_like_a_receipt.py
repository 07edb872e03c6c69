"""What the provider says when it is asked does what its receipt would have done: stop, block, open the case, once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from notifications.models import DeliveryBlock, LogEntry
from notifications.states import DeliveryStatus, EntryKind, Found, State
from notifications.types import REPORT_READY, Registry
from reviews import story
from tests.delivery.asking import DAY, ask, lost, person_asks, says
from tests.receipts.post import FAILED, PERMANENT, TRANSIENT, Provider, stands

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
KEY = "report-ready/demo-001"
BAD = [
    (DeliveryStatus.BOUNCED, "bounced", "bounced"),
    (DeliveryStatus.COMPLAINED, "complained", "complained"),
    (DeliveryStatus.SUPPRESSED, "suppressed", "bounced"),
    (DeliveryStatus.FAILED, "failed", None),
]


def blocks() -> list[str]:
    return list(DeliveryBlock.objects.values_list("reason", flat=True))


@pytest.mark.parametrize(("status", "code", "reason"), BAD)
@pytest.mark.parametrize("answer_was_lost", [True, False])
def test_bad_news_by_asking_open_the_case_and_block_the_address_once(
    provider: Provider, status: DeliveryStatus, code: str, reason: str | None, answer_was_lost: bool
) -> None:
    place = provider.place
    intent = lost(place, arrived=True) if answer_was_lost else provider.accepted()
    mail = place.intent(intent).provider_message_id or "id-1"
    place.later(180)
    for _ in range(2):
        person_asks(place, intent)
        ask(place, says(Found.FOUND, mail, status=status))
        assert stands(intent)[:2] == ("needs_review", status)
        assert stands(intent)[3] == code
        assert blocks() == ([reason] if reason else [])
    assert place.kinds(intent).count("receipt") == 1

    waiting = place.enqueue("demo-002")
    place.turn()
    assert place.intent(waiting).state == ("needs_review" if reason else "accepted")


@pytest.mark.parametrize("event", ["email.bounced", "email.complained"])
def test_the_receipt_that_comes_after_the_question_changes_nothing_more(provider: Provider, event: str) -> None:
    place, intent = provider.place, provider.accepted()
    status = DeliveryStatus(event.removeprefix("email."))
    mail = place.intent(intent).provider_message_id
    assert mail is not None
    person_asks(place, intent)
    ask(place, says(Found.FOUND, mail, status=status))
    before = stands(intent)
    provider.say(event, intent, **PERMANENT)
    provider.apply()
    assert stands(intent) == before
    assert len(blocks()) == 1


def test_a_receipts_bounce_for_now_is_not_made_final_by_a_look_up_that_cannot_tell(provider: Provider) -> None:
    place, intent = provider.place, provider.accepted()
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    mail = place.intent(intent).provider_message_id
    assert mail is not None
    person_asks(place, intent)
    ask(place, says(Found.FOUND, mail, status=DeliveryStatus.BOUNCED))
    assert stands(intent)[:3] == ("needs_review", "soft_bounced", "soft_bounced")
    assert blocks() == []


def test_what_could_not_be_sent_may_be_prepared_anew_however_it_was_learned(provider: Provider) -> None:
    """Its window protects nothing: the key's one message will never come."""
    place = provider.place
    sure = Registry()
    sure.add(replace(REPORT_READY, confirm=True))
    intent = place.enqueue()
    place.sandbox.fault(stage="after_accept", kind="close", times=1)
    place.turn(place.shop(types=sure))
    place.later(100)
    place.turn(place.shop(types=sure))
    assert place.intent(intent).first_ambiguous_at is not None
    place.later(DAY + 60)
    mail = place.intent(intent).provider_message_id
    assert mail is not None
    ask(place, says(Found.FOUND, mail, status=DeliveryStatus.FAILED), types=sure)
    row = place.intent(intent)
    assert (row.state, row.error_code, row.known) == ("needs_review", "failed", "invalid")
    assert (row.first_ambiguous_at, row.safe_until) == (None, None)
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused is None
    place.turn(place.shop(types=sure))
    assert place.intent(intent).generation == 2


def test_a_person_who_asks_sees_what_became_of_it_on_the_case(provider: Provider) -> None:
    place, intent = provider.place, provider.accepted()
    place.sandbox.emit("email.bounced", key=KEY)
    person_asks(place, intent)
    ask(place)
    assert stands(intent) == ("needs_review", "bounced", "bounced", "bounced", "correct_address")
    place.sandbox.reset()


def test_a_delivery_is_applied_and_ends_a_case_that_waited_only_for_it(provider: Provider) -> None:
    place = provider.place
    sure = Registry()
    sure.add(replace(REPORT_READY, confirm=True))
    intent = place.enqueue()
    place.turn(place.shop(types=sure))
    place.later(DAY + 60)
    mail = place.intent(intent).provider_message_id
    assert mail is not None
    ask(place, says(Found.FOUND, mail), types=sure)
    assert stands(intent)[3] == "not_confirmed"
    person_asks(place, intent)
    ask(place, says(Found.FOUND, mail, status=DeliveryStatus.DELIVERED), types=sure)
    assert stands(intent)[:2] == ("accepted", "delivered")


@pytest.mark.parametrize("event", [("email.complained", {}), ("email.bounced", PERMANENT), ("email.failed", FAILED)])
def test_no_milder_answer_overwrites_a_graver_word(provider: Provider, event: tuple[str, dict[str, object]]) -> None:
    """An answer that confirms delivery comes after the complaint, which moved the case already."""
    place, intent = provider.place, provider.accepted()
    mail = place.intent(intent).provider_message_id
    assert mail is not None
    told = says(Found.FOUND, mail, status=DeliveryStatus.DELIVERED)

    def complain() -> None:
        provider.say(event[0], intent, **event[1])
        provider.apply()

    told.before = complain
    person_asks(place, intent)
    ask(place, told)
    assert stands(intent)[:2] == ("needs_review", event[0].removeprefix("email."))


def test_the_log_says_that_it_was_an_answer_and_no_receipt(provider: Provider) -> None:
    place, intent = provider.place, provider.accepted()
    mail = place.intent(intent).provider_message_id
    assert mail is not None
    person_asks(place, intent)
    ask(place, says(Found.FOUND, mail, status=DeliveryStatus.DELIVERED))
    told = "\n".join(row[0] for row in place.sql("SELECT notifyops.explain(%s, '')", KEY, role="web"))
    assert "the answer says: delivered." in told
    line = story.lines(list(LogEntry.objects.filter(intent_id=intent).order_by("seq")))[-1]
    assert str(line.aside) == "from the provider's answer"
