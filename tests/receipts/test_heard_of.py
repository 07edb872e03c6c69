"""Every word that a message arrived counts, whoever says it, of whichever generation, and at whichever address."""

from __future__ import annotations

import pytest

from notifications import doctor, outbox
from notifications.door import Entry, append_call
from notifications.states import EntryKind, State
from reviews.refusals import NotAllowedNow
from tests.delivery.asking import KEY
from tests.delivery.test_resends import order
from tests.delivery.workplace import Workplace
from tests.receipts.post import TRANSIENT, Provider, stands
from tests.receipts.test_arrived_before import STOPPED, of_the_first, resent, why
from tests.reviews.deciding import correct, decide

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
QUIET = ["email.opened", "email.clicked", "email.sent", "email.delivery_delayed"]


def refused(place: Workplace, intent: int, mode: str | None = None) -> str | None:
    """Let one person order a retry in a site mode; give the door's word of refusal."""
    entry = Entry(intent, State.RETRY, seq=place.intent(intent).seq, reason_code="checked", delay_s=0, site_mode=mode)
    query, values = append_call(EntryKind.RETRIED, [entry], actor="user:olga")
    ((answer,),) = [row[-1:] for row in place.sql(query.replace("%b", "%s"), *values, role="web")]
    return None if answer is None else str(answer)


def soft_bounced(provider: Provider) -> int:
    intent = provider.accepted()
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    return intent


def outcomes(place: Workplace) -> list[str]:
    """Give what the feed says of it."""
    for _ in range(4):
        place.sql("SELECT notifyops_private.advance_horizon_v1()")
    return [row[0] for row in place.sql(
        "SELECT outcome FROM notifyops_private.outcomes_v1(0, NULL, 1000, NULL) WHERE notification_id = %s", KEY)
    ]  # fmt: skip


@pytest.mark.parametrize("event", QUIET)
def test_of_what_was_given_up_it_is_enough_that_the_provider_has_it(provider: Provider, event: str) -> None:
    place = provider.place
    intent, mail = resent(provider, "rate_limit_exceeded")
    of_the_first(provider, event, intent, mail)
    assert why(intent) == STOPPED
    place.later(120)
    place.turn()
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 0


@pytest.mark.parametrize("event", QUIET)
def test_it_bars_a_retry_where_the_new_one_is_a_case_already(provider: Provider, event: str) -> None:
    intent, mail = resent(provider, "invalid_from_address", 422)
    of_the_first(provider, event, intent, mail)
    of_the_first(provider, event, intent, mail)
    place = provider.place
    assert refused(place, intent) == "arrived"
    with pytest.raises(NotAllowedNow, match="has a message of this notification already"):
        decide("retry", place.intent(intent), "olga", "configuration_fixed", shift_s=place.shift_s)
    told = [one for one in place.log(intent) if one["kind"] == "receipt"]
    assert len(told) == (1 if event in ("email.opened", "email.clicked") else 2)


@pytest.mark.parametrize("event", ["email.opened", "email.delivered"])
def test_what_came_back_and_is_heard_to_have_arrived_is_a_leads_matter(provider: Provider, event: str) -> None:
    place, intent = provider.place, soft_bounced(provider)
    provider.say(event, intent)
    provider.apply()
    assert stands(intent) == ("needs_review", "soft_bounced", "soft_bounced", "soft_bounced", "ask_lead")
    assert refused(place, intent) == "arrived"
    order(place, intent)
    place.later(9)
    place.turn()
    assert (stands(intent)[0], place.sandbox.ledger(f"{KEY}~g2").accepted) == ("accepted", 1), "two overrule it"
    assert doctor.check_moved(0, limit=20_000)[0] == []


def test_what_arrived_and_came_back_later_is_suggested_to_a_lead(provider: Provider) -> None:
    intent = provider.accepted()
    provider.say("email.delivered", intent)
    provider.apply()
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    assert stands(intent)[2:] == ("soft_bounced", "soft_bounced", "ask_lead")


def test_a_new_word_of_arrival_voids_the_order_of_two(provider: Provider) -> None:
    place, intent = provider.place, soft_bounced(provider)
    provider.say("email.delivered", intent)
    provider.apply()
    order(place, intent)
    provider.say("email.clicked", intent)
    provider.apply()
    place.later(9)
    place.turn()
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 0
    assert stands(intent)[0] == "accepted"


def test_what_was_delivered_elsewhere_bars_nothing_here(provider: Provider) -> None:
    """The sandbox's word, or that of the address to which all was redirected, says nothing of the recipient."""
    place = provider.place
    intent = place.enqueue()
    place.turn(place.shop(site_mode="sandbox"))
    for event, more in (("email.bounced", TRANSIENT), ("email.delivered", {})):
        provider.say(event, intent, **more)
        provider.apply()
    assert refused(place, intent, "sandbox") == "arrived"
    assert refused(place, intent, "live") is None
    place.turn(place.shop(site_mode="live"))
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 1


@pytest.mark.parametrize("heard", [True, False])
def test_the_message_to_the_corrected_address_bars_the_old_one(provider: Provider, heard: bool) -> None:
    place, old = provider.place, soft_bounced(provider)
    new = correct(place.intent(old)).pk
    place.later(9)
    place.sandbox.fault(stage="after_accept", kind="close", times=1)
    place.turn()
    assert outbox.cancel(KEY, "ordered in error").outcome == "cancelled_maybe_sent"
    if heard:
        provider.say("email.delivered", new, email_id=place.sandbox.ledger(f"{KEY}~a2").ids[0])
        provider.apply()
    decide("reopen", place.intent(old), "lena", "closed_by_mistake", shift_s=place.shift_s)
    assert refused(place, old) == ("arrived" if heard else "given_up")
    order(place, old)
    place.later(9)
    place.turn()
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 1
    assert doctor.check_moved(0, limit=20_000)[0] == []


def test_two_leads_may_overrule_that_the_wrong_mailbox_has_it(provider: Provider) -> None:
    place, old = provider.place, soft_bounced(provider)
    new = correct(place.intent(old)).pk
    provider.say("email.delivered", old)
    provider.apply()
    place.later(9)
    place.turn()
    assert why(new) == ("needs_review", "not_sent", "arrived_before", "close_duplicate")
    assert refused(place, new) == "arrived"
    order(place, new)
    place.later(9)
    place.turn()
    assert stands(new)[0] == "accepted"
    assert sum(place.sandbox.ledger(f"{KEY}~a2{tail}").accepted for tail in ("", "~g2")) == 1
    assert doctor.check_moved(0, limit=20_000)[0] == []


@pytest.mark.parametrize("event", ["email.delivered", "email.complained", "email.sent"])
def test_a_second_copy_stops_a_retry_that_waits(provider: Provider, event: str) -> None:
    place, intent = provider.place, soft_bounced(provider)
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=8).refused is None
    provider.say(event, intent, email_id="5e9d-second-copy")
    provider.apply()
    assert why(intent) == ("needs_review", "accepted", "second_message", "close_duplicate")
    place.later(9)
    assert place.turn() == []


@pytest.mark.parametrize(("event", "outcome"), [("email.complained", "complained"), ("email.opened", "delivered")])
def test_what_stops_a_newer_generation_is_in_the_feed(provider: Provider, event: str, outcome: str) -> None:
    intent, mail = resent(provider, "rate_limit_exceeded")
    of_the_first(provider, event, intent, mail)
    assert why(intent) == STOPPED
    assert outcomes(provider.place)[-1] == outcome
