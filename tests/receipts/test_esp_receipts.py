"""Events of Postmark and Mailgun at the real address: believed by their secret, kept once, applied like any other."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any, Final

import pytest
from django.test import Client

from notifications.models import DeliveryBlock, Intent, ProviderEvent
from tests.receipts.post import Provider, kept, parked, stands

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
PASSWORD: Final = "postmark:a-long-password-of-40-characters-000000"
KEY: Final = "key-0123456789abcdef0123456789abcdef"
OLD: Final = "key-of-last-year-0123456789abcdef0123456"
_ACCOUNT: Final = """
UPDATE notifyops_private.notifications_provideraccount SET kind = %s, webhook_secret_refs = %s WHERE id = %s
"""


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_ESP_SECRETS", f"{PASSWORD} {KEY},{OLD}")


def become(provider: Provider, kind: str) -> None:
    """Let the account that has delivered be one of that service from now on."""
    provider.place.sql(_ACCOUNT, kind, "env:TEST_ESP_SECRETS", provider.place.account)


def post(body: bytes, **headers: str) -> int:
    url = "/api/v1/providers/resend/events"
    client = Client(enforce_csrf_checks=True)
    return int(client.post(url, body, content_type="application/json", headers=headers).status_code)


def login(secret: str = PASSWORD) -> str:
    return "Basic " + base64.b64encode(secret.encode()).decode()


def marks(intent: int) -> dict[str, str]:
    return {"site": "test", "intent": str(intent), "generation": "1"}


def postmark(intent: int, **more: Any) -> bytes:
    row = Intent.objects.get(pk=intent)
    event = {
        "RecordType": "Delivery",
        "MessageID": row.provider_message_id,
        "Recipient": "ana@example.com",
        "DeliveredAt": "2026-11-30T18:00:00Z",
        "Details": "Test details for <ana@example.com>",
        "Metadata": marks(intent),
    }
    return json.dumps(event | more).encode()


def bounce(intent: int, kind: str, **more: Any) -> bytes:
    told = {"RecordType": "Bounce", "Type": kind, "ID": 42, "BouncedAt": "2026-11-30T18:01:00Z", "DeliveredAt": None}
    told |= {"Email": "ana@example.com", "Details": "smtp;550 5.1.1 <ana@example.com> unknown"}
    return postmark(intent, **(told | more)).replace(b'"DeliveredAt": null, ', b"")


def mailgun(intent: int, *, token: str = "t" * 50, key: str = KEY, at: float | None = None, **data: Any) -> bytes:
    row, timestamp = Intent.objects.get(pk=intent), str(int(time.time() if at is None else at))
    signature = hmac.new(key.encode(), f"{timestamp}{token}".encode(), hashlib.sha256).hexdigest()
    event = {
        "event": "delivered",
        "id": "Ase7i2zsRYeDXztHGENqRA",
        "timestamp": 1764525600.5,
        "recipient": "ana@example.com",
        "message": {"headers": {"message-id": f"{row.provider_message_id}@mg.example.com"}},
        "user-variables": marks(intent),
    }
    block = {"token": token, "timestamp": timestamp, "signature": signature}
    return json.dumps({"signature": block, "event-data": event | data}).encode()


def failed(intent: int, severity: str, reason: str, **more: Any) -> bytes:
    status = {"code": 550, "enhanced-code": "5.1.1", "message": "550 5.1.1 <ana@example.com> unknown"}
    more |= {"event": "failed", "severity": severity, "reason": reason, "delivery-status": status}
    return mailgun(intent, **more)


def test_postmarks_word_of_a_delivery_is_kept_without_an_address_and_applied_once(
    provider: Provider, secrets: None
) -> None:
    intent = provider.accepted()
    become(provider, "postmark")
    for _ in range(3):
        assert post(postmark(intent), Authorization=login()) == 200
    row = ProviderEvent.objects.get()
    assert (row.type, row.tag_site, row.tag_intent, row.source) == ("email.delivered", "test", intent, "webhook")
    assert row.occurred_at is not None
    assert row.occurred_at.isoformat() == "2026-11-30T18:00:00+00:00"
    assert "example.com" not in repr(vars(row))
    assert (provider.apply(), parked()) == (1, 0)
    assert stands(intent)[:2] == ("accepted", "delivered")
    assert provider.place.kinds(intent) == ["claimed", "result", "receipt"]


@pytest.mark.parametrize(
    ("kind", "status", "blocked"),
    [
        ("HardBounce", "bounced", ["bounced"]),
        ("BadEmailAddress", "bounced", ["bounced"]),
        ("SoftBounce", "soft_bounced", []),
        ("Blocked", "soft_bounced", []),
        ("SpamNotification", "soft_bounced", []),
        ("ManuallyDeactivated", "suppressed", ["bounced"]),
        ("Transient", "deferred", []),
        ("AutoResponder", "none", []),
        ("AWordOfNextYear", "soft_bounced", []),
    ],
)
def test_each_bounce_of_postmark_is_hard_or_soft_by_its_own_word(
    provider: Provider, secrets: None, kind: str, status: str, blocked: list[str]
) -> None:
    intent = provider.accepted()
    become(provider, "postmark")
    assert post(bounce(intent, kind), Authorization=login()) == 200
    provider.apply()
    assert stands(intent)[1] == status
    assert list(DeliveryBlock.objects.values_list("reason", flat=True)) == blocked
    assert ProviderEvent.objects.get().code == f"{kind.lower()} 5.1.1"


def test_a_complaint_at_postmark_blocks_the_address_and_a_change_of_its_list_says_nothing(
    provider: Provider, secrets: None
) -> None:
    intent = provider.accepted()
    become(provider, "postmark")
    change = postmark(intent, RecordType="SubscriptionChange", SuppressSending=True, SuppressionReason="HardBounce")
    assert post(change, Authorization=login()) == 200
    assert (provider.apply(), stands(intent)[:2]) == (0, ("accepted", "none"))
    assert post(bounce(intent, "SpamComplaint", RecordType="SpamComplaint"), Authorization=login()) == 200
    provider.apply()
    assert stands(intent)[1] == "complained"
    assert list(DeliveryBlock.objects.values_list("reason", flat=True)) == ["complained"]


@pytest.mark.parametrize(
    "given",
    [
        *("", "Basic", "Basic !!!", "Bearer " + PASSWORD, login("postmark:guess"), login(PASSWORD + "x")),
        *(login(""), login("ü:ü"), "Basic " + "A" * 20_000, login(KEY), login(OLD)),
    ],
    ids=lambda given: given[:24],
)
def test_without_the_password_nothing_is_written(provider: Provider, secrets: None, given: str) -> None:
    intent = provider.accepted()
    become(provider, "postmark")
    assert (post(postmark(intent), Authorization=given), kept(), parked()) == (401, 0, 0)
    assert post(postmark(intent), Authorization=login()) == 200


@pytest.mark.parametrize("short", ["postmark:short", "a-secret-without-a-user-name"])
def test_a_password_that_can_be_guessed_opens_nothing(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, short: str
) -> None:
    intent = provider.accepted()
    become(provider, "postmark")
    monkeypatch.setenv("TEST_ESP_SECRETS", short)
    assert (post(postmark(intent), Authorization=login(short)), kept()) == (401, 0)


@pytest.mark.parametrize("key", [KEY, OLD])
def test_mailguns_signature_is_believed_by_either_key(provider: Provider, secrets: None, key: str) -> None:
    intent = provider.accepted()
    become(provider, "mailgun")
    assert post(mailgun(intent, key=key)) == 200
    assert provider.apply() == 1
    assert stands(intent)[:2] == ("accepted", "delivered")
    assert "example.com" not in repr(vars(ProviderEvent.objects.get()))


@pytest.mark.parametrize(
    ("severity", "reason", "status", "blocked"),
    [
        ("permanent", "bounce", "bounced", ["bounced"]),
        ("permanent", "old", "soft_bounced", []),
        ("permanent", "espblock", "soft_bounced", []),
        ("permanent", "suppress-bounce", "suppressed", ["bounced"]),
        ("permanent", "suppress-complaint", "suppressed", ["complained"]),
        ("temporary", "generic", "deferred", []),
    ],
)
def test_each_failure_at_mailgun_is_hard_soft_or_a_delay(
    provider: Provider, secrets: None, severity: str, reason: str, status: str, blocked: list[str]
) -> None:
    intent = provider.accepted()
    become(provider, "mailgun")
    assert post(failed(intent, severity, reason)) == 200
    provider.apply()
    assert stands(intent)[1] == status
    assert list(DeliveryBlock.objects.values_list("reason", flat=True)) == blocked


def test_a_token_of_mailgun_speaks_once_since_it_does_not_cover_the_body(provider: Provider, secrets: None) -> None:
    intent = provider.accepted()
    become(provider, "mailgun")
    assert (post(mailgun(intent)), provider.apply()) == (200, 1)
    assert (post(failed(intent, "permanent", "bounce")), kept(), provider.apply()) == (200, 1, 0)
    assert stands(intent)[1] == "delivered"
    assert (post(failed(intent, "permanent", "bounce", token="u" * 50)), provider.apply()) == (200, 1)
    assert stands(intent)[1] == "bounced"


@pytest.mark.parametrize(
    "change",
    [
        *({"key": "key-of-somebody-else-0123456789abcdef"}, {"at": 0}, {"at": 4e9}),
        *({"token": "short"}, {"token": "t t" * 20}),
    ],
    ids=str,
)
def test_what_mailgun_did_not_sign_is_not_written(provider: Provider, secrets: None, change: dict[str, Any]) -> None:
    intent = provider.accepted()
    become(provider, "mailgun")
    assert (post(mailgun(intent, **change)), kept()) == (401, 0)
    assert post(mailgun(intent)) == 200


def test_a_repeat_of_mailguns_within_its_eight_hours_is_taken(provider: Provider, secrets: None) -> None:
    intent = provider.accepted()
    become(provider, "mailgun")
    assert post(mailgun(intent, at=time.time() - 8 * 3600)) == 200


@pytest.mark.parametrize("kind", ["postmark", "mailgun"])
def test_no_service_is_believed_by_anothers_proof(provider: Provider, secrets: None, kind: str) -> None:
    intent = provider.accepted()
    become(provider, kind)
    assert provider.say("email.delivered", intent) == 401
    other = post(mailgun(intent)) if kind == "postmark" else post(postmark(intent), Authorization=login())
    assert (other, kept()) == (401, 0)
    become(provider, "brevo")
    assert post(postmark(intent), Authorization=login()) == 404


HOSTILE: Final[tuple[bytes, ...]] = (
    *(
        b"",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"7",
        b'"x"',
        b"[" * 30_000,
        b'{"RecordType": []}',
        b'{"RecordType": "Bounce"}',
    ),
    b'{"RecordType": "Delivery", "DeliveredAt": 7, "Metadata": 7, "MessageID": {}}',
    b'{"RecordType": "Delivery", "DeliveredAt": "2026-13-45T99:99:99Z"}',
    b'{"RecordType": "Inbound", "FromFull": {}}',
    b'{"RecordType": "Bounce", "Type": {"a": 1}, "Details": ["x"], "ID": "ana@example.com"}',
)


@pytest.mark.parametrize("body", HOSTILE, ids=lambda body: ascii(body)[:40])
def test_whatever_comes_with_the_password_is_kept_as_words_or_as_unreadable(
    provider: Provider, secrets: None, body: bytes
) -> None:
    become(provider, "postmark")
    assert [post(body, Authorization=login()) for _ in range(2)] == [200, 200]
    row = ProviderEvent.objects.get()
    assert "example.com" not in repr(vars(row))
    assert row.tag_intent is None
