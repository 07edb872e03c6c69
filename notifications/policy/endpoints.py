"""Which kind of address a channel has: a mailbox, one that is called, a browser, a phone's or a chat; and their forms.

A channel's name says its kind by what stands before a dash: `webhook` and `webhook-erp` are called, `push` and
`push-shop` are browsers'. What is not listed here or in phones.py is mail's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from notifications.policy.phones import chat, is_chat, is_phone, phone_number
from notifications.policy.recipients import InvalidAddress, normalise_address
from notifications.policy.subscriptions import MAX_SUBSCRIPTION, checked_keys, is_pushed, subscription_text

MAX_URL: Final = 1000
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*|\[[0-9a-f:.]+\]")
_PATH: Final = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:/?-]|%[0-9A-Fa-f]{2})*", re.ASCII)
_CALLED: Final = re.compile(
    r"(?P<scheme>[^:]*)://(?P<host>\[[^]]*\]|[^/?:]*)(?::(?P<port>[^/?]*))?(?P<rest>.*)", re.DOTALL
)


def is_called(channel: str) -> bool:
    """Say whether the channel's addresses are called, instead of written to."""
    return channel.partition("-")[0] == "webhook"


def goes_by_account(channel: str) -> bool:
    """Say whether the recipient is called: then the account redirects, to an address of the same kind."""
    return is_called(channel) or is_pushed(channel)


def address_for(channel: str, text: object) -> str:
    """Give the address as the channel keeps and uses it. Raises InvalidAddress."""
    for is_its_kind, read, _ in _KINDS:
        if is_its_kind(channel):
            return read(text)
    return normalise_address(text)


def words_for(channel: str) -> str | None:
    """Give what an address of the channel is called; None where its form is known to the adapter alone."""
    if channel == "email":
        return "e-mail address"
    return next((words for is_its_kind, _, words in _KINDS if is_its_kind(channel)), None)


def called_address(text: object, *, longest: int = MAX_URL) -> str:
    """Give an address such as https://hooks.example.com/in, trimmed and otherwise as it is. Raises InvalidAddress.

    Only one form is taken, since a block and a comparison know an address by its letters: host in lower case, no login,
    no fragment. Whether it may be called at all is judged at the call, when its name is resolved.
    """
    if not isinstance(text, str):
        raise InvalidAddress("The address must be text, for example https://hooks.example.com/in.")
    address = text.strip(" ")
    if len(address) > longest:
        raise InvalidAddress(f"The address has more than {longest} characters; give a shorter one.")
    parts = _CALLED.fullmatch(address)
    if parts is None or parts["scheme"] not in ("http", "https"):
        raise InvalidAddress("The address must begin with https://, for example https://hooks.example.com/in.")
    if "@" in address or "#" in address:
        raise InvalidAddress("The address must have no login, no @ (write %40) and no part behind a #.")
    if not _NAME.fullmatch(parts["host"]):
        raise InvalidAddress("The host must be a name in small letters of ASCII, such as hooks.example.com.")
    if parts["port"] is not None and not _is_port(parts["port"]):
        raise InvalidAddress("The port behind the host must be a number from 1 to 65535, or left out.")
    if parts["rest"] and (parts["rest"][0] not in "/?" or not _PATH.fullmatch(parts["rest"])):
        raise InvalidAddress("The path holds a character that cannot stand there; write it as % and its two digits.")
    return address


def push_address(text: object) -> str:
    """Give a browser's subscription in its one form; a browser's JSON becomes it. Raises InvalidAddress."""
    if not isinstance(text, str):
        raise InvalidAddress("The address must be text: the JSON of the browser's subscription.")
    address = subscription_text(text)
    if len(address) > MAX_SUBSCRIPTION:
        raise InvalidAddress("The subscription has more than 1000 characters; no push service needs as many.")
    endpoint, mark, keys = address.partition("#")
    if not mark or not endpoint.startswith("https://"):
        raise InvalidAddress(
            "Give the JSON of the browser's subscription, whose endpoint begins with https:// and which has both keys."
        )
    if endpoint.startswith("https://["):
        raise InvalidAddress("The endpoint's host must be a name, as push services have it.")
    if " " in endpoint:
        raise InvalidAddress("The endpoint holds a blank; remove it.")
    called_address(endpoint)
    checked_keys(keys)
    return address


def _is_port(text: str) -> bool:
    return re.fullmatch(r"[1-9][0-9]{0,4}", text) is not None and int(text) <= 65535


_KINDS: Final[tuple[tuple[Callable[[str], bool], Callable[[object], str], str], ...]] = (
    (is_called, called_address, "address to call"),
    (is_pushed, push_address, "push subscription"),
    (is_phone, phone_number, "phone number"),
    (is_chat, chat, "chat of Telegram"),
)
