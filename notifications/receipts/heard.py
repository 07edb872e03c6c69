"""What a request to our address claims, by how its provider signs: believed once one of the account's keys fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from notifications.providers.standard_webhooks import key_of
from notifications.receipts import twilio
from notifications.receipts.esp_verify import PROOFS
from notifications.receipts.parse import Told, parse
from notifications.receipts.verify import Unverified, stamped, verify


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it came. `url` is the address that the provider was given, as far as we know it."""

    headers: Mapping[str, str]
    body: bytes
    url: str
    now_s: float


@dataclass(frozen=True, slots=True)
class Heard:
    """A well-formed claim of an account of one kind; nothing is proven before `verify`, which raises Unverified.

    `event` gives the id by which a repeat is known, and what is told; `key_of` reads a secret of such an account, and
    raises ValueError for what is none.
    """

    verify: Callable[[Sequence[bytes]], None]
    event: Callable[[], tuple[str, Told]]
    key_of: Callable[[str], bytes] = key_of


def _resend(call: Call) -> Heard:
    stamp = stamped(call.headers, now_s=call.now_s)
    return Heard(partial(verify, stamp, call.body), lambda: (stamp.event_id, parse(call.body)))


def _twilio(call: Call) -> Heard:
    if twilio.HEADER not in call.headers:
        raise Unverified("headers")
    report = twilio.reported(call.url, call.body, call.headers[twilio.HEADER])
    return Heard(report.verify, lambda: (report.event_id, report.told()), twilio.key_of)


def _service(kind: str, call: Call) -> Heard:
    show, knows = PROOFS[kind]
    claim = show(call.headers, call.body, now_s=call.now_s)

    def check(keys: Sequence[bytes]) -> None:
        knows(claim, [key.decode() for key in keys])

    def event() -> tuple[str, Told]:
        # Imported for those who use it: django-anymail's parsers.
        from notifications.receipts.esp_events import READERS

        return READERS[kind](call.body)

    return Heard(check, event, str.encode)


# How each kind of account signs its events. The first one's refusal is told where a request claims nothing at all.
_SIGNED: Final[Mapping[str, Callable[[Call], Heard]]] = {
    "resend": _resend,
    "twilio": _twilio,
    **{kind: partial(_service, kind) for kind in PROOFS},
}
# Kinds of accounts whose events are taken.
KINDS: Final = frozenset(_SIGNED)


def hear(call: Call) -> Mapping[str, Heard | Unverified]:
    """Give what the request claims, or why that is nothing, by the kind of account that it would be told to.

    Asks no database. Raises Unverified where it claims nothing to any kind.
    """
    found: dict[str, Heard | Unverified] = {}
    for kind, read in _SIGNED.items():
        try:
            found[kind] = read(call)
        except Unverified as refusal:
            found[kind] = refusal
    if not any(isinstance(one, Heard) for one in found.values()):
        raise next(one for one in found.values() if isinstance(one, Unverified))
    return found
