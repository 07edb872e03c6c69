"""What any mail is made of, checked before it becomes bytes: no field can end a header or change who receives it.

Each check gives the text that may be used, or raises Unsendable with a code of the closed vocabulary.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping

from notifications.providers.base import Message, Unsendable
from notifications.states import ResultClass

MAX_LINE = 998  # RFC 5322 section 2.1.1

# Control characters, Unicode's line and paragraph separators, lone surrogates: what can end a header early, or
# cannot be encoded. Joiners and no-break spaces are text and stay.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ADDRESS = re.compile(r"[!-~]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
_NOT_BARE = re.compile(r'[,;:<>()"\\]|@.*@')
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_SURROGATE = re.compile("[\ud800-\udfff]")

# These would change who receives the message, or what it is: they are the message's own fields.
_OUR_HEADERS = frozenset(
    {
        *("to", "cc", "bcc", "resent-to", "resent-cc", "resent-bcc"),
        *("from", "sender", "reply-to", "return-path", "subject", "date"),
        *("mime-version", "content-type", "content-transfer-encoding", "resend-idempotency-key"),
    }
)


def is_bare(text: str) -> bool:
    """Say whether the text is one plain address: ASCII, no name, no quotes, no second @."""
    return _ADDRESS.fullmatch(text) is not None and _NOT_BARE.search(text) is None


def recipient(text: str) -> str:
    """Give the one bare address that the message goes to."""
    if not is_bare(text):
        raise Unsendable("invalid_recipient", ResultClass.RECIPIENT)
    return text


@functools.lru_cache(maxsize=256)  # an account's sender is the same in each of its messages
def mailbox(text: str, code: str) -> str:
    """Give `a@b.c` or `Name <a@b.c>` unchanged, if it is one address and one line."""
    if len(text) > MAX_LINE or _CONTROL.search(text) or not is_bare(bare(text)):
        raise Unsendable(code)
    return text


def bare(text: str) -> str:
    """Give the address of a mailbox without its name; nothing is checked."""
    return text.rpartition("<")[2].removesuffix(">") if text.endswith(">") else text


def subject(text: str) -> str:
    """Give the subject: one line, neither empty nor longer than any server takes."""
    if not text or len(text) > MAX_LINE or _CONTROL.search(text):
        raise Unsendable("invalid_subject")
    return text


def visible(text: str) -> str:
    """Give text that every store can hold: NUL as its picture, a lone surrogate as the replacement character."""
    plain = text.replace("\x00", "\u2400")
    return plain if plain.isascii() else _SURROGATE.sub("\ufffd", plain)


def headers(given: Mapping[str, str]) -> dict[str, str]:
    """Give the extra headers, sorted; none of them may be one of the message's own."""
    names = {name.lower() for name in given}
    if len(names) != len(given) or names & _OUR_HEADERS:
        raise Unsendable("invalid_header")
    for name, value in given.items():
        if not _HEADER_NAME.fullmatch(name) or len(value) > MAX_LINE or _CONTROL.search(value):
            raise Unsendable("invalid_header")
    return dict(sorted(given.items()))


def parted(text: str) -> tuple[str, str]:
    """Give a mailbox's name, without its quotes, and its address; nothing is checked."""
    address = bare(text)
    name = text[: -len(address) - 2].strip() if text.endswith(">") else ""
    if len(name) > 1 and name.startswith('"') and name.endswith('"'):
        name = re.sub(r"\\(.)", r"\1", name[1:-1])
    return name, address


def with_name(name: str, address: str) -> str:
    """Give a mailbox whose name is quoted, whatever stands in it."""
    quoted_name = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted_name}" <{address}>'


@functools.lru_cache(maxsize=256)
def quoted(text: str, code: str) -> str:
    """Give a checked mailbox that every parser reads as the one that it is: a comma in its name parts nothing."""
    name, address = parted(mailbox(text, code))
    return with_name(name, address) if name else address


def mark(message: Message, *more: str) -> str:
    """Give 32 digits that no other message has: made of its content, time, notification, generation and of `more`."""
    digest = hashlib.sha256()
    parts = (message.sender, message.to, message.subject, message.text, message.html or "", message.reply_to or "")
    tags = (f"{name}={value}" for name, value in sorted(message.tags.items()))
    for part in (*parts, *tags, str(message.prepared_at), *more):
        plain = part.encode("utf-8", "backslashreplace")
        digest.update(len(plain).to_bytes(8, "big") + plain)
    return digest.hexdigest()[:32]
