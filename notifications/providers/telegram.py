"""Telegram's Bot API as a provider: one sendMessage in plain text, and what its answer proves.

There is no idempotency key and no way to ask about a message, so that an unknown outcome stays unknown until a person
finds out. The bot's token is a part of the address that is called: that address is never logged, nor kept.

Source: core.telegram.org/bots/api#sendmessage and #making-requests (read 2026-11).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from yarl import URL

from notifications.providers import mail_fields, telegram_answers
from notifications.providers.base import Capabilities, Message, Request, SendResult, Unsendable
from notifications.providers.http import Answer, Failure, Transport
from notifications.providers.outcomes import OUTCOMES, without_answer
from notifications.providers.retry_after import printable, wanted_wait
from notifications.states import Outcome, Phase, ResultClass

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
    rate_hint=30,  # core.telegram.org/bots/faq, "My bot is hitting limits": about 30 a second over all chats
    knows_its_own=True,  # "chat not found" of a bot that nobody has started says nothing of another bot
)
MAX_TEXT: Final = 4096  # counted in UTF-16, as entities are
_TOKEN: Final = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{20,100}")
# The intake knows the same form (policy/phones.py, chat_is_plain_v1), and a test compares the three.
_CHAT: Final = re.compile(r"-?[1-9][0-9]{0,15}|@[A-Za-z][A-Za-z0-9_]{3,31}")
_TAG: Final = re.compile(r"[A-Za-z0-9_-]{0,256}")
_FROZEN: Final = re.compile(
    rb"TELEGRAM [A-Za-z0-9_-]*/[A-Za-z0-9_-]*/[A-Za-z0-9_-]*\r\n\r\n(?P<body>\{.*\})", re.DOTALL
)
_LONGEST_WAIT_S: Final = 86_400 * 365


@dataclass(frozen=True, slots=True)
class _Posted:
    """What is posted, and to which chat."""

    chat: str
    body: bytes


class TelegramProvider:
    """One bot; `base_url` is the API's or a stand-in's, such as https://api.telegram.org."""

    name = "telegram"
    capabilities = CAPABILITIES

    def __init__(self, *, base_url: str, token: str, connections: int = 32) -> None:
        """Check the settings; no connection is made. Raises ValueError with a sentence, and never the token in it."""
        if not _TOKEN.fullmatch(token):
            raise ValueError("The bot's token must be like 123456:ABC…, a number, a colon and its letters.")
        if connections < 1:
            raise ValueError("The number of connections must be at least 1.")
        self._url = _method_url(base_url, token)
        self._key = token.encode()
        fixed = {
            "User-Agent": "notifyops/1.0",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
        }
        self._transport = Transport(headers=fixed, connections=connections)

    def prepare(self, message: Message) -> bytes:
        """Give what names the message, and the JSON. Raises Unsendable."""
        return frozen_chat(message)

    async def send(self, request: Request) -> SendResult:
        """Make one network attempt with the frozen JSON, and say what is true about it."""
        posted = _read(request.body)
        if posted is None:
            code, phase = telegram_answers.NOT_TELEGRAM, Phase.NOT_CONNECTED
            return SendResult(Outcome.REJECTED, ResultClass.FIX_CONFIG, code, phase)
        answer = await self._transport.post(self._url, replace(request, body=posted.body), {})
        return without_answer(answer) if isinstance(answer, Failure) else self._answered(answer, posted.chat)

    async def close(self) -> None:
        """Give back the sockets."""
        await self._transport.close()

    def _answered(self, answer: Answer, chat: str) -> SendResult:
        status, fields, phase = answer.status, _json_object(answer.body), Phase.ANSWER_READ
        if 200 <= status < 300:
            number = _part(fields.get("result"), "message_id")
            if fields.get("ok") is True and type(number) is int and 0 < number < 2**53:
                taken = (Outcome.ACCEPTED, ResultClass.ACCEPTED, telegram_answers.ACCEPTED, phase)
                return SendResult(*taken, provider_message_id=self._id(chat, number), http_status=status)
            unclear = (Outcome.UNKNOWN, ResultClass.UNKNOWN, telegram_answers.MALFORMED, phase)
            return SendResult(*unclear, http_status=status)
        told, more = fields.get("description"), fields.get("parameters")
        migrated = _part(more, "migrate_to_chat_id") is not None
        row = telegram_answers.row_of(status, told[:200] if isinstance(told, str) else "", migrated=migrated)
        asked = answer.headers.getall("Retry-After", ())
        waits = [wanted_wait(asked, answer.headers.get("Date"), time.time), _wait(_part(more, "retry_after"))]
        return SendResult(
            OUTCOMES[row.result_class],
            row.result_class,
            f"telegram.{row.name}",
            phase,
            http_status=status,
            retry_after_s=max((wait for wait in waits if wait is not None), default=None),
            retry_after_raw=printable(asked),
            address_gone=row.gone,
        )

    def _id(self, chat: str, number: int) -> str:
        """Give the message's id: its number counts within its chat, which may not be shown."""
        return f"{hmac.digest(self._key, chat.lower().encode(), hashlib.sha256).hex()[:16]}-{number}"


def frozen_chat(message: Message) -> bytes:
    """Give what names the message, a blank line, and the JSON that is posted. Raises Unsendable."""
    if not _CHAT.fullmatch(message.to):
        raise Unsendable("invalid_recipient", ResultClass.RECIPIENT)
    # The bot is the sender whatever the account says; but no account may say anything that is no line.
    if not message.sender or not message.sender.isprintable():
        raise Unsendable("invalid_sender")
    mail_fields.subject(message.subject)
    mail_fields.headers(message.headers)
    text = mail_fields.visible(message.text).strip()
    if not text:
        raise Unsendable("empty_body")
    if len(text.encode("utf-16-le")) > 2 * MAX_TEXT:
        raise Unsendable("too_large")
    names = [message.tags.get(name, "") for name in ("site", "intent", "generation")]
    if not all(_TAG.fullmatch(name) for name in names):
        raise Unsendable("invalid_tag")
    chat: str | int = message.to if message.to.startswith("@") else int(message.to)
    body = json.dumps({"chat_id": chat, "text": text}, ensure_ascii=False, separators=(",", ":"))
    return f"TELEGRAM {'/'.join(names)}\r\n\r\n{body}".encode()


def _read(frozen: bytes) -> _Posted | None:
    """Read frozen bytes; None where they are not this adapter's."""
    found = _FROZEN.fullmatch(frozen)
    chat = str(_json_object(found["body"]).get("chat_id")) if found is not None else ""
    return _Posted(chat, found["body"]) if found is not None and _CHAT.fullmatch(chat) else None


def _method_url(base_url: str, token: str) -> URL:
    try:
        url = URL(base_url)
        usable = url.scheme in ("http", "https") and bool(url.host) and not (url.user or url.password)
    except (ValueError, TypeError):
        usable = False
    if not usable or url.query_string or url.fragment:
        raise ValueError("The base URL must be like https://api.telegram.org, without a user, a query or a fragment.")
    return url.with_path(f"{url.path.rstrip('/')}/bot{token}/sendMessage")


def _wait(value: object) -> float | None:
    return float(value) if type(value) is int and 0 < value < _LONGEST_WAIT_S else None


def _part(fields: object, name: str) -> Any:
    return fields.get(name) if isinstance(fields, Mapping) else None


def _json_object(body: bytes | None) -> Mapping[str, Any]:
    """Give the fields of a JSON object; an empty mapping for anything else."""
    try:
        fields = json.loads(body) if body else {}
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}
