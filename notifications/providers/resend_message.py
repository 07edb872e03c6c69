"""A message turned into the exact bytes of Resend's POST /emails, or refused before anything is tried.

The bytes are frozen with the key: the provider answers a repeat with other bytes by a conflict, so the same message
must give the same bytes in every release. Fields stand in a fixed order, headers and tags are sorted.

Source: Resend's OpenAPI file (2026-08-21), SendEmailRequest; resend.com/docs/dashboard/emails/tags.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

import orjson

from notifications.providers.base import Message, Unsendable
from notifications.states import ResultClass

MAX_LINE = 998  # RFC 5322 section 2.1.1
MAX_BYTES = 40_000_000  # the whole request, attachments included
MAX_TAGS = 75

# Control characters, Unicode's line and paragraph separators, lone surrogates: what can end a header early, or
# cannot be encoded. Joiners and no-break spaces are text and stay.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ADDRESS = re.compile(r"[!-~]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
_NOT_BARE = re.compile(r'[,;:<>()"\\]|@.*@')
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_TAGS = re.compile(r"(?:[A-Za-z0-9_-]{1,256}\n)*")
_SURROGATE = re.compile("[\ud800-\udfff]")

# These would change who receives the message, or what it is: they are the message's own fields.
_OUR_HEADERS = frozenset(
    {
        *("to", "cc", "bcc", "resent-to", "resent-cc", "resent-bcc"),
        *("from", "sender", "reply-to", "return-path", "subject", "date"),
        *("mime-version", "content-type", "content-transfer-encoding", "resend-idempotency-key"),
    }
)


def request_bytes(message: Message) -> bytes:
    """Give the request's body: compact JSON in UTF-8, one recipient. Raises Unsendable."""
    if not _ADDRESS.fullmatch(message.to) or _NOT_BARE.search(message.to):
        raise Unsendable("invalid_recipient", ResultClass.RECIPIENT)
    fields: dict[str, object] = {
        "from": _mailbox(message.sender, "invalid_sender"),
        "to": [message.to],
        "subject": _subject(message.subject),
        "text": _visible(message.text),
    }
    if message.html is not None:
        fields["html"] = _visible(message.html)
    if not message.text and not message.html:
        raise Unsendable("empty_body")
    if message.reply_to is not None:
        fields["reply_to"] = _mailbox(message.reply_to, "invalid_reply_to")
    if message.headers:
        fields["headers"] = _headers(message.headers)
    if message.tags:
        fields["tags"] = _tags(message.tags)
    body = orjson.dumps(fields)
    if len(body) > MAX_BYTES:
        raise Unsendable("too_large")
    return body


@functools.lru_cache(maxsize=256)  # an account's sender is the same in each of its messages
def _mailbox(text: str, code: str) -> str:
    """Give `a@b.c` or `Name <a@b.c>` unchanged, if it is one address and one line."""
    bare = text.rpartition("<")[2].removesuffix(">") if text.endswith(">") else text
    if len(text) > MAX_LINE or _CONTROL.search(text) or not _ADDRESS.fullmatch(bare) or _NOT_BARE.search(bare):
        raise Unsendable(code)
    return text


def _subject(text: str) -> str:
    if not text or len(text) > MAX_LINE or _CONTROL.search(text):
        raise Unsendable("invalid_subject")
    return text


def _visible(text: str) -> str:
    """Give text that every store can hold: NUL as its picture, a lone surrogate as the replacement character."""
    plain = text.replace("\x00", "\u2400")
    return plain if plain.isascii() else _SURROGATE.sub("\ufffd", plain)


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    names = {name.lower() for name in headers}
    if len(names) != len(headers) or names & _OUR_HEADERS:
        raise Unsendable("invalid_header")
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or len(value) > MAX_LINE or _CONTROL.search(value):
            raise Unsendable("invalid_header")
    return dict(sorted(headers.items()))


def _tags(tags: Mapping[str, str]) -> list[dict[str, str]]:
    listed = sorted(tags.items())
    words = [word for tag in listed for word in tag]
    # All in one match; a line break inside a word would make it two, so the words are counted.
    lines = "".join(f"{word}\n" for word in words)
    if len(tags) > MAX_TAGS or lines.count("\n") != len(words) or not _TAGS.fullmatch(lines):
        raise Unsendable("invalid_tag")
    return [{"name": name, "value": value} for name, value in listed]
