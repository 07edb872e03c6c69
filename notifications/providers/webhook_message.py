"""A message turned into the frozen bytes of one webhook: where it goes, a blank line, and the JSON that is posted.

Source: standardwebhooks.com, specification 1.0.0, "Payload structure" (type, timestamp, data; below 20 kB).
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from datetime import UTC
from typing import Final

from notifications.providers import mail_fields
from notifications.providers.base import Message, Unsendable
from notifications.states import ResultClass

# Of the posted JSON; large content belongs behind a link.
MAX_BYTES: Final = 20_000
MAX_URL: Final = 1000
# An address in the one form that is kept, compared and called: no login, no fragment, host in small ASCII letters. The
# intake knows the same form (policy/endpoints.py, url_is_plain_v1), and a test compares the three.
_NAME: Final = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_PORT: Final = r"(?:6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3})"
_CHARS: Final = r"(?:[A-Za-z0-9._~!$&'()*+,;=:/-]|%[0-9A-Fa-f]{2})*"
_URL: Final = re.compile(
    rf"https?://(?:{_NAME}(?:\.{_NAME})*|\[[0-9a-f:.]+\])(?::{_PORT})?(?:/{_CHARS})?(?:\?(?:{_CHARS}|\?)*)?", re.ASCII
)
_FROZEN: Final = re.compile(
    rb"POST (?P<url>[!-~]{8,1000})\r\nSite: (?P<site>[!-~]{0,256})\r\n\r\n(?P<body>\{.*\})", re.DOTALL
)
_FACTS: Final = ("notification_id", "report_id", "data")


@dataclass(frozen=True, slots=True)
class Call:
    """One webhook, read back from its frozen bytes."""

    url: str
    site: str
    body: bytes

    def id(self, key: str) -> str:
        """Give the webhook-id: the same for all attempts under one key of one site, and without a dot.

        The signed text is parted by dots, so that the key itself, which may hold some, cannot be the id.
        """
        return "msg_" + hashlib.sha256(f"{self.site}\0{key}".encode()).hexdigest()[:32]


def endpoint(text: str) -> str:
    """Give the address that is called, if it is one in the form that is kept. Raises Unsendable."""
    if len(text) > MAX_URL or not _URL.fullmatch(text):
        raise Unsendable("invalid_recipient", ResultClass.RECIPIENT)
    return text


def frozen_call(message: Message) -> bytes:
    """Give the address and the JSON. Raises Unsendable."""
    url = endpoint(message.to)
    sender = mail_fields.mailbox(message.sender, "invalid_sender")
    if not message.text and not message.html:
        raise Unsendable("empty_body")
    if message.prepared_at is None:
        raise Unsendable("invalid_data")
    data: dict[str, object] = {
        **{name: message.facts[name] for name in _FACTS if name in message.facts},
        "subject": mail_fields.subject(message.subject),
        "text": mail_fields.visible(message.text),
        "sender": sender,
        "tags": dict(sorted(message.tags.items())),
    }
    if message.html is not None:
        data["html"] = mail_fields.visible(message.html)
    if message.reply_to is not None:
        data["reply_to"] = mail_fields.mailbox(message.reply_to, "invalid_reply_to")
    if message.headers:
        data["headers"] = mail_fields.headers(message.headers)
    at = message.prepared_at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    document = {"type": message.facts.get("type", "notification"), "timestamp": at, "data": data}
    return b"POST %b\r\nSite: %b\r\n\r\n%b" % (url.encode(), _site(message), _dumped(document))


def read_call(frozen: bytes) -> Call | None:
    """Read frozen bytes; None where they are not this adapter's."""
    found = _FROZEN.fullmatch(frozen)
    if found is None or not _URL.fullmatch(found["url"].decode()):
        return None
    return Call(found["url"].decode(), found["site"].decode(), found["body"])


def _site(message: Message) -> bytes:
    site = message.tags.get("site", "")
    if not re.fullmatch(r"[!-~]{0,256}", site):
        raise Unsendable("invalid_tag")
    return site.encode()


def _dumped(document: dict[str, object]) -> bytes:
    try:
        body = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as fault:  # half a surrogate somewhere in the data, for example
        raise Unsendable("invalid_data") from fault
    if len(body) > MAX_BYTES:
        raise Unsendable("too_large")
    return body
