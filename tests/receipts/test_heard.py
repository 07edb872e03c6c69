"""A request is judged as one of its account's kind alone, whatever else it is dressed as."""

from __future__ import annotations

import base64
import json
import time

import pytest

from notifications.receipts.heard import Call, Heard, hear
from notifications.receipts.verify import Unverified
from tests.receipts.post import Provider, kept

BASIC = "Basic " + base64.b64encode(b"postmark:a-long-password-of-40-characters-000000").decode()
TWILIO = "A" * 27 + "="
_KIND = "UPDATE notifyops_private.notifications_provideraccount SET kind = %s WHERE id = %s"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("kind", "status"),
    [("resend", 200), ("postmark", 401), ("mailgun", 401), ("twilio", 401), ("smtp", 404), ("telegram", 404)],
)
def test_of_all_that_a_request_shows_only_what_its_account_knows_counts(
    provider: Provider, kind: str, status: int
) -> None:
    provider.place.sql(_KIND, kind, provider.place.account)
    body = json.dumps(provider.event("email.delivered")).encode()
    assert provider.post(body, Authorization=BASIC, X_Twilio_Signature=TWILIO) == status
    assert kept() == (status == 200)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        '{"signature": {}}'.encode("utf-16"),
        b"[" * 100_000,
        b'{"signature": {"timestamp": ' + b"9" * 9999 + b"}}",
        json.dumps({"signature": dict.fromkeys(("timestamp", "token", "signature"), "a" * 60_000)}).encode(),
        b'{"signature": {"timestamp": 1e999, "token": [], "signature": {}}}',
    ],
    ids=range(7),
)
def test_no_body_keeps_another_kinds_claim_from_being_heard(body: bytes) -> None:
    now_s = time.time()
    svix = {"svix-id": "msg_1", "svix-timestamp": str(int(now_s)), "svix-signature": "v1,x"}
    heard = hear(Call({**svix, "Authorization": BASIC, "X-Twilio-Signature": TWILIO}, body, "https://x/", now_s))
    assert isinstance(heard["resend"], Heard)
    assert isinstance(heard["postmark"], Heard)
    assert isinstance(heard["mailgun"], Unverified)
    with pytest.raises(Unverified, match="headers"):
        hear(Call({}, body, "https://x/", now_s))
