"""A resend that two persons ordered, through the loop and the provider: one new key, and the old one stays a fact."""

from __future__ import annotations

import pytest

from notifications import doctor, outbox
from notifications.models import Prepared
from notifications.states import EntryKind, Found, State
from tests.delivery.asking import DAY, KEY, ask, past_the_window, says
from tests.delivery.workplace import Workplace, sent_all
from tests.receipts.conftest import provider
from tests.receipts.post import Provider, stands
from tests.reviews.cases import login
from tests.reviews.deciding import decide

__all__ = ["provider"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def undecided(place: Workplace, *, arrived: bool = True) -> int:
    """Give an intent past its window, about which the provider cannot tell."""
    intent = past_the_window(place, arrived=arrived)
    place.later(300)
    ask(place, says(Found.INCONCLUSIVE, code="lookup.page_cap"))
    return intent


def order(place: Workplace, intent: int) -> None:
    """Let one lead ask and another one confirm."""
    row = place.intent(intent)
    decide("resend", row, "lena", typed=row.report_id, confirmed=True, shift_s=place.shift_s)
    decide("approve", place.intent(intent), "bob_lead", confirmed=True, shift_s=place.shift_s)


def test_it_goes_out_once_under_a_new_key_and_says_so(place: Workplace) -> None:
    intent = undecided(place)
    order(place, intent)
    assert place.turn() == [], "eight seconds for an undo"
    place.later(9)
    (sent,) = place.turn()
    assert (sent.lease.key, sent.lease.generation) == (f"{KEY}~g2", 2)
    row = place.intent(intent)
    assert (row.state, row.generation, row.safe_until, row.first_ambiguous_at) == ("accepted", 2, None, None)
    assert (place.sandbox.ledger(KEY).accepted, place.sandbox.ledger(f"{KEY}~g2").accepted) == (1, 1)
    claim = [entry for entry in place.log(intent) if entry["kind"] == "claimed"][-1]
    assert (claim["trigger"], claim["detail"]["possible_duplicate"]) == ("manual", True)
    assert Prepared.objects.filter(intent_id=intent).count() == 2


def test_an_undone_order_sends_nothing_and_is_used_up(place: Workplace) -> None:
    intent = undecided(place)
    order(place, intent)
    row = place.intent(intent)
    decide("undo", row, "bob_lead", "clicked_by_mistake", shift_s=place.shift_s)
    place.later(9)
    assert place.turn() == []
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 0
    done = place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0.0, by="user:bob_lead")
    assert done.refused == "window_over"


def test_it_buys_one_generation_and_one_attempt_that_no_one_person_repeats(place: Workplace) -> None:
    intent = undecided(place)
    order(place, intent)
    place.later(9)
    place.sandbox.fault(stage="after_accept", kind="close", times=1)
    place.turn()
    row = place.intent(intent)
    assert (row.state, row.generation, row.known) == ("needs_review", 2, "unknown"), "one order, one attempt"
    assert row.safe_until is not None
    done = place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0.0)
    assert done.refused == "given_up", "also inside the new key's own window: the old one is in doubt"
    place.later(120)
    ask(place, says(Found.FOUND, place.sandbox.ledger(f"{KEY}~g2").ids[0]))
    assert (place.intent(intent).state, place.sandbox.ledger(f"{KEY}~g2").accepted) == ("accepted", 1)


def test_one_that_a_rate_limit_put_off_stays_the_same_generation(place: Workplace) -> None:
    intent = undecided(place)
    order(place, intent)
    place.later(9)
    place.sandbox.fault(kind="status", status=429, name="rate_limit_exceeded", times=1)
    place.turn()
    place.later(120)
    place.turn()
    row = place.intent(intent)
    assert (row.state, row.generation) == ("accepted", 2)
    assert place.sandbox.ledger(f"{KEY}~g3").http_requests == 0


def test_one_whose_account_was_refused_with_it_goes_out_once_the_account_is_mended(place: Workplace) -> None:
    """It was put off behind the account's first refusals: nothing counted against it, and the order stands."""
    intent = undecided(place)
    order(place, intent)
    place.later(9)
    place.sql(
        "INSERT INTO notifyops_private.notifications_circuit (account_id, open_until, reason, config_failures) "
        "VALUES (%s, notifyops_private.clock_v1() - interval '1 s', 'config', 3) ON CONFLICT (account_id) DO UPDATE "
        "SET open_until = excluded.open_until, reason = 'config', config_failures = 3",
        place.account,
    )
    place.sandbox.fault(kind="status", status=401, name="invalid_api_key", times=1)
    place.turn()
    row = place.intent(intent)
    assert (row.state, row.manual, row.generation) == ("retry", True, 2)
    place.later(1500)
    place.turn()
    claim = [entry for entry in place.log(intent) if entry["kind"] == "claimed"][-1]
    assert (place.intent(intent).state, claim["trigger"]) == ("accepted", "manual")
    assert doctor.check_moved(0, limit=20_000)[0] == []


def test_a_standstill_of_half_an_hour_brings_it_back_to_a_person(place: Workplace) -> None:
    intent = undecided(place)
    order(place, intent)
    place.later(1900)
    assert place.turn() == []
    assert (place.intent(intent).state, place.intent(intent).error_code) == ("needs_review", "window_over")


def test_what_is_found_before_it_leaves_settles_it_and_nothing_is_sent(place: Workplace) -> None:
    intent = undecided(place)
    order(place, intent)
    place.sql("UPDATE notifyops_private.notifications_question SET wanted_by = 'user:olga', "
              "wanted_at = now(), due_at = '2000-01-01Z'")  # fmt: skip
    ask(place, says(Found.FOUND, place.sandbox.ledger(KEY).ids[0]))
    assert place.intent(intent).state == "accepted"
    place.later(9)
    assert place.turn() == []
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 0


def test_a_receipt_of_the_old_message_stays_a_fact_beside_the_new_one(provider: Provider) -> None:
    place = provider.place
    intent = undecided(place)
    order(place, intent)
    place.later(9)
    place.turn()
    new = place.intent(intent).provider_message_id
    tags = {"site": "test", "intent": str(intent), "generation": "1"}
    old = place.sandbox.ledger(KEY).ids[0]
    for event in ("email.delivered", "email.bounced"):
        provider.say(event, intent, email_id=old, tags=tags)
        provider.apply()
    assert stands(intent)[:2] == ("accepted", "none")
    assert place.intent(intent).provider_message_id == new
    assert place.log(intent)[-1]["detail"]["generation"] == 1
    provider.say("email.delivered", intent)
    provider.apply()
    assert stands(intent)[:2] == ("accepted", "delivered")


def test_a_receipt_of_the_old_message_before_the_new_one_leaves_settles_it(provider: Provider) -> None:
    place = provider.place
    intent = undecided(place)
    order(place, intent)
    provider.say("email.delivered", intent, email_id=place.sandbox.ledger(KEY).ids[0])
    provider.apply()
    assert stands(intent)[:2] == ("accepted", "delivered")
    place.later(9)
    assert place.turn() == []


def test_a_late_answer_of_the_old_generation_is_kept_and_settles_nothing_of_the_new_one(place: Workplace) -> None:
    intent = place.enqueue()
    (old,) = place.claim(worker="w1")
    sent = place.play(sent_all(place.shop(), [old]))
    place.sandbox.fault(stage="before_accept", kind="close", times=None)
    for _ in range(4):
        place.later(400)
        place.turn(worker="w2")
    place.later(DAY)
    place.turn(worker="w2")
    assert place.intent(intent).state == "needs_review"
    place.sandbox.reset()
    ask(place, says(Found.INCONCLUSIVE, code="lookup.page_cap"))
    order(place, intent)
    place.later(9)
    place.sandbox.fault(kind="status", status=429, name="rate_limit_exceeded", times=1)
    place.turn(worker="w2")
    place.record(sent, worker="w1")
    row = place.intent(intent)
    assert (row.state, row.generation, row.provider_message_id) == ("retry", 2, None)
    assert place.log(intent)[-1]["detail"]["generation"] == 1
    place.later(120)
    place.turn(worker="w2")
    row = place.intent(intent)
    assert (row.state, row.error_code, row.provider_message_id) == ("needs_review", "arrived_before", None)
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 0
    assert doctor.check_moved(0)[0] == []


def test_content_that_was_erased_meanwhile_cannot_be_made_anew(place: Workplace) -> None:
    intent = undecided(place)
    order(place, intent)
    place.sql("UPDATE notifyops_private.notifications_content SET recipient = NULL, data = NULL, erased_at = now()")
    place.later(9)
    assert place.turn() == []
    assert place.intent(intent).state == "needs_review"
    assert place.intent(intent).known == "unknown"


def test_a_type_that_no_one_wants_any_more_is_not_sent_anew(place: Workplace) -> None:
    intent = undecided(place)
    order(place, intent)
    place.sql("INSERT INTO notifyops_private.notifications_deliveryblock (channel, commitment, reason) "
              "SELECT 'email', commitment, 'unsubscribed' FROM notifyops_private.notifications_content")  # fmt: skip
    place.later(9)
    assert place.turn() == []
    row = place.intent(intent)
    assert (row.state, row.error_code) == ("needs_review", "unsubscribed")
    place.sql("DELETE FROM notifyops_private.notifications_deliveryblock")


@pytest.mark.parametrize("withdraws", [True, False], ids=["person", "application"])
def test_a_refusal_of_the_new_message_is_judged_by_what_it_is_and_the_old_one_stays_in_doubt(
    place: Workplace, withdraws: bool
) -> None:
    """The old key's doubt is not the new one's: nothing of this generation is with the provider."""
    intent = undecided(place)
    order(place, intent)
    place.later(9)
    place.sandbox.fault(kind="status", status=422, name="invalid_from_address", times=1)
    place.turn()
    row = place.intent(intent)
    assert (row.state, row.known, row.next_action) == ("needs_review", "invalid", "fix_config")
    assert row.first_ambiguous_at is None
    html = login("lena").get(f"/reviews/{intent}/").content.decode()
    assert "the one before it may have" in html
    if withdraws:
        done = decide("withdraw", row, code="sent_in_error")
        assert done.after["maybe_sent"] is True
        assert "may have reached the recipient" in login("lena").get(f"/reviews/{intent}/").content.decode()
    else:
        assert outbox.cancel(KEY, "ordered in error").outcome == "cancelled_maybe_sent"
