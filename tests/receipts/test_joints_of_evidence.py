"""Where receipts, look-ups, late answers and persons' orders meet about one message."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from notifications.states import DeliveryStatus, EntryKind, Found, State
from reviews.actions import perform
from reviews.person import from_host
from reviews.refusals import NotAllowedNow
from tests.delivery.asking import DAY, ask, evidence, lost, person_asks, retry, says
from tests.delivery.workplace import sent_all
from tests.receipts.post import FAILED, PERMANENT, TRANSIENT, Provider, stands
from tests.reviews.cases import order

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
KEY = "report-ready/demo-001"
ONCE = "report-once/demo-001"


def bouncing(provider: Provider, intent: int, mail: str) -> Callable[[], None]:
    """Give what makes a bounce come in and be applied."""

    def bounce() -> None:
        provider.say("email.bounced", intent, email_id=mail, **PERMANENT)
        provider.apply()

    return bounce


def second_generation_lost(provider: Provider, stage: str = "after_accept") -> int:
    """Give an intent whose first message soft-bounced and whose second one's answer was lost."""
    place, intent = provider.place, provider.accepted()
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused is None
    place.sandbox.fault(stage=stage, kind="close", times=1)
    place.turn()
    row = place.intent(intent)
    assert (row.state, row.generation, row.known) == ("needs_review", 2, "unknown")
    return intent


def test_a_second_generation_is_looked_for_by_its_own_message(provider: Provider) -> None:
    place, intent = provider.place, second_generation_lost(provider)
    place.later(300)
    ask(place)
    assert place.intent(intent).state == "accepted"
    assert place.intent(intent).provider_message_id == place.sandbox.ledger(f"{KEY}~g2").ids[0]


def test_the_first_generations_message_is_not_adopted_for_the_second(provider: Provider) -> None:
    place, intent = provider.place, second_generation_lost(provider, "before_accept")
    old = place.sandbox.ledger(KEY).ids[0]
    place.sql("UPDATE notifyops_private.notifications_prepared SET body = NULL, subject = NULL")
    place.later(300)
    person_asks(place, intent)
    ask(place)
    assert place.person(EntryKind.ADOPTED, intent, State.ACCEPTED, provider_message_id=old).refused == "no_evidence"


@pytest.mark.parametrize("words", [("email.bounced", TRANSIENT), ("email.failed", FAILED)], ids=["soft", "failed"])
@pytest.mark.parametrize("later_s", [0, DAY + 3600])
def test_what_came_back_is_made_anew_also_after_a_block_stopped_the_retry(
    provider: Provider, words: tuple[str, dict[str, object]], later_s: float
) -> None:
    place, intent = provider.place, provider.accepted()
    other = provider.accepted("demo-002")
    provider.say(words[0], intent, **words[1])
    provider.apply()
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=8).refused is None
    provider.say("email.bounced", other, **PERMANENT)
    provider.apply()
    place.later(10)
    place.turn()
    assert stands(intent)[0] == "needs_review"
    place.later(later_s)
    place.sql("DELETE FROM notifyops_private.notifications_deliveryblock")
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused is None
    place.turn()
    assert (place.sandbox.ledger(KEY).accepted, place.sandbox.ledger(f"{KEY}~g2").accepted) == (1, 1)


@pytest.mark.parametrize("when", ["before the order", "after it"])
def test_what_was_delivered_after_a_soft_bounce_is_not_sent_anew(provider: Provider, when: str) -> None:
    place, intent = provider.place, provider.accepted()
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    early = when == "before the order"
    if early:
        provider.say("email.delivered", intent)
        provider.apply()
    refused = place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=8).refused
    assert refused == ("arrived" if early else None)
    if early:
        row = place.intent(intent)
        with pytest.raises(NotAllowedNow, match="The recipient has a message of this notification already"):
            perform("retry", intent, order(row, "provider_recovered"), from_host())
    if not early:
        provider.say("email.delivered", intent)
        provider.apply()
        assert stands(intent)[:2] == ("accepted", "delivered")
    place.later(10)
    place.turn()
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 0


def test_what_was_delivered_while_closed_is_not_retried_when_reopened(provider: Provider) -> None:
    place = provider.place
    intent = place.enqueue(kind="report_alarm")
    place.sandbox.fault(stage="after_accept", kind="close", times=1)
    place.turn()
    place.person(EntryKind.CLOSED, intent, State.CLOSED)
    mail = place.sandbox.ledger("report-alarm/demo-001").ids[0]
    provider.say("email.delivered", intent, email_id=mail)
    provider.apply()
    place.person(EntryKind.REOPENED, intent, State.NEEDS_REVIEW, code="reopened", next_action="ask_lead")
    assert place.intent(intent).known == "accepted"
    assert retry(place, intent, "provider_recovered") == "known"


def test_a_look_up_that_was_under_way_does_not_close_the_bounce_that_came_meanwhile(provider: Provider) -> None:
    place = provider.place
    intent = lost(place, arrived=True)
    place.later(180)
    mail = place.sandbox.ledger(ONCE).ids[0]
    told = says(Found.FOUND, mail, status=DeliveryStatus.DELIVERED)
    told.before = bouncing(provider, intent, mail)
    ask(place, told)
    assert stands(intent)[:4] == ("needs_review", "bounced", "bounced", "bounced")


def test_a_late_acceptance_does_not_close_a_bounce(provider: Provider) -> None:
    place = provider.place
    intent = place.enqueue(kind="report_once")
    (old,) = place.claim(worker="w1")
    sent = place.play(sent_all(place.shop(), [old]))
    place.later(61)
    place.claim(worker="w2")
    bouncing(provider, intent, place.sandbox.ledger(ONCE).ids[0])()
    place.record(sent, worker="w1")
    assert stands(intent)[:3] == ("needs_review", "bounced", "bounced")


def test_a_late_answer_settles_its_own_generation_only(provider: Provider) -> None:
    place = provider.place
    intent = place.enqueue()
    (old,) = place.claim(worker="w1")
    sent = place.play(sent_all(place.shop(), [old]))
    place.later(61)
    place.turn(worker="w2")
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0)
    place.sandbox.fault(kind="status", status=429, name="rate_limit_exceeded", match="~g2")
    place.turn(worker="w2")
    place.record(sent, worker="w1")
    assert place.intent(intent).state == "retry"
    assert place.log(intent)[-1]["detail"]["generation"] == 1


def test_a_provider_of_another_site_mode_is_not_asked(provider: Provider) -> None:
    place = provider.place
    intent = place.enqueue(kind="report_once")
    place.sandbox.fault(stage="after_accept", kind="close", times=1)
    place.turn(place.shop(site_mode="live"))
    place.later(180)
    ask(place, mode="sandbox")
    assert evidence(place, intent) == [("unavailable", "lookup.other_mode")]
    assert place.intent(intent).state == "needs_review"


def test_leases_that_wait_are_given_back_where_the_account_was_closed_meanwhile(provider: Provider) -> None:
    """Without it each lease in memory would run into the refusal: a hundred cases instead of those under way."""
    place = provider.place
    place.enqueue_many(200)
    place.sandbox.fault(kind="status", status=403, name="invalid_api_key", times=None, skip=60)
    shop = place.shop(concurrency=4)
    place.run(shop, until=lambda: bool(shop.stopped), budget_s=30.0)
    states = list(place.states().values())
    assert states.count("needs_review") <= 3 + 4 + 4  # what opened it, the places, and the reserve with what raced
    assert states.count("accepted") == 60
    ((opens_s, failures),) = place.sql(
        "SELECT extract(epoch FROM open_until - notifyops_private.clock_v1())::float, config_failures "
        "FROM notifyops_private.notifications_circuit"
    )
    assert (0 < opens_s <= 31, failures) == (True, 3)
