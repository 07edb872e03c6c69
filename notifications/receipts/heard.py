"""What a request to our address claims, by how its provider signs: believed once one of the account's keys fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from notifications.providers.standard_webhooks import key_of
from notifications.receipts import twilio
from notifications.receipts.parse import Told, parse
from notifications.receipts.verify import stamped, verify


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it came. `url` is the address that the provider was given, as far as we know it."""

    headers: Mapping[str, str]
    body: bytes
    url: str
    now_s: float


@dataclass(frozen=True, slots=True)
class Heard:
    """A well-formed claim of an account of this kind; nothing is proven before `verify`, which raises Unverified.

    `key_of` reads a secret of such an account, and raises ValueError for what is none.
    """

    kind: str
    event_id: str
    verify: Callable[[Sequence[bytes]], None]
    told: Callable[[], Told]
    key_of: Callable[[str], bytes]


# Kinds of accounts whose events are taken.
KINDS: Final = frozenset({"resend", "twilio"})


def hear(call: Call) -> Heard:
    """Give what the request claims, if that is well-formed and fresh. Raises Unverified."""
    if twilio.HEADER in call.headers:
        report = twilio.reported(call.url, call.body, call.headers[twilio.HEADER])
        return Heard("twilio", report.event_id, report.verify, report.told, twilio.key_of)
    stamp = stamped(call.headers, now_s=call.now_s)
    return Heard("resend", stamp.event_id, partial(verify, stamp, call.body), partial(parse, call.body), key_of)
