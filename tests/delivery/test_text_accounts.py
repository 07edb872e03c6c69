"""Text messages and Telegram through the real loop and tables: what each answer leads to, and who is reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import transaction

from notifications import door
from notifications.delivery.shop import Account, Shop
from notifications.door import Entry
from notifications.models import Circuit, DeliveryBlock, Intent, ProviderAccount
from notifications.providers.base import Provider
from notifications.providers.telegram import TelegramProvider
from notifications.providers.twilio import Reports, TwilioProvider
from notifications.providers.twilio_lookup import TwilioLookup
from notifications.states import State
from reviews.refusals import Refused
from tests.delivery.asking import ask
from tests.delivery.workplace import Workplace
from tests.providers.candidate_telegram import TOKEN
from tests.providers.candidate_twilio import REPORTS, SECRET, SENDER
from tests.providers.text_service import TextService, running_service
from tests.reviews.deciding import correct

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])
NUMBER, CHAT = "+447700900123", "-1001234567890"
DOUBT = (State.NEEDS_REVIEW, "unknown", "query_provider")


@pytest.fixture
def service() -> Iterator[TextService]:
    with running_service() as running:
        yield running


@pytest.fixture(autouse=True)
def accounts(place: Workplace) -> None:
    """Accounts of both kinds beside the workplace's own; the last one made is the workplace's."""
    for name, kind, channel in (("texts", "twilio", "sms"), ("bot", "telegram", "telegram")):
        ProviderAccount.objects.using("owner").create(
            name=name, kind=kind, channel=channel, sender=SENDER, api_key_ref="env:TEXT_SECRET"
        )


def shop_of(place: Workplace, service: TextService, name: str = "texts", **numbers: Any) -> Shop:
    adapter: Provider = TwilioProvider(base_url=service.url, secret=SECRET, reports=REPORTS)
    if name == "bot":
        adapter = TelegramProvider(base_url=service.url, token=TOKEN)
    row = ProviderAccount.objects.get(name=name)
    place.account = row.pk
    shop = place.shop(adapter, **numbers)
    shop.accounts[row.pk] = Account(row.pk, name, SENDER, adapter, 30.0, bool(adapter.capabilities.receipts))
    return shop


def text(place: Workplace, report: str = "demo-001", **more: Any) -> int:
    return place.enqueue(report, to=NUMBER, channel="sms", **more)


def post(place: Workplace, report: str = "demo-001", to: str = CHAT, **more: Any) -> int:
    return place.enqueue(report, to=to, channel="telegram", **more)


def case(intent: int) -> tuple[str, str | None, str | None]:
    row = Intent.objects.get(pk=intent)
    return row.state, row.error_code, row.next_action


def test_a_text_message_is_accepted_under_its_sid_and_reported_to_an_address_that_names_it(
    place: Workplace, service: TextService
) -> None:
    intent = text(place)
    place.turn(shop_of(place, service))
    (got,) = service.got
    assert (got["To"], got["From"], got["Body"]) == (NUMBER, SENDER, "Q3 (demo-001) is ready.")
    assert "ValidityPeriod" not in got
    callback = urlsplit(got["StatusCallback"])
    assert callback.path == "/api/v1/providers/texts/events"
    assert parse_qs(callback.query) == {"site": ["test"], "intent": [str(intent)], "generation": ["1"]}
    row = place.intent(intent)
    assert (row.state, row.provider_message_id) == (State.ACCEPTED, service.messages[0]["sid"])


def test_the_text_has_the_recipients_language_and_the_notifications_end(place: Workplace, service: TextService) -> None:
    text(place, locale="zh-hans", expires_at="2999-01-01T00:00:00Z")
    place.turn(shop_of(place, service))
    (got,) = service.got
    assert (got["Body"], got["ValidityPeriod"]) == ("“Q3”（demo-001）已就绪。", "36000")


def test_an_unknown_outcome_is_never_repeated_by_itself(place: Workplace, service: TextService) -> None:
    """Nothing protects a repeat: a lost answer and a 5xx are a case to ask about."""
    service.answers = [None, (500, {"code": 20500})]
    lost, failed = text(place), text(place, "demo-002")
    place.turn(shop_of(place, service), room=1)
    place.turn(shop_of(place, service), room=1)
    for intent, code in ((lost, "unknown.disconnected"), (failed, "twilio.failed")):
        assert case(intent) == (State.NEEDS_REVIEW, code, "query_provider")
        assert place.intent(intent).known == "unknown"
    place.later(3600)
    place.turn(shop_of(place, service))
    assert len(service.got) == 2


def test_a_stop_word_blocks_the_number_on_its_channel_alone(place: Workplace, service: TextService) -> None:
    service.answers = [(400, {"code": 21610, "message": f"{NUMBER} has unsubscribed"})]
    intent = text(place)
    place.turn(shop_of(place, service))
    assert case(intent) == (State.NEEDS_REVIEW, "twilio.opted_out", "correct_address")
    assert list(DeliveryBlock.objects.values_list("channel", "reason")) == [("sms", "gone")]
    later = text(place, "demo-002")
    place.turn(shop_of(place, service))
    assert case(later) == (State.NEEDS_REVIEW, "address_gone", "correct_address")
    assert len(service.got) == 1
    assert NUMBER not in repr(place.log(intent)) + repr(Intent.objects.filter(pk=intent).values())


@pytest.mark.parametrize(
    ("status", "number", "code", "action"),
    [(400, 21211, "twilio.bad_number", "correct_address"), (400, 21612, "twilio.no_route", "find_cause"),
     (400, 21408, "twilio.region_not_allowed", "fix_config"), (403, 21408, "twilio.region_not_allowed", "fix_config"),
     (400, 21617, "twilio.too_long", "fix_content"), (400, 21999, "twilio.400.21999", "find_cause")],
)  # fmt: skip
def test_refusals_of_one_message_stop_no_other(
    place: Workplace, service: TextService, status: int, number: int, code: str, action: str
) -> None:
    service.answers = [(status, {"code": number})] * 4
    refused = [text(place, f"bad-{number}") for number in range(4)]
    place.turn(shop_of(place, service))
    assert {case(intent) for intent in refused} == {(State.NEEDS_REVIEW, code, action)}
    good = text(place, "good")
    place.turn(shop_of(place, service))
    assert place.intent(good).state == State.ACCEPTED
    assert not Circuit.objects.exclude(reason="").filter(account_id=place.account, open_until__isnull=False).exists()


def test_what_has_no_short_text_or_too_long_a_one_never_leaves(place: Workplace, service: TextService) -> None:
    without = place.enqueue("demo-001", kind="report_event", to=NUMBER, channel="sms")
    long = text(place, "demo-002", data={"title": "季度" * 120})
    place.turn(shop_of(place, service))
    assert case(without) == (State.NEEDS_REVIEW, "no_short_text", "fix_content")
    assert case(long) == (State.NEEDS_REVIEW, "too_many_parts", "fix_content")
    assert service.got == []


def test_in_mode_redirect_one_number_and_one_chat_get_everything(place: Workplace, service: TextService) -> None:
    where = {"site_mode": "redirect", "redirect_to": "team@example.com"}
    stopped = text(place), post(place, "demo-003")
    for name in ("texts", "bot"):
        place.turn(shop_of(place, service, name, **where))
    assert [case(intent)[:2] for intent in stopped] == [(State.NEEDS_REVIEW, "no_redirect")] * 2
    text(place, "demo-002")
    post(place, "demo-004")
    for name in ("texts", "bot"):
        place.turn(shop_of(place, service, name, **where, redirect_phone="+15550002222", redirect_chat="@acme_test"))
    sent, posted = service.got
    assert (sent["To"], sent["Body"]) == ("+15550002222", "(+44...23) Q3 (demo-002) is ready.")
    assert (posted["chat_id"], str(posted["text"]).partition("]")[0]) == ("@acme_test", "[-•••")


def test_without_an_address_of_ours_nothing_is_reported_and_nothing_waited_for(service: TextService) -> None:
    adapter = TwilioProvider(base_url=service.url, secret=SECRET, reports=Reports(""))
    assert adapter.capabilities.receipts == frozenset()


def test_a_chat_gets_the_text_and_the_log_no_chat_and_no_token(place: Workplace, service: TextService) -> None:
    intent = post(place)
    place.turn(shop_of(place, service, "bot"))
    (got,) = service.got
    assert got["chat_id"] == int(CHAT)
    assert str(got["text"]).startswith("Hello,")
    row = place.intent(intent)
    assert (row.state, row.confirm_at) == (State.ACCEPTED, None)
    assert str(row.provider_message_id).endswith("-1")
    told = repr(place.log(intent)) + repr(Intent.objects.filter(pk=intent).values())
    assert not [secret for secret in (CHAT, CHAT[1:], TOKEN, TOKEN.partition(":")[2]) if secret in told]


def test_a_lost_answer_of_telegram_stays_unknown_until_a_person_decides(place: Workplace, service: TextService) -> None:
    service.answers = [None]
    intent = post(place)
    place.turn(shop_of(place, service, "bot"))
    row = place.intent(intent)
    assert (row.state, row.known, row.next_action) == DOUBT


@pytest.mark.parametrize(
    ("status", "said", "parameters", "code", "blocked"),
    [
        (403, "Forbidden: bot was blocked by the user", {}, "telegram.blocked", True),
        (400, "Bad Request: chat not found", {}, "telegram.chat_not_found", True),
        (400, "Bad Request: x", {"migrate_to_chat_id": -100987654321}, "telegram.migrated", False),
        (403, "Forbidden: bot can't initiate conversation with a user", {}, "telegram.not_started", False),
    ],
)
def test_a_chat_that_is_gone_is_blocked(
    place: Workplace, service: TextService, status: int, said: str, parameters: dict[str, int], code: str, blocked: bool
) -> None:
    service.answers = [(status, {"ok": False, "error_code": status, "description": said, "parameters": parameters})]
    intent = post(place, to="@Acme_News")
    place.turn(shop_of(place, service, "bot"))
    assert case(intent) == (State.NEEDS_REVIEW, code, "correct_address")
    assert list(DeliveryBlock.objects.values_list("channel", "reason")) == ([("telegram", "gone")] if blocked else [])
    assert "987654321" not in repr(place.log(intent))
    again = post(place, "demo-002", to="@acme_news")
    place.turn(shop_of(place, service, "bot"))
    assert (case(again)[1] == "address_gone") is blocked


def test_a_flood_makes_the_bot_wait_as_long_as_it_is_told(place: Workplace, service: TextService) -> None:
    service.answers = [(429, {"ok": False, "description": "Too Many", "parameters": {"retry_after": 40}})]
    intent = post(place)
    place.turn(shop_of(place, service, "bot"))
    assert (case(intent)[:2], place.intent(intent).failure_count) == ((State.RETRY, "telegram.too_many"), 0)
    place.later(30)
    place.turn(shop_of(place, service, "bot"))
    assert len(service.got) == 1
    place.later(60)
    place.turn(shop_of(place, service, "bot"))
    assert place.intent(intent).state == State.ACCEPTED


def test_a_lost_answer_is_settled_by_the_list_of_its_number(place: Workplace, service: TextService) -> None:
    service.answers = [None]
    intent = text(place)
    place.turn(shop_of(place, service))
    assert place.intent(intent).known == "unknown"
    place.later(130)
    assert ask(place, TwilioLookup(base_url=service.url, secret=SECRET)) == 1
    row = place.intent(intent)
    assert (row.state, row.provider_message_id) == (State.ACCEPTED, service.messages[0]["sid"])


def test_what_the_list_does_not_hold_is_proven_absent_beside_a_message_of_ours(
    place: Workplace, service: TextService
) -> None:
    text(place, "witness")
    place.turn(shop_of(place, service))
    service.answers = [(500, {"code": 20500})]
    intent = text(place)
    place.turn(shop_of(place, service))
    place.later(130)
    assert ask(place, TwilioLookup(base_url=service.url, secret=SECRET)) == 1
    assert place.intent(intent).state == State.NEEDS_REVIEW
    (evidence,) = [entry for entry in place.log(intent) if entry["kind"] == "evidence"]
    assert evidence["outcome"] == "not_found"


@pytest.mark.parametrize(
    ("channel", "old", "new", "wrong"),
    [
        ("sms", NUMBER, "+447700900987", ("+44 7700 900987", "ana@example.com", "@acme_news")),
        ("telegram", CHAT, "@Acme_News", ("t.me/acme", "ana@example.com", "+447700900987")),
    ],
)
def test_an_address_is_corrected_by_another_of_its_kind_alone(
    place: Workplace, service: TextService, channel: str, old: str, new: str, wrong: tuple[str, ...]
) -> None:
    service.answers = [(400, {"code": 21211, "description": "Bad Request: not enough rights to send text messages"})]
    intent = place.enqueue(to=old, channel=channel)
    name = "texts" if channel == "sms" else "bot"
    place.turn(shop_of(place, service, name))
    row = place.intent(intent)
    for address in wrong:
        with transaction.atomic():
            entry = Entry(id=intent, seq=row.seq, detail={})
            assert door.correct(entry, address, actor="user:lena", site_mode="sandbox").refused == "address"
        with pytest.raises(Refused):
            correct(row, address)
    later = correct(row, new)
    place.later(30)
    place.turn(shop_of(place, service, name))
    assert place.intent(later.pk).state == State.ACCEPTED
    assert str(service.got[-1].get("To", service.got[-1].get("chat_id"))) == new
