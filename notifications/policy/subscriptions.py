"""The address of a browser: where its push service takes messages, and the keys that these are encrypted for.

One form: the endpoint, `#`, the key p256dh, `.`, the secret auth, both in base64url without padding. What a browser
gives as JSON becomes it. The intake knows the same (sql/push_v1.sql), and a test compares the two.

Source: W3C Push API, "PushSubscription" (toJSON); RFC 8291 section 2 (a point of P-256, and 16 bytes of secret).
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Final, NoReturn

from notifications.policy.recipients import InvalidAddress

# Of the whole; the keys take 111 of it. The endpoints of the large services have 120 to 600 characters.
MAX_SUBSCRIPTION: Final = 1000
# Of a browser's JSON, which may hold more than the address.
MAX_JSON: Final = 4000
# 65 bytes that begin with 4, and 16 bytes; the last letter of each holds unused bits, which must be nought: two ways to
# write one key would be two addresses.
_KEYS: Final = re.compile(
    r"(?P<p256dh>B[A-P][A-Za-z0-9_-]{84}[AEIMQUYcgkosw048])\.(?P<auth>[A-Za-z0-9_-]{21}[AQgw])", re.ASCII
)
# The curve P-256 (FIPS 186-5, SP 800-186 section 3.2.1.3): y² = x³ - 3x + b modulo p.
_P: Final = 2**256 - 2**224 + 2**192 + 2**96 - 1
_B: Final = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
_TO_URL: Final = str.maketrans("+/", "-_")


def is_pushed(channel: str) -> bool:
    """Say whether the channel's addresses are browsers' subscriptions to push services."""
    return channel.partition("-")[0] == "push"


def subscription_text(text: str) -> str:
    """Give the one form of a browser's JSON; any other text as it is, which may be the form already."""
    plain = text.strip(" ")
    if not plain.startswith("{") or len(plain) > MAX_JSON:
        return plain
    try:
        told: Any = json.loads(plain, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return plain
    keys = told.get("keys")
    parts = [told.get("endpoint"), *((keys.get("p256dh"), keys.get("auth")) if isinstance(keys, dict) else (None,))]
    if not all(isinstance(part, str) for part in parts):
        return plain
    endpoint, p256dh, auth = parts
    return f"{endpoint}#{_as_url(p256dh)}.{_as_url(auth)}"


def checked_keys(text: str) -> None:
    """Check what stands behind the `#`. Raises InvalidAddress, with a sentence that repeats none of it."""
    found = _KEYS.fullmatch(text)
    if found is None:
        raise InvalidAddress(
            "The subscription must have the keys p256dh (65 bytes) and auth (16 bytes) in base64url, as a browser has."
        )
    point = base64.urlsafe_b64decode(found["p256dh"] + "=")
    x, y = int.from_bytes(point[1:33], "big"), int.from_bytes(point[33:], "big")
    if x >= _P or y >= _P or (y * y - (x * x * x - 3 * x + _B)) % _P:
        raise InvalidAddress(
            "The subscription's key p256dh is no point of the curve P-256, so nothing could be encrypted for it."
        )


def _as_url(key: str) -> str:
    return key.rstrip("=").translate(_TO_URL)


def _no_number(_name: str) -> NoReturn:
    raise ValueError("not a number of JSON")
