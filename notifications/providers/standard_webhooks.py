"""Signing what receivers of our webhooks verify: for the channel of that name, and for the outcomes feed.

HMAC-SHA256 over `id.timestamp.body`, one signature for each key while a secret is rotated.
Source: standardwebhooks.com, specification 1.0.0 ("Signature scheme", "Symmetric").
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_SECRET: Final = re.compile(r"(?:whsec_)?([A-Za-z0-9+/_-]+={0,2})")
_TO_PLAIN: Final = str.maketrans("-_", "+/")
USER_AGENT: Final = "notifyops"


@dataclass(frozen=True, slots=True)
class Event:
    """One event as it is sent: the same id and bytes at each attempt."""

    id: str
    body: bytes


def key_of(secret: str) -> bytes:
    """Give the signing key of `whsec_…`. Raises ValueError for one that is not 24 to 64 bytes in base64."""
    found = _SECRET.fullmatch(secret)
    try:
        key = base64.b64decode(found[1].translate(_TO_PLAIN) + "==", validate=False) if found else b""
    except binascii.Error:  # a length that no base64 has
        key = b""
    # Source: the specification, "Symmetric": 24 to 64 bytes. A shorter one could be guessed.
    if not 24 <= len(key) <= 64:
        raise ValueError("a signing secret is whsec_ followed by 24 to 64 bytes in base64")
    return key


def keys_of(secrets: str) -> list[bytes]:
    """Give the keys of one or more secrets, parted by commas or blanks, in their order. Raises ValueError."""
    return [key_of(secret) for secret in re.split(r"[,\s]+", secrets) if secret]


def secret_of(key: bytes) -> str:
    """Give a key as its receiver is told it."""
    return "whsec_" + base64.b64encode(key).decode()


def endpoint_key(key: bytes, url: str) -> bytes:
    """Give the key of one endpoint, made of the account's: who knows it can forge nothing for another endpoint."""
    return hmac.digest(key, b"endpoint:" + url.encode(), hashlib.sha256)


def headers_of(event: Event, keys: Sequence[bytes], *, now_s: int) -> dict[str, str]:
    """Sign with every key: while a secret is rotated, the receiver knows one of them."""
    signed = f"{event.id}.{now_s}.".encode() + event.body
    found = (base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode() for key in keys)
    return {
        "content-type": "application/json",
        "user-agent": USER_AGENT,
        "webhook-id": event.id,
        "webhook-timestamp": str(now_s),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in found),
    }
