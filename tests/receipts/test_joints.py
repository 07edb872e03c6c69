"""Where receipts meet what else is known of a message: the wish to be sure, and mail that was redirected."""

from __future__ import annotations

from dataclasses import replace

import pytest

from notifications.models import DeliveryBlock
from notifications.types import REPORT_READY, Registry
from tests.receipts.post import PERMANENT, TRANSIENT, Provider, stands
from tests.reviews.deciding import decide

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sure() -> Registry:
    """Give the types, of which `report_ready` wants to be sure."""
    types = Registry()
    types.add(replace(REPORT_READY, confirm=True))
    return types


def test_a_delivery_answers_the_wish_to_be_sure(provider: Provider, sure: Registry) -> None:
    intent = provider.place.enqueue()
    provider.place.turn(provider.place.shop(types=sure))
    assert provider.place.intent(intent).confirm_at is not None
    provider.say("email.delivery_delayed", intent)
    provider.apply(sure)
    assert provider.place.intent(intent).confirm_at is not None
    provider.say("email.delivered", intent)
    provider.apply(sure)
    row = provider.place.intent(intent)
    assert (row.delivery_status, row.confirm_at) == ("delivered", None)


def test_an_acceptance_that_a_receipt_proved_is_made_sure_of_like_any_other(provider: Provider, sure: Registry) -> None:
    intent = provider.place.enqueue()
    provider.place.sandbox.fault(stage="after_accept", kind="close", times=1)
    provider.place.turn(provider.place.shop(types=sure))
    assert provider.place.intent(intent).state == "retry"
    provider.say("email.sent", intent)
    provider.apply(sure)
    row = provider.place.intent(intent)
    assert row.state == "accepted"
    assert row.confirm_at is not None


def test_a_bounce_of_redirected_mail_says_nothing_of_the_recipients_address(provider: Provider) -> None:
    place = provider.place
    intent = place.enqueue()
    place.turn(place.shop(site_mode="redirect", redirect_to="team@example.com"))
    provider.say("email.bounced", intent, **PERMANENT)
    provider.apply()
    assert stands(intent)[0] == "needs_review"
    assert not DeliveryBlock.objects.exists()


def test_an_erased_address_is_not_blocked_by_what_a_receipt_says_of_it_later(provider: Provider) -> None:
    """Nobody knows the address any more: a block of nothing would hold all that were erased."""
    intent = provider.accepted()
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    row = provider.place.intent(intent)
    decide("withdraw", row, code="privacy_request", erase=True)
    provider.say("email.complained", intent)
    provider.apply()
    assert stands(intent)[:2] == ("cancelled", "complained")
    assert not DeliveryBlock.objects.exists()
