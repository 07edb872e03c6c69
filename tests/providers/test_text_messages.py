"""What a message becomes as a text message and in a chat: its parts, its sender, its end, and nothing smuggled."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifications.providers.base import Message, Request, Unsendable
from notifications.providers.sms_parts import part_count
from notifications.providers.telegram import frozen_chat
from notifications.providers.twilio import TwilioProvider
from notifications.providers.twilio_message import Text, frozen_text, read_text
from tests.providers import candidate_telegram, candidate_twilio
from tests.providers.attempts import MESSAGE
from tests.providers.candidate_twilio import ACCOUNT, SECRET
from tests.providers.scripted_server import answering, scripted

SMS = candidate_twilio.CANDIDATE.message
CHAT = candidate_telegram.CANDIDATE.message
REPORTS = "https://shop.example.com/in"


def frozen(message: Message = SMS, *, most_parts: int = 3, reports_to: str = REPORTS, **changes: Any) -> Text:
    read = read_text(frozen_text(replace(message, **changes), reports_to=reports_to, most_parts=most_parts))
    assert read is not None
    return read


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", 1), ("a" * 160, 1), ("a" * 161, 2), ("a" * 306, 2), ("a" * 307, 3),
        ("é" * 160, 1), ("€" * 80, 1), ("€" * 81, 2), ("a" * 152 + "€" + "a" * 20, 2),
        # Escape and letter are not parted: two parts would hold 306 septets.
        ("a" * 152 + "€" + "a" * 152, 3),
        ("ç" * 70, 1), ("ç" * 71, 2), ("季" * 134, 2), ("季" * 135, 3),
        ("👍" * 35, 1), ("👍" * 36, 2), ("👍" * 66, 2), ("👍" * 67, 3), ("`" + "a" * 70, 2),
        ("a\r\nb", 1), ("Ω" * 160, 1), ("ω" * 71, 2),
    ],
)  # fmt: skip
def test_parts_are_counted_by_the_alphabet_that_carries_the_text(text: str, parts: int) -> None:
    assert part_count(text) == parts


@given(st.text(max_size=700))
def test_no_text_has_fewer_parts_than_its_letters_need(text: str) -> None:
    count = part_count(text)
    units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    assert count >= -(-units // 160)
    assert count <= max(1, -(-units // 66))


def test_a_text_of_more_parts_than_allowed_is_refused_before_it_costs_them() -> None:
    assert frozen(short="a" * 306, most_parts=2).field("Body") == "a" * 306
    with pytest.raises(Unsendable) as refusal:
        frozen(short="a" * 307, most_parts=2)
    assert refusal.value.code == "too_many_parts"


@pytest.mark.parametrize(("short", "code"), [(None, "no_short_text"), ("", "empty_body"), (" \n", "empty_body")])
def test_a_type_without_a_short_text_is_refused_by_a_code_of_its_own(short: str | None, code: str) -> None:
    with pytest.raises(Unsendable) as refusal:
        frozen(short=short)
    assert refusal.value.code == code


SERVICE = "MG" + "0a1b2c3d" * 4


@pytest.mark.parametrize(
    ("sender", "field"),
    [
        ("+15550001111", "From"),
        ("12345", "From"),
        ("Acme", "From"),
        ("Acme 24-7", "From"),
        (SERVICE, "MessagingServiceSid"),
    ],
)
def test_a_sender_is_a_number_a_name_or_a_service(sender: str, field: str) -> None:
    text = frozen(sender=sender)
    assert text.field(field) == sender
    assert {"From", "MessagingServiceSid"} - {field} == {"From", "MessagingServiceSid"} - set(
        parse_qs(text.form.decode())
    )


@pytest.mark.parametrize(
    "sender",
    [
        "",
        "Acme <reports@example.com>",
        "A name of twelve",
        "123456789",
        "+44 7700 90098",
        "Acme&To=+1",
        "Acmé",
        "Acme\n",
    ],
)
def test_any_other_sender_is_refused(sender: str) -> None:
    with pytest.raises(Unsendable) as refusal:
        frozen(sender=sender)
    assert refusal.value.code == "invalid_sender"


@given(st.text(min_size=1, max_size=80).filter(lambda text: text.strip()))
def test_no_text_adds_a_field_or_changes_one(short: str) -> None:
    """SEC: a form is parted by & and =, which a text may hold."""
    text = frozen(short=short, most_parts=10)
    fields = parse_qsl(text.form.decode(), keep_blank_values=True, strict_parsing=True)
    assert [name for name, _ in fields] == ["To", "From", "Body", "StatusCallback"]
    assert text.field("To") == SMS.to
    assert text.form.isascii()


def test_reports_go_to_an_address_that_names_the_message_and_nothing_of_its_content() -> None:
    tags = {"site": "shop", "intent": "17", "generation": "2", "root": "9", "webhooks": "off", "customer": "ana"}
    assert frozen(tags=tags).field("StatusCallback") == f"{REPORTS}?site=shop&intent=17&generation=2&root=9"
    assert frozen(reports_to="").field("StatusCallback") == ""
    with pytest.raises(Unsendable):
        frozen(tags=tags | {"site": "shop&intent=1"})


def test_its_end_is_counted_at_each_call() -> None:
    assert SMS.prepared_at is not None
    ends = SMS.prepared_at + timedelta(minutes=10)
    text, at_s = frozen(expires_at=ends), ends.timestamp()
    posted = [parse_qs(text.posted(at_s - ahead_s).decode())["ValidityPeriod"] for ahead_s in (600, 90, 0, -5, 90_000)]
    assert posted == [["600"], ["90"], ["1"], ["1"], ["36000"]]
    assert frozen().posted(at_s) == frozen().form


def test_the_call_is_a_form_with_a_login_to_the_accounts_own_address() -> None:
    key = f"{ACCOUNT}:SK{'9' * 32}:secret-of-the-key-01"

    async def play(secret: str) -> bytes:
        async with scripted(answering(candidate_twilio.accepted())) as server:
            provider = TwilioProvider(base_url=f"{server.url}/gate/", secret=secret, clock=lambda: 0.0)
            await provider.send(Request("key", provider.prepare(SMS), 5.0, lambda: None))
            await provider.close()
            return server.requests[0]

    for secret, login in ((SECRET, ACCOUNT), (key, "SK" + "9" * 32)):
        head, _, body = asyncio.run(play(secret)).partition(b"\r\n\r\n")
        assert head.startswith(f"POST /gate/2010-04-01/Accounts/{ACCOUNT}/Messages.json HTTP/1.1".encode())
        assert b"Content-Type: application/x-www-form-urlencoded" in head
        assert login not in repr(body)
        assert parse_qs(body.decode())["Body"] == ["Q3 is ready."]


@pytest.mark.parametrize(
    "bytes_",
    [b"SMS \r\n\r\nTo=%2B447700900123", b"SMS a b\r\n\r\nTo=%2B447700900123&Body=x",
     b"SMS \r\nUntil: x\r\n\r\nTo=%2B447700900123&B=x", b"SMS \r\n\r\nTo=ana&Body=x",
     b"SMS \r\n\r\nTo=%2B447700900123&Body=x\n"],
)  # fmt: skip
def test_bytes_of_another_form_are_not_sent(bytes_: bytes) -> None:
    assert read_text(bytes_) is None


def test_a_chats_text_is_plain_and_within_what_the_service_takes() -> None:
    body = frozen_chat(replace(CHAT, text="<b>*_[x](y)</b>\n"))
    assert body.endswith(b'{"chat_id":-1001234567890,"text":"<b>*_[x](y)</b>"}')
    assert b"parse_mode" not in body
    assert frozen_chat(replace(CHAT, to="@Acme", text="👍" * 2048))
    for text in ("a" * 4097, "👍" * 2049):
        with pytest.raises(Unsendable) as refusal:
            frozen_chat(replace(CHAT, text=text))
        assert refusal.value.code == "too_large"


def test_the_same_message_of_mail_is_none_for_a_phone() -> None:
    with pytest.raises(Unsendable) as refusal:
        frozen(MESSAGE)
    assert refusal.value.code == "invalid_recipient"
