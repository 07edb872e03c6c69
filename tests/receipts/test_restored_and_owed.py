"""After a restore a receipt of our own stops at once what is out and owed again, whatever let it be so."""

from __future__ import annotations

import pytest

from notifications.states import Found
from tests.delivery.asking import DAY, says, witnessed
from tests.delivery.recovering import forgotten_send, opened, recovered
from tests.receipts.post import PERMANENT, Provider, parked, stands
from tests.receipts.test_after_a_restore import said
from tests.receipts.test_restored_receipts import WORDS, blind_recovery, of_generation
from tests.reviews.deciding import decide

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
_WAIVE = "SELECT notifyops_private.waive_recovery_v1('test', 'cli:lena@host', 'Planned switch; nothing was lost.')"


def approved_again(provider: Provider, *, generation: int = 1) -> tuple[int, str, str]:
    """Give what went out in the forgotten time and a lead has released again since, its key, and the mail's id."""
    place = provider.place
    held = place.enqueue(kind="report_approved")
    mail = forgotten_send(place, held, generation=generation)
    blind_recovery(place)
    decide("approve", place.intent(held), "lena", shift_s=place.shift_s)
    assert stands(held)[0] == "pending"
    return held, str(place.intent(held).notification_id), mail


@pytest.mark.parametrize("event", [word for word in WORDS if word != "email.bounced"])
def test_what_was_approved_again_does_not_go_out_twice(provider: Provider, event: str) -> None:
    held, key, mail = approved_again(provider)
    of_generation(provider, event, held, mail, 1)
    assert (provider.apply(), parked()) == (1, 0)
    assert (provider.place.kinds(held)[-2:], provider.place.intent(held).provider_message_id) == (
        ["restored", "settled"] if event != "email.complained" else ["settled", "receipt"],
        mail,
    )
    provider.place.later(9)
    assert provider.place.turn() == []
    assert provider.place.sandbox.ledger(key).accepted == 1


def test_what_came_back_of_it_is_a_case(provider: Provider) -> None:
    held, key, mail = approved_again(provider)
    tags = {"site": "test", "intent": str(held), "generation": "1"}
    said(provider, "email.bounced", held, mail, tags=tags, **PERMANENT)
    provider.apply()
    assert (stands(held)[:2], parked()) == (("needs_review", "bounced"), 0)
    provider.place.later(9)
    provider.place.turn()
    assert provider.place.sandbox.ledger(key).accepted == 1


def test_a_later_generation_that_is_forgotten_stops_it_too(provider: Provider) -> None:
    held, key, mail = approved_again(provider, generation=2)
    of_generation(provider, "email.delivered", held, mail, 2)
    provider.apply()
    assert (stands(held)[0], stands(held)[3], parked()) == ("needs_review", "forgotten_message", 0)
    provider.place.later(9)
    provider.place.turn()
    assert provider.place.sandbox.ledger(key).accepted == 0


def test_a_receipt_without_the_messages_id_stops_it_all_the_same(provider: Provider) -> None:
    held, key, _mail = approved_again(provider)
    said(provider, "email.delivered", held, "", tags={"site": "test", "intent": str(held), "generation": "1"})
    provider.apply()
    assert (stands(held)[0], stands(held)[3], parked()) == ("needs_review", "restored", 1)
    provider.place.later(9)
    provider.place.turn()
    assert provider.place.sandbox.ledger(key).accepted == 1


def test_a_waived_recovery_does_not_make_deaf(provider: Provider) -> None:
    place = provider.place
    intent = place.enqueue()
    mail = forgotten_send(place, intent)
    place.later(2 * DAY)
    opened(place, 2 * DAY + 600)
    assert place.sql(_WAIVE, role="web")
    of_generation(provider, "email.delivered", intent, mail, 1)
    provider.apply()
    assert (stands(intent)[:2], parked()) == (("accepted", "delivered"), 0)
    place.turn()
    assert place.sandbox.ledger(str(place.intent(intent).notification_id)).accepted == 1


def test_what_the_providers_lagging_no_gave_back_is_stopped_by_its_receipt(provider: Provider) -> None:
    place = provider.place
    witnessed(place)
    intent = place.enqueue("demo-009")
    mail = forgotten_send(place, intent)
    place.later(2 * DAY)
    recovered(place, says(Found.NOT_FOUND), ago_s=2 * DAY + 600)
    assert (place.kinds(intent)[-1], stands(intent)[0]) == ("freed", "pending")
    of_generation(provider, "email.delivered", intent, mail, 1)
    provider.apply()
    assert stands(intent)[:2] == ("accepted", "delivered")
    place.turn()
    assert place.sandbox.ledger(str(place.intent(intent).notification_id)).accepted == 1
