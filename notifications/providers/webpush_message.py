"""A message turned into the frozen bytes of one push: whom it is for, how it is to be kept, and what the browser reads.

What is frozen is what is encrypted: each attempt encrypts it anew, as RFC 8291 wants it, so that the bytes on the wire
differ and the message does not.

Source: RFC 8030 section 5 (TTL, Urgency, Topic); RFC 8291 section 4 (3993 octets); the Notifications standard (title,
body, tag, timestamp, data).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from datetime import UTC
from typing import Any, Final
from urllib.parse import quote

from cryptography.hazmat.primitives.asymmetric import ec

from notifications.providers import mail_fields
from notifications.providers.base import Message, Unsendable
from notifications.providers.webhook_message import endpoint
from notifications.providers.webpush_crypto import MAX_PLAIN
from notifications.states import ResultClass

MAX_SUBSCRIPTION: Final = 1000
MAX_LINK: Final = 1000
URGENCY: Final = {"urgent": "high", "normal": "normal", "bulk": "low"}
_FACTS: Final = ("notification_id", "report_id", "type")
# The intake knows the same form (policy/subscriptions.py, push_v1.sql), and a test compares the three.
_ADDRESS: Final = re.compile(
    r"(?P<endpoint>https://[a-z0-9][^#]*)#(?P<p256dh>[A-Za-z0-9_-]{86}[AEIMQUYcgkosw048])\."
    r"(?P<auth>[A-Za-z0-9_-]{21}[AQgw])",
    re.ASCII,
)
_FROZEN: Final = re.compile(
    rb"PUSH (?P<to>[!-~]{8,1000})\r\nTopic: (?P<topic>[A-Za-z0-9_-]{32})\r\nUrgency: (?P<urgency>high|normal|low)\r\n"
    rb"Until: (?P<until>[0-9]{1,12}|-)\r\nContact: (?P<contact>mailto:[!-~]{3,400})\r\n\r\n(?P<body>\{.*\})",
    re.DOTALL,
)
# Where a click may lead: to a page of the site that subscribed, or by http to another one. Never to a script.
_LINK: Final = re.compile(r"(?:https?://[^/\\\s]|/(?![/\\]))[!-~]*")


@dataclass(frozen=True, slots=True)
class Push:
    """One push, read back from its frozen bytes. `until` is in seconds since the epoch; None where it never expires."""

    to: str
    endpoint: str
    p256dh: bytes
    auth: bytes
    topic: str
    urgency: str
    until: int | None
    contact: str
    body: bytes

    def id(self, key: str) -> str:
        """Give our own name of the message: the same for all attempts under one key, and of no other message."""
        return "push_" + hashlib.sha256(f"{self.topic}\0{key}".encode()).hexdigest()[:32]


def subscription(text: str) -> tuple[str, bytes, bytes]:
    """Give endpoint, p256dh and auth of an address in the form that is kept. Raises Unsendable."""
    found = _ADDRESS.fullmatch(text)
    if found is None or len(text) > MAX_SUBSCRIPTION:
        raise Unsendable("invalid_recipient", ResultClass.RECIPIENT)
    point = base64.urlsafe_b64decode(found["p256dh"] + "=")
    try:
        if point[0] != 4:
            raise ValueError
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError:
        raise Unsendable("invalid_recipient", ResultClass.RECIPIENT) from None
    return endpoint(found["endpoint"]), point, base64.urlsafe_b64decode(found["auth"] + "==")


def frozen_push(message: Message) -> bytes:
    """Give whom it is for, and the JSON that the browser reads. Raises Unsendable."""
    subscription(message.to)
    contact = "mailto:" + quote(mail_fields.bare(mail_fields.mailbox(message.sender, "invalid_sender")), safe="@+!$'*")
    mail_fields.headers(message.headers)
    if message.reply_to is not None:
        mail_fields.mailbox(message.reply_to, "invalid_reply_to")
    if not message.text and not message.html:
        raise Unsendable("empty_body")
    until = "-" if message.expires_at is None else str(max(0, int(message.expires_at.timestamp())))
    topic = _topic(message)
    return b"PUSH %b\r\nTopic: %b\r\nUrgency: %b\r\nUntil: %b\r\nContact: %b\r\n\r\n%b" % (
        *(message.to.encode(), topic.encode(), URGENCY[message.priority].encode(), until.encode(), contact.encode()),
        _dumped(_shown(message, topic)),
    )


def read_push(frozen: bytes) -> Push | None:
    """Read frozen bytes; None where they are not this adapter's."""
    found = _FROZEN.fullmatch(frozen)
    if found is None:
        return None
    to = found["to"].decode()
    try:
        url, p256dh, auth = subscription(to)
    except Unsendable:
        return None
    until = None if found["until"] == b"-" else int(found["until"])
    topic, urgency, contact = (found[name].decode() for name in ("topic", "urgency", "contact"))
    return Push(to, url, p256dh, auth, topic, urgency, until, contact, found["body"])


def _topic(message: Message) -> str:
    """Give what the service and the browser know repeats by: of one notification, whatever its generation."""
    known = f"{message.tags.get('site', '')}\0{message.tags.get('intent', '')}"
    return base64.urlsafe_b64encode(hashlib.sha256(known.encode()).digest()[:24]).decode()


def _shown(message: Message, topic: str) -> dict[str, Any]:
    """Give what the page's service worker shows; of the caller's data only the link, since persons read this."""
    if message.prepared_at is None:
        raise Unsendable("invalid_data")
    facts = {name: message.facts[name] for name in _FACTS if name in message.facts}
    given = message.facts.get("data")
    link = given.get("url") if isinstance(given, dict) else None
    if link is not None:
        if not isinstance(link, str) or len(link) > MAX_LINK or not _LINK.fullmatch(link):
            raise Unsendable("invalid_data")
        facts["url"] = link
    return {
        "title": mail_fields.subject(message.subject),
        "body": mail_fields.visible(message.text).strip(),
        "tag": topic,
        "timestamp": int(message.prepared_at.astimezone(UTC).timestamp() * 1000),
        "data": facts | {"generation": message.tags.get("generation", "1")},
    }


def _dumped(document: dict[str, Any]) -> bytes:
    try:
        body = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as fault:
        raise Unsendable("invalid_data") from fault
    if len(body) > MAX_PLAIN:
        raise Unsendable("too_large")
    return body
