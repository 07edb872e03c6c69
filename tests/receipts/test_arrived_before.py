"""What the recipient has already is not sent again, whichever generation brought it, and to whichever address."""

from __future__ import annotations

from typing import Any

import pytest

from notifications import doctor
from notifications.states import DeliveryStatus, EntryKind, Found, State
from reviews.refusals import NotAllowedNow
from tests.delivery.asking import DAY, KEY, ask, evidence, lost, person_asks, says
from tests.delivery.test_resends import order, undecided
from tests.receipts.post import FAILED, TRANSIENT, Provider, stands
from tests.reviews.deciding import NEW, correct, decide

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
STOPPED = ("needs_review", "accepted", "arrived_before", "close_duplicate")


def resent(provider: Provider, fault: str = "", status: int = 429) -> tuple[int, str]:
    """Let two persons resend one that did arrive; give it with the first message's id. `fault` meets the new one."""
    place = provider.place
    intent = undecided(place)
    order(place, intent)
    place.later(9)
    if fault:
        place.sandbox.fault(kind="status", status=status, name=fault, times=1)
    place.turn()
    assert place.intent(intent).generation == 2
    return intent, place.sandbox.ledger(KEY).ids[0]


def of_the_first(provider: Provider, event: str, intent: int, mail: str | None, **more: Any) -> None:
    """Say something about the first generation's message."""
    tags = {"site": "test", "intent": str(intent), "generation": "1"}
    provider.say(event, intent, email_id=mail, tags=tags, **more)
    provider.apply()


def why(intent: int) -> tuple[str, str | None, str | None, str | None]:
    state, _, known, code, action = stands(intent)
    return state, known, code, action


@pytest.mark.parametrize("name", ["rate_limit_exceeded", "daily_quota_exceeded"])
@pytest.mark.parametrize("event", ["email.delivered", "email.complained"])
def test_the_old_message_arrives_while_the_ordered_one_waits(provider: Provider, name: str, event: str) -> None:
    place = provider.place
    intent, mail = resent(provider, name)
    of_the_first(provider, event, intent, mail)
    assert why(intent) == STOPPED
    place.later(DAY + 120)
    place.turn()
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 0
    assert doctor.check_moved(0, limit=20_000)[0] == []
    with pytest.raises(NotAllowedNow):
        decide("retry", place.intent(intent), "olga", "provider_recovered", shift_s=place.shift_s)


def test_what_does_not_prove_arrival_lets_the_new_one_go(provider: Provider) -> None:
    place = provider.place
    intent, mail = resent(provider, "rate_limit_exceeded")
    of_the_first(provider, "email.bounced", intent, mail, **TRANSIENT)
    place.later(120)
    place.turn()
    assert stands(intent)[0] == "accepted"
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 1


def test_after_a_soft_bounce_and_a_retry_the_first_one_is_delivered_after_all(provider: Provider) -> None:
    place, intent = provider.place, provider.accepted()
    mail = place.intent(intent).provider_message_id
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused is None
    place.sandbox.fault(kind="status", status=429, name="daily_quota_exceeded", times=1)
    place.turn()
    assert (place.intent(intent).state, place.intent(intent).generation) == ("retry", 2)
    of_the_first(provider, "email.delivered", intent, mail)
    assert why(intent) == STOPPED
    place.later(DAY + 60)
    place.turn()
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 0


def test_one_that_failed_and_was_ordered_anew_is_delivered_before_it_leaves(provider: Provider) -> None:
    place, intent = provider.place, provider.accepted()
    provider.say("email.failed", intent, **FAILED)
    provider.apply()
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=8).refused is None
    provider.say("email.delivered", intent)
    provider.apply()
    assert why(intent) == STOPPED
    place.later(9)
    assert place.turn() == []


@pytest.mark.parametrize(("fault", "verb"), [("invalid_from_address", "retry"), ("", "retry"), ("", "correct")])
def test_a_person_cannot_send_on_beside_the_one_that_arrived(provider: Provider, fault: str, verb: str) -> None:
    """The new generation was refused, or came back; the old one was delivered before."""
    place = provider.place
    intent, mail = resent(provider, fault, 422)
    of_the_first(provider, "email.delivered", intent, mail)
    if not fault:
        provider.say("email.bounced", intent, **TRANSIENT)
        provider.apply()
    row = place.intent(intent)
    more = {"code": "provider_recovered"} if verb == "retry" else {"address": NEW}
    with pytest.raises(NotAllowedNow) as refused:
        decide(verb, row, shift_s=place.shift_s, **more)
    assert "has a message of this notification already" in str(refused.value)


def test_a_proof_that_settled_it_counts_as_one_that_came_beside(provider: Provider) -> None:
    place = provider.place
    intent = lost(place, arrived=True)
    provider.say("email.delivered", intent, email_id=place.sandbox.ledger("report-once/demo-001").ids[0])
    provider.apply()
    assert stands(intent)[:2] == ("accepted", "delivered")
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused == "arrived"


def test_the_old_address_gets_it_after_all_while_the_corrected_one_waits(provider: Provider) -> None:
    place, intent = provider.place, provider.accepted()
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    new = correct(place.intent(intent)).pk
    provider.say("email.delivered", intent)
    provider.apply()
    place.later(9)
    assert place.turn() == []
    assert why(new) == ("needs_review", "not_sent", "arrived_before", "close_duplicate")
    assert place.person(EntryKind.RETRIED, new, State.RETRY, delay_s=0).refused == "arrived"
    assert place.sandbox.ledger(f"{KEY}~a2").accepted == 0
    assert doctor.check_moved(0, limit=20_000)[0] == []


def test_a_corrected_address_gets_what_bounced_for_good_at_the_old_one(provider: Provider) -> None:
    """A server may take a message and send it back later: then nobody has it."""
    place, intent = provider.place, provider.accepted()
    provider.say("email.delivered", intent)
    provider.apply()
    provider.say("email.bounced", intent, bounce={"type": "Permanent", "subType": "General", "message": "550"})
    provider.apply()
    new = correct(place.intent(intent)).pk
    place.later(9)
    place.turn()
    assert stands(new)[0] == "accepted"


def test_what_is_found_of_the_old_generation_meanwhile_stops_the_new_one(provider: Provider) -> None:
    """The provider is asked about the first one, and the second one is made before it answers."""
    place = provider.place
    intent = undecided(place)
    order(place, intent)
    place.later(9)
    mail = place.sandbox.ledger(KEY).ids[0]
    place.sandbox.fault(kind="status", status=429, name="rate_limit_exceeded", times=1)
    person_asks(place, intent)
    told = says(Found.FOUND, mail, status=DeliveryStatus.DELIVERED)
    told.before = place.turn
    ask(place, told)
    assert evidence(place, intent)[-1][0] == "found"
    assert [entry["detail"].get("generation") for entry in place.log(intent) if entry["kind"] == "evidence"][-1] == 1
    assert why(intent) == STOPPED
    place.later(120)
    place.turn()
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 0


def test_what_was_given_up_for_lost_and_is_found_stops_the_new_one_at_its_claim(provider: Provider) -> None:
    """Not known to be delivered: but that it may be with nobody is why two persons ordered another one."""
    place = provider.place
    intent = undecided(place)
    order(place, intent)
    place.later(9)
    place.sandbox.fault(kind="status", status=429, name="rate_limit_exceeded", times=1)
    person_asks(place, intent)
    told = says(Found.FOUND, place.sandbox.ledger(KEY).ids[0], status=DeliveryStatus.NONE)
    told.before = place.turn
    ask(place, told)
    assert stands(intent)[0] == "retry"
    place.later(120)
    place.turn()
    assert why(intent) == STOPPED
    old = place.sandbox.ledger(KEY).ids[0]
    adopted = place.person(EntryKind.ADOPTED, intent, State.ACCEPTED, provider_message_id=old)
    assert adopted.refused == "no_evidence", "the old one's id is not the new generation's"


def test_an_order_that_was_put_off_beyond_its_half_hour_is_void(provider: Provider) -> None:
    place = provider.place
    intent, _ = resent(provider, "monthly_quota_exceeded")
    place.later(20 * DAY)
    place.sql("SELECT count(*) FROM notifyops_private.close_circuit_v1(%s)", place.account)
    place.turn()
    assert why(intent) == ("needs_review", "not_sent", "order_overdue", "ask_lead")
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 0


def test_the_other_id_under_one_key_is_not_adopted(provider: Provider) -> None:
    place, intent = provider.place, provider.accepted()
    first = place.intent(intent).provider_message_id
    place.later(300)
    person_asks(place, intent)
    ask(place, says(Found.FOUND, "5e9d-another"))
    with pytest.raises(NotAllowedNow):
        decide("adopt", place.intent(intent), "lena", "evidence_found", shift_s=place.shift_s)
    assert place.intent(intent).provider_message_id == first
    assert doctor.check_moved(0, limit=20_000)[0] == []
