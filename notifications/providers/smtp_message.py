"""A message turned into the exact bytes of one SMTP transaction: its envelope, a blank line, and the mail.

The mail is plain ASCII whatever it says (RFC 2045, RFC 2047), so that no server needs 8BITMIME or SMTPUTF8 to take it
unchanged. Message-ID, Date and boundary are made of the message alone: a repeat is the same mail to every mailbox.

Source: RFC 5321 sections 4.1.1 and 4.5.2, RFC 5322 sections 2.1.1 and 3.6.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.generator import BytesGenerator
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from io import BytesIO
from typing import Final

from notifications.providers import mail_fields
from notifications.providers.attachment import Attachment
from notifications.providers.base import Message, Unsendable

# The smallest limit of the large services is 10 MB (Amazon SES without a raised quota); a server's own is asked for.
MAX_BYTES: Final = 10_000_000
# In base64, whose line breaks are another fortieth.
MAX_ATTACHED: Final = 9_500_000
_LETTER: Final = re.compile(
    rb"MAIL FROM:<(?P<sender>[!-;=?-~]{3,320})>\r\nRCPT TO:<(?P<to>[!-;=?-~]{3,320})>\r\n\r\n"
    rb"(?P<mail>Message-ID: <(?P<id>[a-z0-9]{32})@.*\r\n)",
    re.DOTALL,
)
_POLICY: Final = SMTP.clone(cte_type="7bit")
# RFC 5322 section 2.1.1: lines should be shorter than 78 characters and must be shorter than 998. What software reads
# (List-Unsubscribe) is kept in one piece as long as it may be; what people read is folded.
_SHORT: Final = 76
_WHOLE: Final = 996


@dataclass(frozen=True, slots=True)
class Letter:
    """One transaction, read back from its frozen bytes. `id` is the Message-ID's part before the @."""

    sender: str
    to: str
    mail: bytes
    id: str


def frozen_letter(message: Message) -> bytes:
    """Give the envelope and the mail. Raises Unsendable."""
    to = mail_fields.recipient(message.to)
    sender = mail_fields.bare(mail_fields.mailbox(message.sender, "invalid_sender"))
    if not message.text and not message.html:
        raise Unsendable("empty_body")
    if message.prepared_at is None:
        raise Unsendable("invalid_data")
    files = (f"{one.name}\0{one.media_type}\0{hashlib.sha256(one.content).hexdigest()}" for one in message.attachments)
    mark = mail_fields.mark(message, *files)
    domain = sender.rpartition("@")[2]
    headers = [
        ("Message-ID", f"<{mark}@{domain}>"),
        ("Date", format_datetime(message.prepared_at)),
        ("From", _mailbox("From", message.sender)),
        ("To", to),
        ("Subject", _text("Subject", mail_fields.subject(message.subject), _SHORT)),
        *_optional(message),
    ]
    head = "".join(f"{name}: {value}\r\n" for name, value in headers).encode("ascii")
    mail = head + _content(message, mark)
    if len(mail) > MAX_BYTES:
        raise Unsendable("too_large")
    return b"MAIL FROM:<%b>\r\nRCPT TO:<%b>\r\n\r\n%b" % (sender.encode(), to.encode(), mail)


def read_letter(body: bytes) -> Letter | None:
    """Read frozen bytes; None where they are not this adapter's."""
    found = _LETTER.fullmatch(body)
    if found is None:
        return None
    return Letter(found["sender"].decode(), found["to"].decode(), found["mail"], found["id"].decode())


def _optional(message: Message) -> Iterator[tuple[str, str]]:
    if message.reply_to is not None:
        yield "Reply-To", _mailbox("Reply-To", mail_fields.mailbox(message.reply_to, "invalid_reply_to"))
    for name, value in mail_fields.headers(message.headers).items():
        if name.lower() == "message-id":
            raise Unsendable("invalid_header")
        yield name, _text(name, value, _WHOLE)
    # RFC 3834: out-of-office programs answer no message that says it was sent by a machine.
    yield "Auto-Submitted", "auto-generated"


def _mailbox(header: str, text: str) -> str:
    """Give `Name <address>` with the name quoted or in encoded words."""
    name, address = mail_fields.parted(text)
    if not name:
        return address
    if name.isascii() and "=?" not in name and len(name) < _SHORT:
        return mail_fields.with_name(name, address)
    return f"{_words(header, name)} <{address}>"


def _text(header: str, text: str, longest: int) -> str:
    """Give free text: as it is where it is ASCII and fits into the line, else in encoded words, folded."""
    # Text that only looks like an encoded word would be shown as what it decodes to; blanks at an end would be lost.
    plain = text.isascii() and "=?" not in text and text == text.strip() and "  " not in text
    return text if plain and len(header) + len(text) <= longest else _words(header, text)


def _words(header: str, text: str) -> str:
    return Header(text, "utf-8", maxlinelen=75, header_name=header).encode(linesep="\r\n")


def _content(message: Message, mark: str) -> bytes:
    """Give the rest of the head, the blank line and the parts, every line of it short and ASCII."""
    root = EmailMessage(_POLICY)
    text, html = mail_fields.visible(message.text), message.html
    if text or html is None:
        root.set_content(text, cte="quoted-printable")
    if html is not None:
        add = root.add_alternative if text else root.set_content
        add(mail_fields.visible(html), subtype="html", cte="quoted-printable")
        if text:
            root.set_boundary(f"=_{mark}")
    for one in message.attachments:
        _attach(root, one)
    if message.attachments:
        # Neither is the beginning of the other: RFC 2046, section 5.1.1, compares no farther.
        root.set_boundary(f"=_files_{mark}")
    for part in root.walk():
        if part is not root:
            del part["MIME-Version"]  # it is the whole mail's
    written = BytesIO()
    BytesGenerator(written, policy=_POLICY).flatten(root)
    content = written.getvalue()
    return content if content.endswith(b"\r\n") else content + b"\r\n"


def _attach(root: EmailMessage, one: Attachment) -> None:
    """Add a file in base64, under its name (RFC 2183, RFC 2231)."""
    maintype, _, subtype = one.media_type.partition("/")
    # As bytes, also where it is text: what was announced by its hash is not to be touched.
    root.add_attachment(one.content, maintype=maintype, subtype=subtype, cte="base64", filename=one.name)
