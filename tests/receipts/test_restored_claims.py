"""In a restored database the claim itself asks what was heard: nothing goes out between a receipt and its entry."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from notifications.models import DeliveryBlock
from notifications.states import Found
from tests.delivery.asking import DAY, KEY, says, witnessed
from tests.delivery.recovering import forgotten_send, opened, recovered, trouble
from tests.receipts.post import PERMANENT, Provider, parked, stands
from tests.receipts.test_after_a_restore import said
from tests.receipts.test_restored_and_owed import _WAIVE, approved_again
from tests.receipts.test_restored_receipts import blind_recovery, of_generation

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_what_was_received_and_not_applied_yet_stops_the_claim(provider: Provider) -> None:
    """The receipt is kept in the very second of the claim; its chore comes a second later."""
    held, key, mail = approved_again(provider)
    of_generation(provider, "email.delivered", held, mail, 1)
    provider.place.later(9)
    assert provider.place.turn() == []
    assert (stands(held)[0], stands(held)[3], parked()) == ("needs_review", "restored", 1)
    provider.apply()
    assert (stands(held)[:2], provider.place.intent(held).provider_message_id) == (("accepted", "delivered"), mail)
    assert provider.place.sandbox.ledger(key).accepted == 1


def test_what_comes_back_of_it_blocks_its_address_in_its_own_mode_alone(provider: Provider) -> None:
    held, _key, mail = approved_again(provider)
    tags = {"site": "test", "intent": str(held), "generation": "1"}
    said(provider, "email.bounced", held, mail, tags=tags, **PERMANENT)
    provider.place.later(9)
    assert provider.place.turn(provider.place.shop(site_mode="sandbox")) == []
    provider.apply()
    assert list(DeliveryBlock.objects.values_list("site_mode", "reason")) == [("sandbox", "bounced")]


def test_a_later_generation_heard_of_while_a_call_runs_stops_what_follows_it(provider: Provider) -> None:
    """The call was refused for now, so that it would be claimed again before the receipt is looked at once more."""
    place = provider.place
    witnessed(place)
    intent = place.enqueue()
    recovered(place)
    assert stands(intent)[0] == "pending"
    mail = forgotten_send(place, intent, generation=2)
    place.sandbox.fault(stage="before_accept", kind="status", status=429, name="rate_limit_exceeded", times=1)
    leases = place.claim()
    of_generation(provider, "email.delivered", intent, mail, 2)
    provider.apply()
    assert (len(leases), parked(), stands(intent)[0]) == (1, 1, "sending")
    place.later(61)
    place.turn()
    assert (stands(intent)[0], stands(intent)[3]) == ("needs_review", "restored")
    assert place.sandbox.ledger(KEY).accepted == 0
    provider.apply()
    assert stands(intent)[3] == "forgotten_message"


def test_a_lagging_no_frees_nothing_of_which_a_receipt_lies_here(provider: Provider) -> None:
    place = provider.place
    witnessed(place)
    intent = place.enqueue()
    mail = forgotten_send(place, intent)
    of_generation(provider, "email.delivered", intent, mail, 1)
    provider.apply()
    place.later(2 * DAY)
    recovered(place, says(Found.NOT_FOUND), ago_s=2 * DAY + 600)
    assert (stands(intent)[0], stands(intent)[3]) == ("needs_review", "restored")
    place.later(61)
    provider.apply()
    assert stands(intent)[:2] == ("accepted", "delivered")


def test_while_a_recovery_is_open_a_loop_that_has_not_looked_yet_claims_nothing(provider: Provider) -> None:
    place = provider.place
    intent = place.enqueue()
    opened(place)
    assert place.claim() == []
    assert (stands(intent)[0], trouble(place)) == ("pending", "recovering")


def test_another_sites_word_and_one_from_before_the_intent_stop_nothing(provider: Provider) -> None:
    place = provider.place
    held, key, mail = approved_again(provider)
    tags = {"intent": str(held), "generation": "1"}
    early = (datetime.now(UTC) - timedelta(days=30)).isoformat()
    for site, at in (("elsewhere", datetime.now(UTC).isoformat()), ("test", early)):
        body = provider.event("email.sent", data={"email_id": mail, "tags": tags | {"site": site}}, created_at=at)
        assert provider.post(json.dumps(body).encode()) == 200
    place.later(9)
    assert len(place.turn()) == 1
    assert place.sandbox.ledger(key).http_requests == 2


def test_a_waiver_brings_what_is_parked_forward(provider: Provider) -> None:
    """Put off for up to a minute while nobody could place it; the loops go on within five seconds."""
    place = provider.place
    intent = place.enqueue()
    mail = forgotten_send(place, intent)
    of_generation(provider, "email.delivered", intent, mail, 1)
    for _ in range(9):
        provider.apply()
        place.later(45)
    place.later(2 * DAY)
    provider.apply()
    opened(place, 3 * DAY)
    place.sql(
        "UPDATE notifyops_private.notifications_parkedreceipt SET due_at = due_at + interval '1 h'",
    )
    assert place.sql(_WAIVE, role="web")
    assert (provider.apply(), stands(intent)[:2]) == (1, ("accepted", "delivered"))
    assert place.turn() == []


def test_the_end_of_a_recovery_brings_it_forward_too(provider: Provider) -> None:
    place = provider.place
    intent = place.enqueue(kind="report_approved")
    mail = forgotten_send(place, intent)
    of_generation(provider, "email.delivered", intent, mail, 1)
    provider.apply()
    place.sql("UPDATE notifyops_private.notifications_parkedreceipt SET due_at = due_at + interval '9 days'")
    blind_recovery(place)
    assert (provider.apply(), stands(intent)[:2]) == (1, ("accepted", "delivered"))
