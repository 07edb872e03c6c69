"""Decide whether a mail service's webhook was sent by somebody who knows a secret of the account.

Postmark signs nothing: what is in the address's user and password (HTTP basic authentication) is the secret. Mailgun
signs a time and a token, but not the body: each token is believed once (esp_events.py).

Source: django-anymail 15.2, webhooks/base.py and webhooks/mailgun.py; Mailgun's schedule of repeats:
documentation.mailgun.com/docs/mailgun/user-manual/webhooks/webhook-retries (read 2026-12).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from notifications.receipts.verify import TOLERANCE_S, Unverified

# A password that a person would choose can be guessed: 24 characters cannot.
SHORTEST: Final = 24
# Mailgun repeats an event for 8 hours, and does not say whether it signs anew each time.
REPEATED_FOR_S: Final = 12 * 3600
_TIMESTAMP: Final = re.compile(r"[0-9]{1,12}")
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{16,128}")
_SIGNATURE: Final = re.compile(r"[0-9a-f]{64}")


class Claim(NamedTuple):
    """What a request shows for itself; nothing is proven yet. `signed`: what was signed, empty where nothing was."""

    shown: bytes
    signed: bytes = b""


def basic(headers: Mapping[str, str], body: bytes, *, now_s: float) -> Claim:
    """Give the user and password that the request came with. Raises Unverified."""
    scheme, _, given = (headers.get("Authorization") or "").partition(" ")
    if scheme.lower() != "basic":
        raise Unverified("headers")
    try:
        return Claim(base64.b64decode(given.strip(), validate=True))
    except (binascii.Error, ValueError):  # a length that base64 has not, or characters outside ASCII
        raise Unverified("malformed") from None


def knows_basic(claim: Claim, secrets: Sequence[str]) -> None:
    """Return where it is `user:password` of the account. Raises Unverified, and nothing else."""
    good = [secret.encode() for secret in secrets if len(secret) >= SHORTEST and ":" in secret]
    # Each is compared, in constant time: how long it takes tells nothing of which was nearly right.
    hits = [hmac.compare_digest(claim.shown, secret) for secret in good]
    if not any(hits):
        raise Unverified("signature" if good else "no_secret")


def signed_token(headers: Mapping[str, str], body: bytes, *, now_s: float) -> Claim:
    """Give the signature that stands in the body, if it is well-formed and not too old. Raises Unverified."""
    try:
        block = json.loads(body)["signature"]
        timestamp, token, signature = (str(block[name]) for name in ("timestamp", "token", "signature"))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Unverified("headers") from None
    if not (_TIMESTAMP.fullmatch(timestamp) and _TOKEN.fullmatch(token) and _SIGNATURE.fullmatch(signature)):
        raise Unverified("malformed")
    if not -TOLERANCE_S <= now_s - int(timestamp) <= REPEATED_FOR_S:
        raise Unverified("stale")
    return Claim(signature.encode(), f"{timestamp}{token}".encode())


def knows_key(claim: Claim, secrets: Sequence[str]) -> None:
    """Return where a signing key of the account signed it. Raises Unverified, and nothing else."""
    good = [secret.encode() for secret in secrets if len(secret) >= SHORTEST]
    wanted = [hmac.new(key, claim.signed, hashlib.sha256).hexdigest().encode() for key in good]
    hits = [hmac.compare_digest(claim.shown, one) for one in wanted]
    if not any(hits):
        raise Unverified("signature" if good else "no_secret")


Shown = Callable[..., Claim]
Known = Callable[[Claim, Sequence[str]], None]
PROOFS: Final[dict[str, tuple[Shown, Known]]] = {
    "postmark": (basic, knows_basic),
    "mailgun": (signed_token, knows_key),
}
