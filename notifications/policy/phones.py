"""Addresses that no mail goes to: a phone's number, and a chat of Telegram; the one form of each.

A channel's name says its kind by what stands before a dash: `sms` and `sms-alerts` have numbers, `telegram` has chats.
"""

from __future__ import annotations

import re
from typing import Final

from notifications.policy.recipients import InvalidAddress

# ITU-T E.164: at most 15 digits, the country's code first; a shorter number than 8 digits reaches nobody abroad.
_NUMBER: Final = re.compile(r"\+[1-9][0-9]{7,14}")
_ALMOST: Final = re.compile(r"[+0-9 ().\u00a0/-]+")
# Source: core.telegram.org/bots/api (ids have at most 52 significant bits); names have 4 to 32 characters.
_CHAT: Final = re.compile(r"-?[1-9][0-9]{0,15}|@[A-Za-z][A-Za-z0-9_]{3,31}")
_EXAMPLE: Final = "for example +447700900123."


def is_phone(channel: str) -> bool:
    """Say whether the channel's addresses are phone numbers."""
    return channel.partition("-")[0] == "sms"


def is_chat(channel: str) -> bool:
    """Say whether the channel's addresses are chats of Telegram."""
    return channel.partition("-")[0] == "telegram"


def phone_number(text: object) -> str:
    """Give a number in the form of E.164, such as +447700900123, trimmed. Raises InvalidAddress.

    Only one way of writing it is taken, since a block and a comparison know an address by its letters.
    """
    if not isinstance(text, str):
        raise InvalidAddress(f"The phone number must be text, {_EXAMPLE}")
    number = text.strip(" ")
    if _NUMBER.fullmatch(number):
        return number
    if not number:
        raise InvalidAddress(f"The phone number is empty; give one with its country code, {_EXAMPLE}")
    if not _ALMOST.fullmatch(number):
        raise InvalidAddress(f"The phone number holds something else than digits; give it as + and digits, {_EXAMPLE}")
    if not number.startswith("+") or number.startswith("+0"):
        raise InvalidAddress(f"The phone number must begin with + and the country code, {_EXAMPLE}")
    if not number[1:].isdigit():
        raise InvalidAddress(f"Write the phone number without blanks, dashes and brackets, {_EXAMPLE}")
    raise InvalidAddress(f"The phone number must have 8 to 15 digits behind the +, {_EXAMPLE}")


def chat(text: object) -> str:
    """Give a chat as Telegram knows it: a number, or the @name of a public channel, trimmed. Raises InvalidAddress."""
    if not isinstance(text, str):
        raise InvalidAddress("The chat must be text, for example 123456789 or @acme_news.")
    name = text.strip(" ")
    if not _CHAT.fullmatch(name):
        raise InvalidAddress(
            "Give the chat's number, such as 123456789 or -1001234567890, or a public channel's name: @acme_news."
        )
    return name
