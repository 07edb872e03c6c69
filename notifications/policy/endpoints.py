"""Which kind of address a channel has: a mailbox, or an address that is called; the one form of the latter.

A channel's name says its kind by what stands before a dash: `webhook` and `webhook-erp` are called, others are mail's.
"""

from __future__ import annotations

import re
from typing import Final

from notifications.policy.recipients import InvalidAddress, normalise_address

MAX_URL: Final = 1000
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*|\[[0-9a-f:.]+\]")
_PATH: Final = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:/?-]|%[0-9A-Fa-f]{2})*", re.ASCII)
_CALLED: Final = re.compile(
    r"(?P<scheme>[^:]*)://(?P<host>\[[^]]*\]|[^/?:]*)(?::(?P<port>[^/?]*))?(?P<rest>.*)", re.DOTALL
)


def is_called(channel: str) -> bool:
    """Say whether the channel's addresses are called, instead of written to."""
    return channel.partition("-")[0] == "webhook"


def address_for(channel: str, text: object) -> str:
    """Give the address as the channel keeps and uses it. Raises InvalidAddress."""
    return called_address(text) if is_called(channel) else normalise_address(text)


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


def _is_port(text: str) -> bool:
    return re.fullmatch(r"[1-9][0-9]{0,4}", text) is not None and int(text) <= 65535
