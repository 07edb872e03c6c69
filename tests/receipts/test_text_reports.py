"""Twilio's reports at our address: signed, known once, in any order, and proof of what a lost answer hid."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from django.test import Client, override_settings

from notifications.models import DeliveryBlock, Intent, ProviderAccount, ProviderEvent
from notifications.receipts import twilio
from notifications.receipts.verify import Unverified
from tests.delivery.test_text_accounts import shop_of, text
from tests.delivery.workplace import Workplace
from tests.providers.candidate_twilio import ACCOUNT, REPORTS, SENDER, TOKEN
from tests.providers.text_service import TextService, running_service
from tests.receipts.post import Provider, kept, parked, stands

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
PUBLIC = "https://shop.example.com"
SID = "SM" + "4ef9a417" * 4


def signed(url: str, fields: dict[str, str], token: str = TOKEN) -> str:
    """Sign by the vendor's own words, independently of the code under test."""
    whole = url + "".join(name + fields[name] for name in sorted(fields))
    return base64.b64encode(hmac.new(token.encode(), whole.encode(), hashlib.sha1).digest()).decode()


@dataclass
class Reporter:
    """The provider's side: it reports to the address that it was given with the message."""

    place: Workplace
    service: TextService

    def accepted(self, report: str = "demo-001") -> int:
        intent = text(self.place, report)
        self.place.turn(shop_of(self.place, self.service))
        return intent

    def say(self, status: str, intent: int, error: int | None = None, *, token: str = TOKEN, **more: Any) -> int:
        url = more.pop("url", None) or self.address(intent)
        fields = {
            "AccountSid": ACCOUNT, "From": SENDER, "To": "+447700900123", "MessageStatus": status,
            "MessageSid": more.pop("sid", None) or Intent.objects.get(pk=intent).provider_message_id or SID,
        }  # fmt: skip
        fields |= {"ErrorCode": str(error), "ErrorMessage": "to +447700900123"} if error is not None else {}
        fields |= more
        return self.post(url, fields, signed(url, fields, token))

    def post(self, url: str, fields: dict[str, str], signature: str) -> int:
        parts = urlsplit(url)
        answer = Client(enforce_csrf_checks=True).post(
            f"{parts.path}?{parts.query}",
            urlencode(fields).encode(),
            content_type="application/x-www-form-urlencoded",
            headers={"X-Twilio-Signature": signature},
        )
        return int(answer.status_code)

    def address(self, intent: int) -> str:
        return next(
            str(got["StatusCallback"]) for got in self.service.got if f"intent={intent}&" in got["StatusCallback"]
        )

    def apply(self) -> int:
        return Provider(self.place).apply()


@pytest.fixture
def reporter(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reporter]:
    monkeypatch.setenv("TEXT_TOKEN", f"{ACCOUNT}:{TOKEN}")
    with running_service() as service, override_settings(NOTIFYOPS_PUBLIC_URL=PUBLIC):
        ProviderAccount.objects.using("owner").create(
            name="texts", kind="twilio", channel="sms", sender=SENDER, api_key_ref="env:TEXT_TOKEN",
            webhook_secret_refs="env:TEXT_TOKEN",
        )  # fmt: skip
        yield Reporter(place, service)


def blocks() -> list[str]:
    return list(DeliveryBlock.objects.values_list("reason", flat=True))


def test_a_delivery_is_kept_as_catalogued_fields_and_applied(reporter: Reporter) -> None:
    intent = reporter.accepted()
    assert reporter.say("delivered", intent) == 200
    row = ProviderEvent.objects.get()
    assert (row.type, row.tag_site, row.tag_intent, row.tag_generation) == ("sms.delivered", "test", intent, 1)
    assert row.provider_message_id == Intent.objects.get(pk=intent).provider_message_id
    assert "447700900123" not in repr(vars(row))
    assert (reporter.apply(), parked()) == (1, 0)
    assert stands(intent)[:2] == ("accepted", "delivered")


REVIEW = "needs_review"
FATES = {
    ("undelivered", 30005): ((REVIEW, *["bounced"] * 3, "correct_address"), ["bounced"]),
    ("failed", 30006): ((REVIEW, *["bounced"] * 3, "correct_address"), ["bounced"]),
    ("undelivered", 30003): ((REVIEW, *["soft_bounced"] * 3, "retry_new_key"), []),
    ("undelivered", None): ((REVIEW, *["soft_bounced"] * 3, "retry_new_key"), []),
    ("undelivered", 39999): ((REVIEW, *["soft_bounced"] * 3, "retry_new_key"), []),
    ("failed", 30007): ((REVIEW, "failed", "invalid", "failed", "find_cause"), []),
    ("failed", None): ((REVIEW, "failed", "invalid", "failed", "find_cause"), []),
    ("failed", 21610): ((REVIEW, *["suppressed"] * 3, "correct_address"), ["bounced"]),
}


@pytest.mark.parametrize("case", FATES, ids=str)
def test_a_failure_is_for_good_or_for_now_by_its_number(reporter: Reporter, case: tuple[str, int | None]) -> None:
    status, error = case
    standing, blocked = FATES[case]
    intent = reporter.accepted()
    assert reporter.say(status, intent, error) == 200
    reporter.apply()
    assert (stands(intent), blocks()) == (standing, blocked)
    assert ProviderEvent.objects.get().code == (str(error) if error is not None else None)


def test_a_report_proves_what_the_lost_answer_would_have_said(reporter: Reporter) -> None:
    reporter.service.answers = [None]
    intent = reporter.accepted()
    assert stands(intent)[0] == REVIEW
    assert reporter.say("queued", intent, sid=reporter.service.messages[0]["sid"]) == 200
    reporter.apply()
    row = Intent.objects.get(pk=intent)
    assert (row.state, row.provider_message_id) == ("accepted", reporter.service.messages[0]["sid"])


def test_the_order_of_arrival_does_not_matter_and_a_repeat_is_nothing(reporter: Reporter) -> None:
    intent = reporter.accepted()
    for status in ("delivered", "sent", "queued", "delivered", "sending", "delivered"):
        assert reporter.say(status, intent) == 200
    assert kept() == 4
    reporter.apply()
    reporter.apply()
    assert stands(intent)[:2] == ("accepted", "delivered")
    assert [entry["kind"] for entry in reporter.place.log(intent)] == ["claimed", "result", "receipt"]


def test_a_captured_report_that_is_posted_again_is_nothing_new(reporter: Reporter) -> None:
    """There is no time in it: what it says is its id, whatever else was signed with it."""
    intent = reporter.accepted()
    assert [reporter.say("delivered", intent, RawDlrDoneDate=str(day)) for day in range(3)] == [200] * 3
    assert (kept(), reporter.apply(), reporter.apply()) == (1, 1, 0)


def test_a_message_that_nobody_here_knows_is_kept_and_does_nothing(reporter: Reporter) -> None:
    url = f"{REPORTS.url}?site=test&intent=999999&generation=1"
    assert reporter.say("delivered", 0, url=url, sid=SID) == 200
    assert reporter.say("failed", 0, 30005, url=f"{REPORTS.url}?site=elsewhere&intent=1&generation=1", sid=SID) == 200
    reporter.apply()
    assert (kept(), blocks()) == (2, [])


def test_whoever_cannot_sign_writes_nothing(reporter: Reporter) -> None:
    intent = reporter.accepted()
    url, fields = reporter.address(intent), {"MessageSid": SID, "MessageStatus": "delivered"}
    good = signed(url, fields)
    other = url.replace(f"intent={intent}", f"intent={intent + 1}")
    for wrong in (
        lambda: reporter.say("delivered", intent, token="another-token-of-32-characters-00"),
        lambda: reporter.post(url, fields | {"MessageStatus": "failed"}, good),
        lambda: reporter.post(other, fields, good),
        lambda: reporter.post(url + "&x=1", fields, good),
        lambda: reporter.post(url, fields, ""),
        lambda: reporter.post(url, fields, "garbage"),
        lambda: reporter.post(url, fields, "A" * 27 + "="),
        lambda: reporter.post(url, {f"f{place}": "" for place in range(200)}, good),
        lambda: reporter.post(url.replace("/texts/", "/resend/"), fields, good),
    ):
        assert wrong() == 401
    assert (kept(), parked()) == (0, 0)
    assert reporter.post(url.replace("/texts/", "/nobody/"), fields, good) == 404
    assert reporter.post(url, fields, good) == 200


def test_what_svix_signs_is_no_report_of_twilio(reporter: Reporter) -> None:
    assert Provider(reporter.place).post(b"{}", account="texts") == 401
    assert kept() == 0


DOCUMENTED = {
    "CallSid": "CA1234567890ABCDE", "Caller": "+14158675309", "Digits": "1234", "From": "+14158675309",
    "To": "+18005551212",
}  # fmt: skip
ADDRESS = "https://mycompany.com/myapp.php?foo=1&bar=2"


@pytest.mark.parametrize(
    ("url", "body", "signature"),
    [
        # The vendor's own examples: twilio-python, tests/unit/test_request_validator.py.
        (ADDRESS, urlencode(DOCUMENTED), "RSOYDt4T1cUTdK1PDd93/VVr8B8="),
        (ADDRESS.replace(".com", ".com:1234"), urlencode(DOCUMENTED), "RSOYDt4T1cUTdK1PDd93/VVr8B8="),
        (ADDRESS, urlencode(DOCUMENTED), "kvajT1Ptam85bY51eRf/AJRuM3w="),
        (ADDRESS.replace("https", "http"), urlencode(DOCUMENTED), "0ZXoZLH/DfblKGATFgpif+LLRf4="),
        (ADDRESS, "Sid=CA123&SidAccount=AC123&Digits=5678&Digits=1234", "IK+Dwps556ElfBT0I3Rgjkr1wJU="),
    ],
)
def test_the_vendors_examples_are_verified(url: str, body: str, signature: str) -> None:
    twilio.reported(url, body.encode(), signature).verify([b"other-key", b"12345"])
    with pytest.raises(Unverified, match="signature"):
        twilio.reported(url + "0", body.encode(), signature).verify([b"12345"])
    with pytest.raises(Unverified, match="no_secret"):
        twilio.reported(url, body.encode(), signature).verify([])


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"%ff=%fe", b"a" * 60_000, b"&&&=&", b"MessageStatus=%00", b"{}"])
def test_no_body_raises_anything_but_a_refusal(body: bytes) -> None:
    try:
        report = twilio.reported(ADDRESS, body, "A" * 27 + "=")
    except Unverified:
        return
    with pytest.raises(Unverified):
        report.verify([b"12345"])
    assert report.told().type == "unreadable"
    assert len(report.event_id) <= 128


@pytest.mark.parametrize(
    "secret", ["", "short", "a b c d e f g", "SK0:token-of-the-tests", f"{ACCOUNT}:SK1:x", "é" * 20]
)
def test_what_is_no_token_is_refused_and_not_repeated(secret: str) -> None:
    with pytest.raises(ValueError, match="no token") as refusal:
        twilio.key_of(secret)
    assert not secret or secret not in str(refusal.value)
