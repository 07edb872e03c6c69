"""Who may tell us anything: every defect of a signature is refused, and nothing that a stranger sends is a fault."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from notifications.providers.standard_webhooks import key_of
from notifications.receipts import verify as product
from notifications.receipts.verify import Unverified
from tests.receipts.post import NEW, OLD, sign

NOW = 1_780_000_000
ID = "msg_2LJ8v0n1Yx0n7C5q1nJr3bB6f4t"
BODY = '{"type": "email.delivered",  "data": {"subject": "Überblick 季度"}}'.encode()
# Computed by hand with OpenSSL over `msg_1.1780000000.{}` under bytes 0 to 31; no code of ours had a part in it.
VECTOR_SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
VECTOR_SIGNATURE = "v1,/z9CSCjIZDHwDzkvp62dkGVfuX+1PonHAPPqQIKfvXc="


def verify(given: Mapping[str, str], body: bytes, keys: Sequence[bytes], *, now_s: float) -> str:
    """Do what the view does; give the event's id."""
    stamp = product.stamped(given, now_s=now_s)
    product.verify(stamp, body, keys)
    return stamp.event_id


def headers(signature: str, *, event_id: str = ID, timestamp: object = NOW, family: str = "svix") -> dict[str, str]:
    return {f"{family}-id": event_id, f"{family}-timestamp": str(timestamp), f"{family}-signature": signature}


def signed(secret: str = NEW, body: bytes = BODY, **more: object) -> dict[str, str]:
    event_id, timestamp = str(more.get("event_id", ID)), more.get("timestamp", NOW)
    return headers(sign(secret, event_id, timestamp, body), event_id=event_id, timestamp=timestamp)


def refusal(given: dict[str, str], body: bytes = BODY, keys: tuple[str, ...] = (NEW, OLD)) -> str:
    with pytest.raises(Unverified) as caught:
        verify(given, body, [key_of(secret) for secret in keys], now_s=NOW)
    return str(caught.value)


@pytest.mark.parametrize("secret", [NEW, OLD])
@pytest.mark.parametrize("family", ["svix", "webhook"])
def test_each_of_two_secrets_and_both_families_of_headers_are_taken(secret: str, family: str) -> None:
    given = headers(sign(secret, ID, NOW, BODY), family=family)
    assert verify(given, BODY, [key_of(NEW), key_of(OLD)], now_s=NOW) == ID


def test_a_signature_computed_without_us_is_taken() -> None:
    given = headers(VECTOR_SIGNATURE, event_id="msg_1")
    assert verify(given, b"{}", [key_of(VECTOR_SECRET)], now_s=NOW) == "msg_1"


def test_a_signature_of_another_maker_is_taken() -> None:
    made = Webhook(NEW).sign(ID, datetime.fromtimestamp(NOW, UTC), BODY.decode())
    assert verify(headers(made), BODY, [key_of(NEW)], now_s=NOW) == ID


def test_one_good_signature_among_foreign_ones_is_enough() -> None:
    other = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
    mixed = f"v1a,{'A' * 88} {sign(other, ID, NOW, BODY)} v1,é {sign(OLD, ID, NOW, BODY)}"
    assert verify(headers(mixed), BODY, [key_of(NEW), key_of(OLD)], now_s=NOW) == ID


def test_more_signatures_than_any_rotation_needs_are_not_tried() -> None:
    assert refusal(headers(" ".join(["v1,x"] * 16 + [sign(NEW, ID, NOW, BODY)]))) == "signature"


@pytest.mark.parametrize("age_s", [-300, -299, 0, 299, 300])
def test_within_five_minutes_either_way_it_is_fresh(age_s: int) -> None:
    assert verify(signed(timestamp=NOW - age_s), BODY, [key_of(NEW)], now_s=NOW) == ID


@pytest.mark.parametrize("age_s", [301, 360, -301, -360, NOW, -(10**11)])
def test_stale_and_future_ones_are_refused(age_s: int) -> None:
    assert refusal(signed(timestamp=NOW - age_s)) == "stale"


@pytest.mark.parametrize(
    "timestamp",
    ["abc", "", " ", "-1", "1e9", f"{NOW}.0", f" {NOW}", f"{NOW}\n", "１７８００００００００", "9" * 13, "0x10", "NaN"],
)
def test_a_timestamp_that_is_no_number_is_refused(timestamp: str) -> None:
    assert refusal(signed(timestamp=timestamp)) in ("malformed", "headers")


@pytest.mark.parametrize("event_id", ["a.b", "", " ", "é", "a b", "x" * 129, "a\n", "../..", "'; --"])
def test_an_id_with_anything_but_letters_and_digits_is_refused(event_id: str) -> None:
    assert refusal(signed(event_id=event_id)) in ("malformed", "headers")


def test_a_byte_changed_anywhere_is_noticed() -> None:
    given = signed()
    for place in range(len(BODY)):
        assert refusal(given, BODY[:place] + bytes([BODY[place] ^ 1]) + BODY[place + 1 :]) == "signature"
    assert refusal(given, BODY + b" ") == refusal(given, b"") == "signature"
    assert refusal(given | {"svix-id": ID + "x"}) == refusal(given | {"svix-timestamp": str(NOW + 1)}) == "signature"


def test_headers_of_two_families_are_never_mixed() -> None:
    given = signed()
    given["webhook-signature"] = given.pop("svix-signature")
    assert refusal(given) == "headers"


@pytest.mark.parametrize("missing", ["svix-id", "svix-timestamp", "svix-signature"])
def test_a_missing_header_is_refused(missing: str) -> None:
    given = signed()
    del given[missing]
    assert refusal(given) == "headers"


def test_a_secret_that_is_no_longer_listed_is_refused_and_so_is_everything_without_one() -> None:
    assert refusal(signed(OLD), keys=(NEW,)) == "signature"
    assert refusal(signed(), keys=()) == "no_secret"


@given(st.text(), st.text(), st.text(), st.binary(max_size=200))
def test_whatever_is_sent_is_refused_and_never_a_fault(event_id: str, timestamp: str, given: str, body: bytes) -> None:
    """The reference package raises ValueError and others here, which would be answers of 500 on demand."""
    for stamp in (timestamp, str(NOW)):
        assert refusal(headers(given, event_id=event_id, timestamp=stamp), body)
        assert refusal(headers(given, timestamp=stamp), body)


@pytest.mark.parametrize("text", ["garbage", "v1,a,b", "v1,abc", " v1,abc", "v1", "v1,", ",", "v1,\udcff", "v2,abc"])
def test_signatures_that_upset_the_reference_package_are_merely_refused(text: str) -> None:
    assert refusal(headers(text)) in ("signature", "headers")


@pytest.mark.parametrize("size", [0, 1, 23, 65, 200])
def test_a_secret_of_the_wrong_length_cannot_be_configured(size: int) -> None:
    with pytest.raises(ValueError, match="24 to 64 bytes"):
        key_of("whsec_" + base64.b64encode(bytes(size)).decode())


@pytest.mark.parametrize("text", ["", "whsec_", "whsec_é", "re_123", "whsec_====", "whsec_" + "A" * 41])
def test_a_secret_that_is_none_cannot_be_configured(text: str) -> None:
    with pytest.raises(ValueError, match="base64"):
        key_of(text)


def test_a_secret_of_either_alphabet_with_or_without_padding_is_the_same_key() -> None:
    key = bytes([0xFB, 0xFF, 0xFE] * 9 + [0xFF])
    plain = base64.b64encode(key).decode()
    for text in (plain, plain.rstrip("="), base64.urlsafe_b64encode(key).decode()):
        assert key_of("whsec_" + text) == key
