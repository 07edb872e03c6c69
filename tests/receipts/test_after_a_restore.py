"""Receipts of messages that a restored database does not remember: they count for what is owed here, and no other."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from notifications.models import DeliveryBlock
from notifications.states import EntryKind, Found, State
from reviews.actions import perform
from reviews.person import from_host
from tests.delivery.asking import says, witnessed
from tests.delivery.recovering import forgotten_send, opened, recovered, round_of_questions, tended
from tests.delivery.test_site import planted
from tests.intake.notify_cli import notify
from tests.providers.inquiries import body_of, mail_ids, post
from tests.receipts.post import PERMANENT, TRANSIENT, Provider, parked, stands
from tests.reviews.cases import order

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def said(provider: Provider, event: str, intent: int, mail: str, *, ago_s: float = 0, **more: Any) -> None:
    """Let the provider say something of a mail, at a time of its own clock."""
    at = (datetime.now(UTC) - timedelta(seconds=ago_s)).isoformat()
    body = provider.event(event, intent, data={"email_id": mail, **more}, created_at=at)
    assert provider.post(json.dumps(body).encode()) == 200


def test_a_receipt_settles_what_is_held_before_anybody_has_asked(provider: Provider) -> None:
    place = provider.place
    intent = place.enqueue()
    mail = forgotten_send(place, intent)
    said(provider, "email.delivered", intent, mail)
    assert (provider.apply(), parked()) == (0, 1), "never attempted, as far as this database knows"
    opened(place)
    tended(place)
    place.later(5)
    assert (provider.apply(), parked()) == (1, 0)
    assert stands(intent)[:2] == ("accepted", "delivered")
    assert place.intent(intent).provider_message_id == mail
    assert place.turn() == []


def test_a_bounce_of_a_forgotten_message_opens_its_case_and_blocks_the_address(provider: Provider) -> None:
    place = provider.place
    intent = place.enqueue()
    mail = forgotten_send(place, intent)
    recovered(place)
    assert stands(intent)[0] == "accepted"
    said(provider, "email.bounced", intent, mail, **PERMANENT)
    assert provider.apply() == 1
    assert stands(intent)[:2] == ("needs_review", "bounced")
    assert list(DeliveryBlock.objects.values_list("site_mode", "reason")) == [("sandbox", "bounced")]


def test_a_forgotten_message_that_came_back_for_now_is_made_anew_under_a_new_key(provider: Provider) -> None:
    place = provider.place
    intent = place.enqueue()
    mail = forgotten_send(place, intent)
    recovered(place)
    said(provider, "email.bounced", intent, mail, **TRANSIENT)
    provider.apply()
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused is None
    place.turn()
    assert (place.intent(intent).state, place.intent(intent).generation) == ("accepted", 2)
    assert place.sandbox.ledger("report-ready/demo-001~g2").accepted == 1


def test_a_number_that_was_given_twice_does_not_let_the_lost_message_speak_for_the_new_one(provider: Provider) -> None:
    """The application enqueued between the restore and its recovery, and got a lost notification's number."""
    place = provider.place
    witnessed(place)
    place.sql("SELECT setval(pg_get_serial_sequence('notifyops_private.notifications_intent', 'id'), 5000)")
    post(place.sandbox, body_of(5001), "lost-key")
    lost_mail = mail_ids(place.sandbox)[-1]
    place.later(3600)
    intent = place.enqueue("demo-001", to="bob@example.com")
    assert intent == 5001
    said(provider, "email.bounced", intent, lost_mail, ago_s=3600, **PERMANENT)
    recovered(place, ago_s=7200)
    provider.apply()
    assert stands(intent)[0] == "pending"
    place.turn()
    assert stands(intent)[0] == "accepted"


def test_a_person_may_ask_about_what_was_held_though_nothing_was_tried_here(provider: Provider) -> None:
    place = provider.place
    intent = place.enqueue()
    recovered(place, says(Found.UNAVAILABLE, code="lookup.unreachable"))
    mail = forgotten_send(place, intent)
    place.later(60)
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('notifyops_test.shift', %s, false)", [f"{place.shift_s:.0f} s"])
        perform("query", intent, order(place.intent(intent), ""), from_host())
        cursor.execute("SELECT set_config('notifyops_test.shift', '', false)")
    place.later(1)
    round_of_questions(place)
    assert place.intent(intent).provider_message_id == mail


def test_the_restored_point_is_the_last_claim_whatever_was_written_since(provider: Provider) -> None:
    """Receipts and answers are kept while the recovery is not ordered yet: they say nothing of when it was restored."""
    place = provider.place
    intent = provider.accepted()
    ((claimed_at,),) = place.sql("SELECT at FROM notifyops_private.notifications_logentry WHERE kind = 'claimed'")
    planted(place, timeline=1)
    provider.say("email.delivered", intent)
    provider.apply()
    assert notify("recover", "--json").document["since"][:19] == claimed_at.strftime("%Y-%m-%dT%H:%M:%S")


def test_what_a_person_closed_before_it_was_held_still_hears_what_became_of_it(provider: Provider) -> None:
    """Found by the simulation: nothing was tried here and nothing will be, so there is no attempt to wait for."""
    place = provider.place
    intent = place.enqueue()
    mail = forgotten_send(place, intent)
    opened(place)
    perform("close", intent, order(place.intent(intent), "no_longer_needed"), from_host())
    tended(place)
    said(provider, "email.bounced", intent, mail, **PERMANENT)
    assert (provider.apply(), parked()) == (1, 0)
    assert stands(intent)[:2] == ("closed", "bounced")
    assert place.intent(intent).provider_message_id == mail
    perform("reopen", intent, order(place.intent(intent), "closed_by_mistake", "It is looked at again."), from_host())
    said(provider, "email.sent", intent, mail)
    assert (provider.apply(), parked()) == (1, 0), "an event of its message that comes after all"
