"""After a restore our own verified receipts prove what the provider cannot be asked about: a webhook repeated since."""

from __future__ import annotations

import pytest

from notifications.states import Found
from reviews.refusals import NotAllowedNow
from tests.delivery.asking import DAY, KEY, says
from tests.delivery.recovering import forgotten_send, opened, round_of_questions, tended, trouble
from tests.delivery.workplace import Workplace
from tests.intake.notify_cli import notify
from tests.receipts.post import TRANSIENT, Provider, parked, stands
from tests.receipts.test_after_a_restore import said
from tests.reviews.deciding import decide

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
# Every word about a message proves that it went out.
WORDS = ("email.sent", "email.opened", "email.delivered", "email.bounced", "email.complained")


def blind_recovery(place: Workplace) -> None:
    """Recover with a key that only sends: nothing of the lost time can be asked about."""
    place.later(2 * DAY)
    opened(place, 2 * DAY + 600)
    tended(place)
    place.later(130)
    round_of_questions(place, says(Found.UNAVAILABLE, code="lookup.no_key"))
    tended(place)
    assert trouble(place) is None


def came_back(provider: Provider) -> int:
    intent = provider.accepted()
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    return intent


def of_generation(provider: Provider, event: str, intent: int, mail: str, generation: int) -> None:
    said(provider, event, intent, mail, tags={"site": "test", "intent": str(intent), "generation": str(generation)})


def test_a_receipt_settles_what_waits_for_approval(provider: Provider) -> None:
    place = provider.place
    held = place.enqueue(kind="report_approved")
    key = str(place.intent(held).notification_id)
    mail = forgotten_send(place, held)
    blind_recovery(place)
    of_generation(provider, "email.delivered", held, mail, 1)
    assert (provider.apply(), parked()) == (1, 0)
    assert (*stands(held)[:2], place.intent(held).provider_message_id) == ("accepted", "delivered", mail)
    with pytest.raises(NotAllowedNow):
        decide("approve", place.intent(held), "lena", shift_s=place.shift_s)
    place.turn()
    assert place.sandbox.ledger(key).accepted == 1


def test_without_a_restore_a_receipt_proves_nothing_of_what_was_never_sent(provider: Provider) -> None:
    place = provider.place
    held = place.enqueue(kind="report_approved")
    mail = forgotten_send(place, held)
    of_generation(provider, "email.delivered", held, mail, 1)
    assert (provider.apply(), parked(), stands(held)[0]) == (0, 1, "needs_review")


@pytest.mark.parametrize("event", WORDS)
def test_a_receipt_of_a_forgotten_generation_stops_the_retry(provider: Provider, event: str) -> None:
    place, intent = provider.place, came_back(provider)
    mail = forgotten_send(place, intent, generation=2)
    blind_recovery(place)
    of_generation(provider, event, intent, mail, 2)
    assert (provider.apply(), parked()) == (1, 0)
    assert (stands(intent)[2], stands(intent)[3]) == ("accepted", "forgotten_message")
    with pytest.raises(NotAllowedNow, match="forgotten here"):
        decide("retry", place.intent(intent), "olga", "provider_recovered", shift_s=place.shift_s)
    place.later(9)
    place.turn()
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 1
    assert "showed a message of generation 2, which is forgotten here" in notify("explain", KEY).out


def test_what_was_ordered_again_meanwhile_is_stopped_too(provider: Provider) -> None:
    place, intent = provider.place, came_back(provider)
    mail = forgotten_send(place, intent, generation=2)
    blind_recovery(place)
    decide("retry", place.intent(intent), "olga", "provider_recovered", shift_s=place.shift_s)
    of_generation(provider, "email.sent", intent, mail, 2)
    provider.apply()
    place.later(9)
    place.turn()
    assert (stands(intent)[0], stands(intent)[3]) == ("needs_review", "forgotten_message")
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 1


def test_what_else_is_said_of_it_is_kept_and_moves_nothing(provider: Provider) -> None:
    place, intent = provider.place, came_back(provider)
    mail = forgotten_send(place, intent, generation=2)
    blind_recovery(place)
    for event in ("email.delivered", "email.opened", "email.complained"):
        of_generation(provider, event, intent, mail, 2)
        provider.apply()
    assert (stands(intent)[3], parked()) == ("forgotten_message", 0)
    assert place.kinds(intent)[-2:] == ["contradicted", "receipt"]
    told = place.log(intent)[-1]["detail"]
    assert (told["says"], told["generation"]) == ("complained", 2)


def test_what_was_accepted_stays_so_and_no_retry_is_open_once_it_comes_back(provider: Provider) -> None:
    place, intent = provider.place, provider.accepted()
    mail = forgotten_send(place, intent, generation=2)
    blind_recovery(place)
    of_generation(provider, "email.opened", intent, mail, 2)
    assert (provider.apply(), parked(), stands(intent)[0]) == (1, 0, "accepted")
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    with pytest.raises(NotAllowedNow, match="forgotten here"):
        decide("retry", place.intent(intent), "olga", "provider_recovered", shift_s=place.shift_s)
