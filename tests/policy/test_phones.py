"""A phone's number and a chat have one form each; everything else is refused by a sentence that never repeats it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifications.policy.endpoints import address_for, words_for
from notifications.policy.phones import chat, phone_number
from notifications.policy.recipients import InvalidAddress, mask
from notifications.providers import telegram
from notifications.providers.base import Unsendable
from notifications.providers.twilio_message import phone

NUMBERS = ("+447700900123", "+15550001111", "+29012345", "+999999999999999", "+8613800138000")
NO_NUMBERS = (
    *("", " ", "+", "447700900987", "00447700900987", "07700900987", "+04477009009", "+44 7700 900987"),
    *("+44-7700-900987", "+44(7700)900987", "+44.7700900987", "+1234567", "+1234567890123456", "+44770a900987"),
    *("+447700900987\n", "\t+447700900987", "+447700900987;ext=1", "tel:+447700900987", "++447700900987"),
    *("\uff0b447700900987", "+\u0664\u0669\u0661\u0665\u0661\u0661\u0662\u0663", "+447700900987,+15550001111"),
    *("ana@example.com", "+447700900987@example.com", "\u00a0+447700900987"),
)
CHATS = ("1", "123456789", "-1001234567890", "@acme", "@Acme_News", "@a" + "b" * 31, "9" * 16)
NO_CHATS = (
    *("", " ", "0", "-0", "-", "--5", "+5", "007", "1" * 17, "12 34", "12.5", "1e9", "@", "@abc", "@1acme", "@_acme"),
    *(
        "acme",
        "@acme-news",
        "@acme.news",
        "@ acme",
        "acme@",
        "@a" + "b" * 32,
        "https://t.me/acme",
        "t.me/acme",
        "@acme\n",
    ),
    *("123456789,987654321", "\u0661\u0662\u0663", "@\u0430cme", "ana@example.com", "1234567890\x00"),
)


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_is_kept_digit_by_digit(text: str) -> None:
    assert phone_number(f" {text} ") == text == phone(text) == address_for("sms-alerts", text)


@pytest.mark.parametrize("text", CHATS)
def test_a_chat_is_kept_letter_by_letter(text: str) -> None:
    assert chat(f" {text} ") == text == address_for("telegram", text)
    assert telegram._CHAT.fullmatch(text)


@pytest.mark.parametrize(
    ("channel", "text"),
    [*(("sms", text) for text in NO_NUMBERS), *(("telegram", text) for text in NO_CHATS)],
    ids=ascii,
)
def test_anything_else_is_refused_by_a_sentence_that_does_not_repeat_it(channel: str, text: str) -> None:
    with pytest.raises(InvalidAddress) as refusal:
        address_for(channel, text)
    assert refusal.value.reason.endswith(".")
    assert len(text) < 5 or text not in refusal.value.reason


@pytest.mark.parametrize("value", [None, 447700900123, b"+447700900123", ["+447700900123"]])
def test_what_is_no_text_is_no_address(value: Any) -> None:
    for channel in ("sms", "telegram"):
        with pytest.raises(InvalidAddress, match="must be text"):
            address_for(channel, value)


@pytest.mark.parametrize(
    ("text", "says"),
    [("07700900123", "country code"), ("+44 7700 900988", "without blanks"), ("+1234567", "8 to 15 digits"),
     ("ana", "something else than digits"), ("", "is empty")],
)  # fmt: skip
def test_the_sentence_says_what_to_mend(text: str, says: str) -> None:
    with pytest.raises(InvalidAddress, match=says):
        phone_number(text)


@given(st.text(alphabet="+-0123456789 @aZ_()\n\u0663", max_size=20))
def test_the_intake_and_the_adapters_take_the_same(text: str) -> None:
    for read, sends in ((phone_number, _sends), (chat, lambda one: bool(telegram._CHAT.fullmatch(one)))):
        try:
            address = read(text)
        except InvalidAddress:
            assert not sends(text.strip(" "))
            continue
        assert sends(address)
        assert address == read(address)


def _sends(text: str) -> bool:
    try:
        return phone(text) == text
    except Unsendable:
        return False


def test_a_channels_name_says_what_its_addresses_are() -> None:
    assert [words_for(channel) for channel in ("sms", "sms-alerts", "smsx", "telegram", "telegram-ops", "fax", "")] == [
        *("phone number", "phone number", None, "chat of Telegram", "chat of Telegram", None, None)
    ]
    assert words_for("email") == "e-mail address"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("+447700900123", "+44•••23"),
        ("+15550001111", "+1•••11"),
        ("+79161234567", "+7•••67"),
        ("+35312345678", "+353•••78"),
        ("+29012345", "+290•••45"),
        ("+8613800138000", "+86•••00"),
        ("+99912345678", "+999•••78"),
        ("+0012345678", "+001•••78"),
        ("123456789", "1•••"),
        ("-1001234567890", "-•••"),
        ("@acme_news", "@a•••"),
    ],
)
def test_people_see_the_country_and_the_last_two_digits_at_most(address: str, shown: str) -> None:
    assert mask(address) == shown


@given(st.from_regex(r"\+[1-9][0-9]{7,14}", fullmatch=True))
def test_a_masked_number_hides_at_least_three_digits(address: str) -> None:
    shown, _, rest = mask(address).partition("•••")
    assert address.startswith(shown)
    assert rest == address[-2:]
    assert len(address) - len(shown) - len(rest) >= 3
