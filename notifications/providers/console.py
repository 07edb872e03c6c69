"""The developer's terminal as a provider: every message is written out in full, and reaches nobody.

Recipients and content stand in the output, so an account of this kind works only where a site must reach nobody.
"""

from __future__ import annotations

import hashlib
import sys
from datetime import timedelta
from typing import Final, TextIO

from notifications.providers import mail_fields
from notifications.providers.attachment import Attachment
from notifications.providers.base import Capabilities, Message, NotWritten, Request, SendResult, Unsendable
from notifications.states import Outcome, Phase, ResultClass

# Nothing recognises a repeat: whoever reads the terminal sees it twice.
CAPABILITIES: Final = Capabilities(
    idempotency="none",
    idempotency_window=None,
    idempotency_key_max=None,
    key_scope="none",
    lookup=frozenset(),
    lookup_settle=timedelta(0),
    lookup_retention=None,
    receipts=frozenset(),
    max_recipients=1,
    attachment_limit=40_000_000,  # as the largest that real providers take: they are named, and not shown
)
_RULE: Final = "-" * 72


class ConsoleProvider:
    """Write to a stream, the process's standard output unless another is given."""

    name = "console"
    capabilities = CAPABILITIES

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def prepare(self, message: Message) -> bytes:
        """Give the message as people read it. Raises Unsendable for what a real channel would not take either."""
        to = mail_fields.recipient(message.to)
        lines = [
            f"To: {to}",
            f"From: {mail_fields.mailbox(message.sender, 'invalid_sender')}",
            f"Subject: {mail_fields.subject(message.subject)}",
            *(f"{name}: {value}" for name, value in mail_fields.headers(message.headers).items()),
            *(f"[{name}] {value}" for name, value in sorted(message.tags.items())),
            *(f"Attachment: {_told(one)}" for one in message.attachments),
            "",
            message.text or message.html or "",
        ]
        if not lines[-1]:
            raise Unsendable("empty_body")
        return "\n".join(lines).encode("utf-8", "replace")

    async def send(self, request: Request) -> SendResult:
        """Write the bytes out as text."""
        text = f"{_RULE}\n{request.key}\n{_harmless(request.body.decode('utf-8', 'replace'))}\n{_RULE}\n"
        try:
            request.may_write()
        except Exception as refusal:
            code = refusal.code if isinstance(refusal, NotWritten) else "internal_error"
            return SendResult(Outcome.NOT_SENT, ResultClass.RETRYABLE, f"not_sent.{code}", Phase.NOT_CONNECTED)
        try:
            stream = self._stream or sys.stdout
            stream.write(text)
            stream.flush()
        except (OSError, ValueError):  # a closed pipe, or a closed stream: some of it may have been read
            return SendResult(Outcome.UNKNOWN, ResultClass.UNKNOWN, "unknown.disconnected", Phase.REQUEST_WRITTEN)
        mark = hashlib.sha256(request.key.encode() + request.body).hexdigest()[:32]
        return SendResult(Outcome.ACCEPTED, ResultClass.ACCEPTED, "console.accepted", Phase.ANSWER_READ, mark)

    async def close(self) -> None:
        """Nothing is open: the stream is the process's own."""


def _told(one: Attachment) -> str:
    digest = hashlib.sha256(one.content).hexdigest()
    return f"{one.name} ({one.media_type}, {len(one.content)} bytes, sha256 {digest})"


def _harmless(text: str) -> str:
    """Make what steers a terminal visible: a message must not clear the screen or forge the lines around it."""
    return "".join(mark if mark.isprintable() or mark == "\n" else "\ufffd" for mark in text)
