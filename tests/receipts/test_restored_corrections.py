"""A corrected address that was given, and written to, in the lost time: its first notification is known by a tag."""

from __future__ import annotations

import json

import pytest

from notifications.states import EntryKind, State
from reviews.refusals import NotAllowedNow
from tests.delivery.recovering import recovered
from tests.intake.notify_cli import notify
from tests.providers.inquiries import body_of, mail_ids, post
from tests.receipts.post import PERMANENT, Provider, parked, stands
from tests.receipts.test_after_a_restore import said
from tests.receipts.test_restored_receipts import blind_recovery
from tests.reviews.deciding import NEW, correct

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
KEY = "report-ready/demo-001"


def bounced(provider: Provider) -> int:
    intent = provider.accepted()
    provider.say("email.bounced", intent, **PERMANENT)
    provider.apply()
    assert stands(intent)[3] == "bounced"
    return intent


def forgotten_correction(provider: Provider, intent: int) -> str:
    """Let the provider have what a notification sent that came after the backup; give the mail's id."""
    post(provider.place.sandbox, body_of(intent + 7, to=NEW, root=str(intent)), f"{KEY}~a2")
    return mail_ids(provider.place.sandbox)[-1]


def test_a_corrected_address_carries_the_first_ones_number_in_each_generation(provider: Provider) -> None:
    place, intent = provider.place, bounced(provider)
    new = correct(place.intent(intent), shift_s=place.shift_s)
    place.later(9)
    (sent,) = place.turn()
    tags = {one["name"]: one["value"] for one in json.loads(sent.lease.body)["tags"]}
    assert tags == {"site": "test", "intent": str(new.pk), "generation": "1", "root": str(intent)}


def test_what_no_address_was_corrected_of_carries_none(provider: Provider) -> None:
    provider.place.enqueue()
    (lease,) = provider.place.claim()
    assert "root" not in {one["name"] for one in json.loads(lease.body)["tags"]}


def test_after_a_restore_it_is_a_case_and_nobody_corrects_it_once_more(provider: Provider) -> None:
    place, intent = provider.place, bounced(provider)
    mail = forgotten_correction(provider, intent)
    recovered(place)
    assert (stands(intent)[0], stands(intent)[3], stands(intent)[4]) == (
        "needs_review",
        "forgotten_message",
        "ask_lead",
    )
    told = next(one for one in place.log(intent) if one["kind"] == "contradicted")
    assert (told["detail"]["ids"], told["detail"]["elsewhere"]) == ([mail], True)
    with pytest.raises(NotAllowedNow):
        correct(place.intent(intent), shift_s=place.shift_s)
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused == "forgotten"
    assert "showed a message to a corrected address, which is forgotten here" in notify("explain", KEY).out
    assert f"corrected address of {KEY}" in notify("recover").out


def test_a_receipt_of_it_says_so_where_no_key_can_read_the_list(provider: Provider) -> None:
    place, intent = provider.place, bounced(provider)
    mail = forgotten_correction(provider, intent)
    blind_recovery(place)
    tags = {"site": "test", "intent": str(intent + 7), "generation": "1", "root": str(intent)}
    said(provider, "email.delivered", intent, mail, tags=tags)
    provider.apply()
    assert parked() == 0
    with pytest.raises(NotAllowedNow):
        correct(place.intent(intent), shift_s=place.shift_s)


def test_without_a_restore_such_a_receipt_is_nobodys(provider: Provider) -> None:
    place, intent = provider.place, bounced(provider)
    mail = forgotten_correction(provider, intent)
    tags = {"site": "test", "intent": str(intent + 7), "generation": "1", "root": str(intent)}
    said(provider, "email.delivered", intent, mail, tags=tags)
    provider.apply()
    assert parked() == 1
    assert correct(place.intent(intent), shift_s=place.shift_s).state == "pending"


def test_a_correction_that_is_known_here_is_no_forgotten_one(provider: Provider) -> None:
    place, intent = provider.place, bounced(provider)
    new = correct(place.intent(intent), shift_s=place.shift_s)
    place.later(9)
    place.turn()
    recovered(place)
    assert place.intent(new.pk).state == "accepted"
    assert place.sql("SELECT * FROM notifyops_private.notifications_unknownmail") == []


def test_a_number_that_is_none_names_nobody(provider: Provider) -> None:
    place, intent = provider.place, bounced(provider)
    for root in ("x" * 30, "9" * 19, "0"):
        post(place.sandbox, body_of(intent + 7, to=NEW, root=root), f"{KEY}-{root}")
    recovered(place)
    assert stands(intent)[3] == "bounced"
