"""Decide whether a webhook request was signed by somebody who knows a secret, lately, and over exactly these bytes.

HMAC-SHA256 over `id.timestamp.body`, several signatures in one header while a secret is rotated, ± 5 minutes.
Source: standardwebhooks.com, specification 1.0.0; docs.svix.com/receiving/verifying-payloads/how-manual.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

TOLERANCE_S: Final = 300
# Svix sends `svix-`, the specification says `webhook-`.
FAMILIES: Final = ("svix", "webhook")
# No dot: it parts the signed text, and with one inside an id two different requests would have one signed text.
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_TIMESTAMP: Final = re.compile(r"[0-9]{1,12}")
# Svix signs with the newest secret and up to ten old ones; each further one would only cost us time.
MOST_SIGNATURES: Final = 16


class Unverified(Exception):
    """The request must not be believed; the text is one word that says why, for our own log."""


class Stamp(NamedTuple):
    """What a request claims: its event's id, when it was signed, and the signatures."""

    event_id: str
    timestamp: str
    signatures: str


def stamped(headers: Mapping[str, str], *, now_s: float) -> Stamp:
    """Give what the request claims, if that is well-formed and fresh; nothing is proven yet. Raises Unverified."""
    found = _first_family(headers)
    if not _ID.fullmatch(found.event_id) or not _TIMESTAMP.fullmatch(found.timestamp):
        raise Unverified("malformed")
    if abs(now_s - int(found.timestamp)) > TOLERANCE_S:
        raise Unverified("stale")
    return found


def verify(stamp: Stamp, body: bytes, keys: Sequence[bytes]) -> None:
    """Return where one of the keys signed exactly this. Raises Unverified, and nothing else, whatever was sent."""
    given = [part.encode("utf-8", "replace") for part in stamp.signatures.split(" ")[:MOST_SIGNATURES]]
    signed = f"{stamp.event_id}.{stamp.timestamp}.".encode() + body
    wanted = [b"v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)) for key in keys]
    # Every pair is compared, in constant time: how long it takes tells nothing of which was nearly right.
    hits = [hmac.compare_digest(one, other) for one in given for other in wanted]
    if not any(hits):
        raise Unverified("signature" if keys else "no_secret")


def _first_family(headers: Mapping[str, str]) -> Stamp:
    """Give the headers of the first family that is whole: parts of two are never mixed."""
    for family in FAMILIES:
        found = [headers.get(f"{family}-{name}") or "" for name in ("id", "timestamp", "signature")]
        if all(found):
            return Stamp(*found)
    raise Unverified("headers")
