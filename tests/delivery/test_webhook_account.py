"""Webhooks through the real loop and tables: one endpoint's answers are its own matter, whatever they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from standardwebhooks import Webhook

from notifications.delivery.shop import Account, Shop
from notifications.models import Circuit, DeliveryBlock, Intent, ProviderAccount
from notifications.providers.fence import EVERYTHING
from notifications.providers.standard_webhooks import endpoint_key, key_of, secret_of
from notifications.providers.webhook import Pool, WebhookProvider
from notifications.states import State
from tests.delivery.workplace import SENDER, Workplace, sent_all
from tests.providers.candidate_webhook import NEW
from tests.sandbox.receiver import Receiver, running_receiver

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


@pytest.fixture
def hooks(place: Workplace) -> Workplace:
    """The workplace with an account of kind webhook, on its channel."""
    made = ProviderAccount.objects.using("owner").create(
        name="hooks", kind="webhook", channel="webhook", sender=SENDER, api_key_ref="env:HOOK_SECRETS"
    )
    place.account = made.pk
    return place


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as running:
        yield running


def shop_of(place: Workplace, **numbers: Any) -> Shop:
    adapter = WebhookProvider(secrets=NEW, pool=Pool(36, EVERYTHING))
    shop = place.shop(adapter, **numbers)
    shop.accounts[place.account] = Account(place.account, "hooks", SENDER, adapter, 30.0, declares_receipts=False)
    return shop


def owe(place: Workplace, to: str, report: str = "demo-001") -> int:
    return place.enqueue(report, kind="report_event", to=to)


def results(place: Workplace, intent: int) -> list[dict[str, Any]]:
    return [entry for entry in place.log(intent) if entry["kind"] == "result"]


def test_an_event_is_accepted_under_its_webhook_id_and_the_receiver_verifies_it(
    hooks: Workplace, receiver: Receiver
) -> None:
    intent = owe(hooks, receiver.url)
    hooks.turn(shop_of(hooks))
    (got,) = receiver.got
    secret = secret_of(endpoint_key(key_of(NEW), receiver.url))
    document = Webhook(secret).verify(got.body.decode(), got.headers)
    assert document["type"] == "report_event"
    assert document["data"]["data"] == {"title": "Q3"}
    assert document["data"]["notification_id"] == "report-event/demo-001"
    row = hooks.intent(intent)
    assert (row.state, row.provider_message_id) == (State.ACCEPTED, got.headers["webhook-id"])
    # No receipt ever comes, and none is waited for.
    assert row.confirm_at is None


def test_a_repeat_after_an_unknown_outcome_has_the_same_id_and_bytes(hooks: Workplace, receiver: Receiver) -> None:
    receiver.statuses = [500]
    intent = owe(hooks, receiver.url)
    hooks.turn(shop_of(hooks))
    assert (hooks.intent(intent).state, hooks.intent(intent).known) == (State.RETRY, "unknown")
    hooks.later(7)
    hooks.turn(shop_of(hooks))
    first, second = receiver.got
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    assert hooks.intent(intent).state == State.ACCEPTED


def test_an_endpoint_that_is_gone_is_blocked_with_the_case_that_says_so(hooks: Workplace, receiver: Receiver) -> None:
    receiver.statuses = [410]
    intent = owe(hooks, receiver.url)
    hooks.turn(shop_of(hooks))
    row = hooks.intent(intent)
    assert (row.state, row.error_code, row.next_action) == (State.NEEDS_REVIEW, "webhook.gone", "correct_address")
    (result,) = results(hooks, intent)
    assert result["detail"]["address_blocked"] is True
    assert list(DeliveryBlock.objects.values_list("channel", "reason", "site_mode")) == [("webhook", "gone", "sandbox")]

    later, elsewhere = owe(hooks, receiver.url, "demo-002"), owe(hooks, receiver.url + "?other", "demo-003")
    hooks.turn(shop_of(hooks))
    blocked = hooks.intent(later)
    assert (blocked.state, blocked.error_code, blocked.next_action) == (
        *(State.NEEDS_REVIEW, "address_gone", "correct_address"),
    )
    assert hooks.intent(elsewhere).state == State.ACCEPTED
    assert len(receiver.got) == 2


def test_no_answer_of_one_endpoint_stops_the_others(hooks: Workplace, receiver: Receiver) -> None:
    """A rate limit, refusals of the signature and failures: each costs its own event, and no account stands still."""
    with running_receiver() as other:
        for number, status in enumerate((*[401] * 5, *[500] * 5, 429)):
            receiver.statuses = [status] * 99
            owe(hooks, receiver.url, f"bad-{number}")
            shop = shop_of(hooks)
            hooks.turn(shop)
            assert not shop.stopped
        good = owe(hooks, other.url, "good")
        hooks.turn(shop_of(hooks))
        assert len(other.got) == 1
    assert hooks.intent(good).state == State.ACCEPTED
    assert not Circuit.objects.filter(account_id=hooks.account).exists()
    assert len(receiver.got) >= 11


def test_a_wait_that_an_endpoint_asks_for_is_kept_and_costs_no_try(hooks: Workplace, receiver: Receiver) -> None:
    receiver.statuses = [429] * 12
    intent = owe(hooks, receiver.url)
    for _ in range(12):
        hooks.turn(shop_of(hooks))
        hooks.later(20)
    row = hooks.intent(intent)
    assert (row.state, row.error_code, row.failure_count) == (State.RETRY, "webhook.too_many", 0)
    hooks.turn(shop_of(hooks))
    assert hooks.intent(intent).state == State.ACCEPTED


@pytest.mark.parametrize(
    ("status", "code", "action"),
    [(404, "webhook.not_found", "correct_address"), (301, "webhook.redirected", "correct_address"),
     (403, "webhook.signature_refused", "fix_config"), (422, "webhook.content_refused", "fix_content"),
     (418, "webhook.refused", "find_cause")],
)  # fmt: skip
def test_any_other_refusal_is_for_good_and_says_whose_fault_it_is(
    hooks: Workplace, receiver: Receiver, status: int, code: str, action: str
) -> None:
    receiver.statuses = [status]
    intent = owe(hooks, receiver.url)
    hooks.turn(shop_of(hooks))
    row = hooks.intent(intent)
    assert (row.state, row.error_code, row.next_action, len(receiver.got)) == (*(State.NEEDS_REVIEW, code, action, 1),)


def test_in_a_mode_that_may_reach_nobody_the_stand_in_gets_what_recipients_would(
    hooks: Workplace, receiver: Receiver
) -> None:
    adapter = WebhookProvider(secrets=NEW, stand_in=receiver.url)
    shop = hooks.shop(adapter)
    shop.accounts[hooks.account] = Account(hooks.account, "hooks", SENDER, adapter, 30.0, declares_receipts=False)
    to = "https://hooks.example.com/in"
    intent = owe(hooks, to)
    hooks.turn(shop)
    (got,) = receiver.got
    Webhook(secret_of(endpoint_key(key_of(NEW), to))).verify(got.body.decode(), got.headers)
    assert hooks.intent(intent).state == State.ACCEPTED


def test_redirected_events_keep_their_address_and_go_to_the_accounts(hooks: Workplace, receiver: Receiver) -> None:
    """An address of mail, to which mode redirect sends, is none that could be called."""
    adapter = WebhookProvider(secrets=NEW, stand_in=receiver.url)
    shop = hooks.shop(adapter, site_mode="redirect", redirect_to="team@example.com")
    intent = owe(hooks, "https://hooks.example.com/in")
    hooks.turn(shop)
    assert hooks.intent(intent).state == State.ACCEPTED
    assert receiver.got[0].data["subject"].startswith("[https://h•••.com] ")


def test_the_intent_holds_no_address(hooks: Workplace, receiver: Receiver) -> None:
    intent = owe(hooks, receiver.url + "?token=s3cret")
    hooks.turn(shop_of(hooks))
    assert "s3cret" not in repr(hooks.log(intent)) + repr(Intent.objects.filter(pk=intent).values())


def test_a_late_word_that_it_is_gone_blocks_and_says_so(hooks: Workplace, receiver: Receiver) -> None:
    """The call outlived its lease: the log tells what blocked the address, and the id by which to ask."""
    receiver.statuses = [410]
    intent = owe(hooks, receiver.url)
    shop = shop_of(hooks)
    (old,) = hooks.claim(shop)
    hooks.later(61)
    hooks.claim(shop_of(hooks), worker="host/2/loop0/0001")
    late_shop = shop_of(hooks)
    hooks.record(hooks.play(sent_all(late_shop, [old])), late_shop)
    late = hooks.log(intent)[-1]
    assert (late["kind"], late["code"]) == ("late", "webhook.gone")
    assert DeliveryBlock.objects.get().reason == "gone"
    assert late["detail"]["address_blocked"] is True
    assert late["detail"]["trace"] == receiver.got[0].headers["webhook-id"]
