"""Web push through the real loop and tables: what a browser gets, what a repeat is, what a subscription's end does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from notifications.delivery.shop import Account, Shop
from notifications.models import Circuit, DeliveryBlock, Intent, ProviderAccount
from notifications.providers.webpush import WebPushProvider
from notifications.states import State
from tests.delivery.workplace import SENDER, Workplace
from tests.providers.candidate_webpush import ENDPOINT, SECRET, TO
from tests.providers.test_webpush import claims_of, decrypted
from tests.sandbox.receiver import Receiver, running_receiver

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

OTHER = TO.replace("/ana", "/bob")


@pytest.fixture
def push(place: Workplace) -> Workplace:
    """The workplace with an account of kind webpush, on its channel."""
    made = ProviderAccount.objects.using("owner").create(
        name="push", kind="webpush", channel="push", sender=SENDER, api_key_ref="env:PUSH_KEY"
    )
    place.account = made.pk
    return place


@pytest.fixture
def service() -> Iterator[Receiver]:
    with running_receiver() as running:
        yield running


def shop_of(place: Workplace, service: Receiver, **numbers: Any) -> Shop:
    adapter = WebPushProvider(secret=SECRET, stand_in=service.url)
    shop = place.shop(adapter, **numbers)
    shop.accounts[place.account] = Account(place.account, "push", SENDER, adapter, 30.0, declares_receipts=False)
    return shop


def owe(place: Workplace, to: str = TO, report: str = "demo-001", **options: Any) -> int:
    return place.enqueue(report, kind="report_push", to=to, data={"title": "Q3", "url": "/r/1"}, **options)


def shown(service: Receiver) -> list[dict[str, Any]]:
    return [json.loads(decrypted(got.body)) for got in service.got]


def test_a_browser_gets_what_was_owed_and_its_service_knows_who_sends(push: Workplace, service: Receiver) -> None:
    to = json.dumps(
        {
            "endpoint": ENDPOINT,
            "expirationTime": None,
            "keys": dict(zip(("p256dh", "auth"), TO.partition("#")[2].split("."), strict=True)),
        }
    )
    expires_at = datetime.now(UTC) + timedelta(hours=1)
    intent = owe(push, to, priority="urgent", expires_at=expires_at.isoformat())
    push.turn(shop_of(push, service))
    (got,), (message,) = service.got, shown(service)
    assert (message["title"], message["data"]["notification_id"]) == ("Report “Q3” is ready", "report-push/demo-001")
    assert (message["data"]["url"], message["data"]["generation"]) == ("/r/1", "1")
    assert claims_of(got.headers["authorization"])["sub"] == "mailto:reports@example.com"
    assert got.headers["urgency"] == "high"
    assert 3000 < int(got.headers["ttl"]) <= 3600
    row = push.intent(intent)
    assert row.state == State.ACCEPTED
    assert (row.provider_message_id or "").startswith("push_")
    # No receipt ever comes, and none is waited for.
    assert row.confirm_at is None


def test_a_repeat_says_the_same_under_the_same_topic_and_is_marked(push: Workplace, service: Receiver) -> None:
    """Nothing prevents a second message: the service replaces it, and the log says that there may be one."""
    service.statuses = [500]
    intent = owe(push)
    push.turn(shop_of(push, service))
    assert (push.intent(intent).state, push.intent(intent).known) == (State.RETRY, "unknown")
    push.later(90)
    push.turn(shop_of(push, service))
    first, second = service.got
    assert first.body != second.body
    assert first.headers["topic"] == second.headers["topic"] == shown(service)[0]["tag"]
    assert shown(service)[0] == shown(service)[1]
    assert push.intent(intent).state == State.ACCEPTED
    claims = [entry["detail"]["sha256"] for entry in push.log(intent) if "sha256" in (entry["detail"] or {})]
    assert len(set(claims)) == 1
    assert any((entry["detail"] or {}).get("possible_duplicate") for entry in push.log(intent))


def test_a_type_that_need_not_arrive_asks_a_person_instead(push: Workplace, service: Receiver) -> None:
    service.statuses = [500]
    intent = push.enqueue("demo-001", to=TO, channel="push")
    push.turn(shop_of(push, service))
    row = push.intent(intent)
    assert (row.state, row.error_code, row.known) == (State.NEEDS_REVIEW, "webpush.failed", "unknown")


@pytest.mark.parametrize("status", [404, 410])
def test_a_subscription_that_is_over_is_blocked_with_the_case_that_says_so(
    push: Workplace, service: Receiver, status: int
) -> None:
    service.statuses = [status]
    intent = owe(push)
    push.turn(shop_of(push, service))
    row = push.intent(intent)
    assert (row.state, row.error_code, row.next_action) == (State.NEEDS_REVIEW, "webpush.gone", "correct_address")
    assert list(DeliveryBlock.objects.values_list("channel", "reason", "site_mode")) == [("push", "gone", "sandbox")]
    later, elsewhere = owe(push, report="demo-002"), owe(push, OTHER, "demo-003")
    push.turn(shop_of(push, service))
    assert (push.intent(later).state, push.intent(later).error_code) == (State.NEEDS_REVIEW, "address_gone")
    assert push.intent(elsewhere).state == State.ACCEPTED
    assert len(service.got) == 2


@pytest.mark.parametrize(
    ("status", "code", "action"),
    [(400, "webpush.request_refused", "fix_config"), (403, "webpush.key_refused", "fix_config"),
     (413, "webpush.too_large", "fix_content"), (301, "webpush.redirected", "correct_address")],
)  # fmt: skip
def test_no_answer_of_one_service_stops_the_others(
    push: Workplace, service: Receiver, status: int, code: str, action: str
) -> None:
    for number in range(4):
        service.statuses = [status]
        intent = owe(push, report=f"bad-{number}")
        shop = shop_of(push, service)
        push.turn(shop)
        assert not shop.stopped
    row = push.intent(intent)
    assert (row.state, row.error_code, row.next_action) == (State.NEEDS_REVIEW, code, action)
    assert not Circuit.objects.filter(account_id=push.account).exists()


def test_what_no_push_can_carry_is_refused_before_anything_is_sent(push: Workplace, service: Receiver) -> None:
    intent = push.enqueue("demo-001", kind="report_push", to=TO, data={"title": "报" * 960, "url": "/" + "r" * 990})
    link = push.enqueue("demo-002", kind="report_push", to=TO, data={"title": "Q3", "url": "javascript:alert(1)"})
    push.turn(shop_of(push, service))
    assert (push.intent(intent).state, push.intent(intent).error_code) == (State.NEEDS_REVIEW, "too_large")
    assert (push.intent(link).state, push.intent(link).error_code) == (State.NEEDS_REVIEW, "invalid_data")
    assert not service.got


def test_in_mode_redirect_the_stand_in_gets_it_and_the_title_says_whose_it_is(
    push: Workplace, service: Receiver
) -> None:
    """An address of mail, to which mode redirect sends, is none that could be pushed to."""
    intent = owe(push)
    push.turn(shop_of(push, service, site_mode="redirect", redirect_to="team@example.com"))
    assert push.intent(intent).state == State.ACCEPTED
    assert shown(service)[0]["title"].startswith("[https://p•••.com] ")


def test_the_intent_holds_neither_address_nor_key(push: Workplace, service: Receiver) -> None:
    intent = owe(push)
    push.turn(shop_of(push, service))
    kept = repr(push.log(intent)) + repr(Intent.objects.filter(pk=intent).values())
    assert not [part for part in ("wpush", TO[-22:], TO[-60:-30], SECRET) if part in kept]
