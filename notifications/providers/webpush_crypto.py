"""What makes a message readable for one browser alone, and tells its push service who sends it.

Source: RFC 8291 (message encryption) by http_ece, RFC 8292 (voluntary identification, VAPID) by py_vapid.
"""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass
from typing import Final

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from py_vapid import Vapid02

# RFC 8291 section 4: of 4096 octets that a service must take, 86 are the header, 16 the tag and 1 the end of padding.
MAX_PLAIN: Final = 3993
# RFC 8292 section 2: at most 24 hours. Half of it leaves room for a clock that is wrong.
TOKEN_S: Final = 43_200
_SECRET: Final = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Ephemeral:
    """What an encryption is salted with; for the examples of the standard alone."""

    key: ec.EllipticCurvePrivateKey
    salt: bytes


def encrypted(plain: bytes, *, p256dh: bytes, auth: bytes, by: Ephemeral | None = None) -> bytes:
    """Give one record for the owner of the keys, of other bytes each time: key and salt are fresh."""
    by = by or Ephemeral(ec.generate_private_key(ec.SECP256R1()), os.urandom(16))
    found: bytes = http_ece.encrypt(plain, salt=by.salt, private_key=by.key, dh=p256dh, auth_secret=auth)
    return found


def signer(secret: str) -> Vapid02:
    """Give what signs with a private key: 32 bytes in base64url. Raises ValueError, and never with the key in it."""
    sentence = "A VAPID key is 32 bytes in base64url, as notify vapid-key makes one."
    if not _SECRET.fullmatch(secret):
        raise ValueError(sentence)
    try:
        return Vapid02.from_raw(secret.encode())
    except ValueError:  # nought, or beyond the order of the curve
        raise ValueError(sentence) from None


def public_key(secret: str) -> str:
    """Give what pages subscribe with: the uncompressed point in base64url. Raises ValueError."""
    point = signer(secret).public_key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return base64.urlsafe_b64encode(point).decode().rstrip("=")


def new_secret() -> str:
    """Give a new private key."""
    number = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
    return base64.urlsafe_b64encode(number.to_bytes(32, "big")).decode().rstrip("=")


def authorization(by: Vapid02, *, audience: str, contact: str, now_s: int) -> str:
    """Give the header's value for one push service: its origin, and whom it can write to, as mailto:…"""
    # Fresh claims for each call: an audience that was kept would be another service's.
    claims = {"aud": audience, "exp": now_s + TOKEN_S, "sub": contact}
    header: str = by.sign(claims)["Authorization"]
    return header
