"""A block holds in the site mode in which it was learned: the sandbox's bounces keep no mail from people."""

from __future__ import annotations

import pytest

from notifications.models import DeliveryBlock
from notifications.states import DeliveryStatus, Found
from tests.delivery.asking import ask, lost, says
from tests.delivery.workplace import Workplace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
MODES = ["sandbox", "live"]


def bounced_in(place: Workplace, mode: str) -> None:
    intent = place.enqueue("bounced")
    place.sandbox.fault(stage="after_accept", kind="close", times=1)
    shop = place.shop(site_mode=mode)
    place.turn(shop)
    place.later(120)
    place.turn(shop)
    mail = place.intent(intent).provider_message_id
    assert mail is not None
    place.sql(
        "INSERT INTO notifyops_private.notifications_question (intent_id, account_id, about, since, due_at, wanted_at)"
        " VALUES (%s, %s, 'person', now(), now(), now())",
        intent,
        place.account,
    )
    ask(place, says(Found.FOUND, mail, status=DeliveryStatus.BOUNCED), mode=mode)
    assert list(DeliveryBlock.objects.values_list("site_mode", "reason")) == [(mode, "bounced")]


@pytest.mark.parametrize("learned_in", MODES)
@pytest.mark.parametrize("sent_in", MODES)
def test_a_bounce_blocks_the_address_in_its_own_mode_alone(place: Workplace, learned_in: str, sent_in: str) -> None:
    bounced_in(place, learned_in)
    intent = place.enqueue("next")
    place.turn(place.shop(site_mode=sent_in))
    row = place.intent(intent)
    if sent_in == learned_in:
        assert (row.state, row.error_code) == ("needs_review", "address_bounced")
    else:
        assert row.state == "accepted"


@pytest.mark.parametrize("mode", [*MODES, "redirect"])
def test_a_recipients_own_wish_holds_in_every_mode_and_before_a_bounce(place: Workplace, mode: str) -> None:
    if mode != "redirect":
        bounced_in(place, mode)
    intent = place.enqueue("next")
    place.sql(
        "INSERT INTO notifyops_private.notifications_deliveryblock (channel, commitment, scope, reason) "
        "SELECT 'email', commitment, '', 'unsubscribed' FROM notifyops_private.notifications_content "
        "WHERE intent_id = %s",
        intent,
    )
    place.turn(place.shop(site_mode=mode, redirect_to="team@example.com"))
    assert (place.intent(intent).state, place.intent(intent).error_code) == ("cancelled", "unsubscribed")


def test_what_was_learned_of_redirected_mail_blocks_nobody(place: Workplace) -> None:
    intent = place.enqueue()
    place.sandbox.fault(stage="after_accept", kind="close", times=1)
    place.turn(place.shop(site_mode="redirect", redirect_to="team@example.com"))
    place.later(86_400)
    place.turn(place.shop(site_mode="redirect", redirect_to="team@example.com"))
    ask(place, says(Found.FOUND, "id-1", status=DeliveryStatus.COMPLAINED), mode="redirect")
    assert place.intent(intent).error_code == "complained"
    assert not DeliveryBlock.objects.exists()


def test_lost_elsewhere_says_the_one_way_out(place: Workplace) -> None:
    """Its provider cannot be asked from here: the answer says so, and what to do."""
    from notifications.policy.codes import LOOKUP_CODES

    intent = lost(place, arrived=True)
    place.later(180)
    ask(place, mode="live")
    code = place.log(intent)[-1]["code"]
    assert code == "lookup.other_mode"
    assert "close the case with what you know" in LOOKUP_CODES[code]
    assert "NOTIFYOPS_SITE_MODE" in LOOKUP_CODES[code]
