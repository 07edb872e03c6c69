"""What is taken over meets what channels have of their own: chats, files, and an address of ours for all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from notifications.delivery.shop import Account, Shop
from notifications.models import DeliveryBlock, ProviderAccount
from notifications.providers.base import Provider
from notifications.providers.telegram import TelegramProvider
from notifications.providers.twilio import TwilioProvider
from tests.delivery.adapters import NOT_SENT
from tests.delivery.files_elsewhere import fetch, files
from tests.delivery.two_accounts import BAD_KEY, two
from tests.delivery.workplace import Workplace
from tests.intake.attaching import attached, linked
from tests.providers.candidate_telegram import TOKEN
from tests.providers.candidate_twilio import REPORTS, SECRET, SENDER
from tests.providers.text_service import TextService, running_service

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])
NUMBER, CHAT = "+447700900123", "-1001234567890"
NOT_FOUND = (400, {"ok": False, "error_code": 400, "description": "Bad Request: chat not found"})
LOGIN_REFUSED = (401, {"ok": False, "error_code": 401, "description": "Unauthorized", "code": 20003})


@pytest.fixture
def service() -> Iterator[TextService]:
    with running_service() as running:
        yield running


def pair_of(place: Workplace, service: TextService, kind: str, **numbers: Any) -> tuple[Shop, int]:
    """Give a shop of two accounts of a kind, of which the second takes over from the first."""
    adapter: Provider = TelegramProvider(base_url=service.url, token=TOKEN)
    if kind == "twilio":
        adapter = TwilioProvider(base_url=service.url, secret=SECRET, reports=REPORTS)
    channel = {"twilio": "sms", "telegram": "telegram"}[kind]
    make = ProviderAccount.objects.using("owner").create
    first = make(name="first", kind=kind, channel=channel, sender=SENDER, api_key_ref="env:X")
    spare = make(name="spare", kind=kind, channel=channel, sender="+15550003333", api_key_ref="env:X")
    first.fallback = spare
    first.save(using="owner")
    place.account = first.pk
    shop = place.shop(adapter, **numbers)
    shop.accounts = {
        one.pk: Account(one.pk, one.name, one.sender, adapter, 30.0, fallback=one.fallback_id) for one in (first, spare)
    }
    return shop, spare.pk


def goes_over(place: Workplace, shop: Shop, to: str, channel: str) -> int:
    """Owe one, and let each of the two be called."""
    intent = place.enqueue(to=to, channel=channel)
    place.turn(shop)
    place.turn(shop)
    assert place.kinds(intent) == ["claimed", "result", "failed_over", "claimed", "result"]
    return intent


def test_what_a_stand_in_does_not_know_is_not_closed_for_the_first_bot(place: Workplace, service: TextService) -> None:
    shop, spare = pair_of(place, service, "telegram")
    service.answers = [LOGIN_REFUSED, NOT_FOUND]
    intent = goes_over(place, shop, CHAT, "telegram")
    row = place.intent(intent)
    assert (row.account_id, row.state, row.error_code) == (spare, "needs_review", "telegram.chat_not_found")
    assert (list(DeliveryBlock.objects.all()), place.log(intent)[-1]["detail"]) == ([], None)
    # The first one's own word still closes it.
    service.answers = [NOT_FOUND]
    del shop.accounts[spare]
    place.enqueue("demo-002", to=CHAT, channel="telegram")
    place.later(100)
    place.turn(shop)
    assert list(DeliveryBlock.objects.values_list("channel", "reason")) == [("telegram", "gone")]


def test_what_is_redirected_stays_so_with_the_account_that_takes_over(place: Workplace, service: TextService) -> None:
    numbers = {"site_mode": "redirect", "redirect_to": "team@example.com", "redirect_phone": "+15550002222"}
    shop, spare = pair_of(place, service, "twilio", **numbers)
    service.answers = [LOGIN_REFUSED]
    intent = goes_over(place, shop, NUMBER, "sms")
    assert place.intent(intent).state == "accepted"
    assert {got["To"] for got in service.got} == {"+15550002222"}
    assert place.intent(intent).account_id == spare


def test_files_that_lie_elsewhere_are_fetched_once_for_both(place: Workplace) -> None:
    with files() as served:
        pair = two(place, NOT_SENT, after_s=0.0)
        intent = place.enqueue(attachments=[linked(served.link())])  # type: ignore[arg-type]
        place.turn(pair.shop)
        pair.open(place.account)
        fetch(place)
        pair.hand_over()
        place.turn(pair.shop)
    assert place.kinds(intent) == ["fetching", "fetched", "failed_over", "claimed", "result"]
    assert (place.states(), sum(served.asked.values())) == ({"demo-001": "accepted"}, 1)


def test_files_that_the_fallback_does_not_take_make_a_case_and_are_kept(place: Workplace) -> None:
    pair = two(place, BAD_KEY)
    pair.second.capabilities = replace(pair.second.capabilities, attachment_limit=0)
    intent = place.enqueue(attachments=[attached()])  # type: ignore[arg-type]
    place.turn(pair.shop)
    place.turn(pair.shop)
    row = place.intent(intent)
    assert (row.state, row.error_code, row.next_action) == ("needs_review", "attachments_not_taken", "fix_config")
    assert pair.called()[1] == []
    assert place.sql("SELECT is_here FROM notifyops.attachments WHERE intent_id = %s", intent) == [(True,)]
