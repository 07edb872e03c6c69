"""Read a verified event into catalogued fields: words, numbers, ids and times, never an address or free text.

Whatever the provider sends, reading never raises: an event that cannot be read is kept as one of type `unreadable`.

Source: resend.com/docs/webhooks/emails; Resend OpenAPI 2026-08-21; resend-python 2.52.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from notifications.states import DeliveryStatus

UNREADABLE: Final = "unreadable"
# What each event says about the message; NONE says only that the provider has it. A bounce is judged by its class.
SAYS: Final[dict[str, DeliveryStatus]] = {
    "email.scheduled": DeliveryStatus.NONE,
    "email.sent": DeliveryStatus.NONE,
    "email.delivery_delayed": DeliveryStatus.DEFERRED,
    "email.delivered": DeliveryStatus.DELIVERED,
    # Nobody opens what did not arrive.
    "email.opened": DeliveryStatus.DELIVERED,
    "email.clicked": DeliveryStatus.DELIVERED,
    "email.bounced": DeliveryStatus.SOFT_BOUNCED,
    "email.failed": DeliveryStatus.FAILED,
    "email.suppressed": DeliveryStatus.SUPPRESSED,
    "email.complained": DeliveryStatus.COMPLAINED,
    # Of text messages (receipts/twilio.py).
    **dict.fromkeys(("sms.accepted", "sms.scheduled", "sms.queued", "sms.sending", "sms.sent"), DeliveryStatus.NONE),
    "sms.delivered": DeliveryStatus.DELIVERED,
    "sms.read": DeliveryStatus.DELIVERED,
    "sms.undelivered": DeliveryStatus.SOFT_BOUNCED,
    "sms.failed": DeliveryStatus.FAILED,
    "sms.canceled": DeliveryStatus.FAILED,
}
# The provider gives up on all bounces; only these say that the address will never do. The SDK's comments also name
# `Suppressed`; every other word, `Transient` and `Undetermined` among them, is for now.
_BOUNCES: Final = {"permanent": DeliveryStatus.BOUNCED, "suppressed": DeliveryStatus.SUPPRESSED}
_TEXT_FAILURES: Final = _BOUNCES | {"transient": DeliveryStatus.SOFT_BOUNCED, "account": DeliveryStatus.FAILED}
_BY_CLASS: Final = {"email.bounced": _BOUNCES, "sms.undelivered": _TEXT_FAILURES, "sms.failed": _TEXT_FAILURES}
# These come often and mostly say nothing new: they are logged only where they do.
QUIET: Final = frozenset(
    {
        *("email.scheduled", "email.sent", "email.opened", "email.clicked"),
        *("sms.accepted", "sms.scheduled", "sms.queued", "sms.sending", "sms.sent", "sms.read"),
    }
)

_TYPE: Final = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+")
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_SITE: Final = re.compile(r"[A-Za-z0-9_-]+")
_NUMBER: Final = re.compile(r"[1-9][0-9]*")
# RFC 3463: the one part of a diagnosis that cannot hold an address.
_ENHANCED: Final = re.compile(r"(?<![0-9.])[245]\.[0-9]{1,3}\.[0-9]{1,3}(?![0-9.])")


@dataclass(frozen=True, slots=True)
class Told:
    """What one event says. `says` is None where it does not concern the fate of a message."""

    type: str
    says: DeliveryStatus | None = None
    occurred_at: datetime | None = None
    provider_message_id: str | None = None
    tag_site: str | None = None
    tag_intent: int | None = None
    tag_generation: int | None = None
    bounce_class: str | None = None
    code: str | None = None
    tag_root: int | None = None


def parse(body: bytes) -> Told:
    """Give what the event says. Never raises."""
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, a number of thousands of digits, or nested without end
        return Told(UNREADABLE)
    event_type = matched(_TYPE, _part(raw, "type"), 64) or UNREADABLE
    data = _part(raw, "data")
    detail = _part(data, event_type.removeprefix("email."))
    if event_type == "email.bounced":
        detail = _part(data, "bounce")
    bounce_class = _word(_part(detail, "type"), 40) if event_type in ("email.bounced", "email.suppressed") else None
    return Told(
        type=event_type,
        says=says(event_type, bounce_class),
        occurred_at=moment(_part(raw, "created_at")),
        provider_message_id=matched(_ID, _part(data, "email_id"), 255),
        bounce_class=bounce_class,
        code=_code(detail),
        **ours(_tags(_part(data, "tags"))),
    )


def ours(tags: Mapping[str, object]) -> dict[str, Any]:
    """Give what our own tags say of a message: the fields of Told that begin with `tag_`."""
    return {
        "tag_site": matched(_SITE, tags.get("site"), 64),
        "tag_intent": number(tags.get("intent"), 2**63 - 1),
        "tag_generation": number(tags.get("generation"), 2**15 - 1),
        "tag_root": number(tags.get("root"), 2**63 - 1),
    }


def says(event_type: str, bounce_class: str | None) -> DeliveryStatus | None:
    """Give what an event of this type says about its message, or None."""
    usual = SAYS.get(event_type)
    return _BY_CLASS.get(event_type, {}).get(bounce_class or "", usual) if usual is not None else None


def _part(raw: object, name: str) -> Any:
    return raw.get(name) if isinstance(raw, Mapping) else None


def _tags(raw: object) -> Mapping[str, object]:
    """Give the tags by name: the webhook sends an object, GET an array of pairs."""
    if isinstance(raw, list):
        pairs = [one for one in raw if isinstance(one, Mapping) and isinstance(one.get("name"), str)]
        return {one["name"]: one.get("value") for one in pairs}
    return raw if isinstance(raw, Mapping) else {}


def matched(pattern: re.Pattern[str], value: object, longest: int) -> str | None:
    """Give a text that has the pattern and no more characters; None for anything else."""
    # Not cut: half an id is another id.
    good = isinstance(value, str) and len(value) <= longest and pattern.fullmatch(value)
    return str(value) if good else None


def _word(value: object, longest: int) -> str | None:
    """Give one word in lower case: `MailboxFull` is mailboxfull, a sentence is none."""
    found = matched(_WORD, value, longest)
    return found.lower() if found else None


def number(value: object, most: int) -> int | None:
    """Give a whole number from 1 to `most`, as text or as a number; None for anything else."""
    text = value if isinstance(value, str) else str(value) if type(value) is int and 0 < value <= most else ""
    return int(text) if len(text) <= 19 and text.isascii() and _NUMBER.fullmatch(text) and int(text) <= most else None


def moment(value: object) -> datetime | None:
    """Read `2026-04-03T22:13:42.674Z` or `2026-04-03 22:13:42.674981+00`, the provider's two forms; else None."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) and len(value) <= 64 else None
        found = found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC) if found else None
    except (ValueError, OverflowError):
        return None
    return found if found and 2000 <= found.year < 2200 else None


def _code(detail: object) -> str | None:
    """Give the provider's words for a failure, such as `mailboxfull 4.2.2`, and nothing of its free text."""
    diagnosis = _part(detail, "diagnosticCode")
    texts = diagnosis[:5] if isinstance(diagnosis, list) else [diagnosis]
    return code_of([_part(detail, name) for name in ("subType", "reason")], texts)


def code_of(named: Sequence[object], texts: Sequence[object]) -> str | None:
    """Give the words that are named and the first enhanced status in the texts; None where there is neither."""
    words = [_word(one, 60) for one in named]
    found = [_ENHANCED.search(text[:500]) for text in texts if isinstance(text, str)]
    words += [one[0] for one in found if one][:1]
    return " ".join(word for word in words if word)[:100] or None
