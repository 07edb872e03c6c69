"""A message turned into the exact bytes of Resend's POST /emails, or refused before anything is tried.

The bytes are frozen with the key: the provider answers a repeat with other bytes by a conflict, so the same message
must give the same bytes in every release. Fields stand in a fixed order, headers and tags are sorted.

Source: Resend's OpenAPI file (2026-08-21), SendEmailRequest; resend.com/docs/dashboard/emails/tags.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping

import orjson

from notifications.providers.attachment import Attachment
from notifications.providers.base import Message, Unsendable
from notifications.providers.mail_fields import headers, mailbox, recipient, subject, visible

MAX_BYTES = 40_000_000  # the whole request, attachments included
MAX_TAGS = 75

_TAGS = re.compile(r"(?:[A-Za-z0-9_-]{1,256}\n)*")


def request_bytes(message: Message) -> bytes:
    """Give the request's body: compact JSON in UTF-8, one recipient. Raises Unsendable."""
    to = recipient(message.to)
    fields: dict[str, object] = {
        "from": mailbox(message.sender, "invalid_sender"),
        "to": [to],
        "subject": subject(message.subject),
        "text": visible(message.text),
    }
    if message.html is not None:
        fields["html"] = visible(message.html)
    if not message.text and not message.html:
        raise Unsendable("empty_body")
    if message.reply_to is not None:
        fields["reply_to"] = mailbox(message.reply_to, "invalid_reply_to")
    if message.headers:
        fields["headers"] = headers(message.headers)
    if message.tags:
        fields["tags"] = _tags(message.tags)
    if message.attachments:
        fields["attachments"] = [_attached(one) for one in message.attachments]
    body = orjson.dumps(fields)
    if len(body) > MAX_BYTES:
        raise Unsendable("too_large")
    return body


def _attached(one: Attachment) -> dict[str, str]:
    """Source: the same file, Attachment: content in base64, filename, content_type."""
    content = b64encode(one.content).decode()
    return {"filename": one.name, "content_type": one.media_type, "content": content}


def _tags(tags: Mapping[str, str]) -> list[dict[str, str]]:
    listed = sorted(tags.items())
    words = [word for tag in listed for word in tag]
    # All in one match; a line break inside a word would make it two, so the words are counted.
    lines = "".join(f"{word}\n" for word in words)
    if len(tags) > MAX_TAGS or lines.count("\n") != len(words) or not _TAGS.fullmatch(lines):
        raise Unsendable("invalid_tag")
    return [{"name": name, "value": value} for name, value in listed]
