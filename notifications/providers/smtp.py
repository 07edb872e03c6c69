"""An SMTP server as a provider: one recipient a transaction, and what its last reply proves.

SMTP has no idempotency: once the final dot is out and no reply comes, nobody can tell, and a repeat may be a second
message (RFC 1047). The frozen Message-ID lets mailboxes and people recognise one; it prevents nothing.

Source: RFC 5321, RFC 6409, RFC 8314.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import socket
import ssl
from datetime import timedelta
from typing import Final
from urllib.parse import unquote, urlsplit

import aiosmtplib

from notifications.providers import smtp_replies
from notifications.providers.base import Capabilities, Message, NotWritten, Request, SendResult
from notifications.providers.outcomes import OUTCOMES
from notifications.providers.smtp_message import MAX_ATTACHED, Letter, frozen_letter, read_letter
from notifications.providers.smtp_replies import GREYLISTED_S, Step, Verdict, judge
from notifications.providers.smtp_session import Refused, Server, Session, Unfit
from notifications.states import Outcome, Phase, ResultClass

logger = logging.getLogger(__name__)

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
    dates_messages=True,
    attachment_limit=MAX_ATTACHED,
)

_SCHEMES: Final = {"smtp": ("starttls", 587), "smtps": ("implicit", 465), "smtp+cleartext": ("none", 25)}
_CODE: Final = re.compile(r"[a-z0-9_]{1,40}")
# What went wrong before the dot, first match wins; policy/codes.py says what each means.
_BEFORE: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (ssl.SSLError, "not_sent.tls"),
    (aiosmtplib.SMTPTimeoutError, "not_sent.deadline"),
    (TimeoutError, "not_sent.deadline"),
    (socket.gaierror, "not_sent.dns"),
    (ConnectionRefusedError, "not_sent.refused"),
    (aiosmtplib.SMTPException, "not_sent.connection_failed"),
    (OSError, "not_sent.connection_failed"),
)
_AFTER: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (TimeoutError, "unknown.deadline"),
    (aiosmtplib.SMTPException, "unknown.disconnected"),
    (OSError, "unknown.disconnected"),
)


class SmtpProvider:
    """One account at one server. Idle connections are kept for the next message, each by one call at a time."""

    name = "smtp"
    capabilities = CAPABILITIES

    def __init__(
        self, *, base_url: str, password: str, connections: int = 32, context: ssl.SSLContext | None = None
    ) -> None:
        """Check the settings; no connection is made. Raises ValueError with a sentence, never the password in it."""
        self._server = server(base_url, password, context)
        if connections < 1:
            raise ValueError("The number of connections must be at least 1.")
        self._room = asyncio.Semaphore(connections)
        self._idle: list[Session] = []

    def prepare(self, message: Message) -> bytes:
        """Give envelope and mail. Raises Unsendable."""
        return frozen_letter(message)

    async def send(self, request: Request) -> SendResult:
        """Make one transaction with the frozen bytes, and say what is true about it."""
        letter = read_letter(request.body)
        if letter is None:
            return SendResult(Outcome.REJECTED, ResultClass.FIX_CONFIG, smtp_replies.NOT_MAIL, Phase.NOT_CONNECTED)
        session = Session(self._server)
        kept = False
        try:
            async with asyncio.timeout(request.timeout_s), self._room:
                session = self._fresh() or session
                if session.step is Step.CONNECT:
                    await session.open()
                reply, text = await session.deliver(letter, request)
                kept = 200 <= reply < 300
                return _answered(Step.DOT, reply, text, letter)
        except Refused as refusal:
            return _answered(refusal.step, refusal.reply, refusal.text, letter)
        except Unfit as reason:
            return _unfit(reason.code, letter)
        except Exception as error:
            return _without_reply(session, error, letter)
        finally:
            if kept:
                self._idle.append(session)
            else:
                session.end()

    async def close(self) -> None:
        """End the idle connections."""
        while self._idle:
            self._idle.pop().end(politely=True)

    def _fresh(self) -> Session | None:
        while self._idle:
            session = self._idle.pop()
            if session.is_fresh():
                return session
            session.end()
        return None


def server(base_url: str, password: str, context: ssl.SSLContext | None = None) -> Server:
    """Read an address such as `smtp://user@mail.example.com:587`. Raises ValueError with a sentence.

    `smtp` insists on STARTTLS, `smtps` speaks TLS from the first byte; `smtp+cleartext` does neither, and carries a
    password only to this machine itself.
    """
    try:
        parts = urlsplit(base_url)
        tls, usual = _SCHEMES[parts.scheme]
        host, port = parts.hostname or "", parts.port or usual
    except (ValueError, KeyError):
        host = ""
    if not host or parts.password is not None or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError(
            "The base URL must be like smtp://user@mail.example.com:587 (STARTTLS) or smtps://user@mail.example.com "
            "(TLS), without a password and a path."
        )
    user = unquote(parts.username or "")
    if bool(user) != bool(password):
        raise ValueError("A user in the base URL and an API key reference for the password belong together.")
    if user and tls == "none" and not _is_here(host):
        raise ValueError("A password is not sent without TLS: begin the base URL with smtp:// or smtps://.")
    # Made once: reading the authorities takes longer than a whole transaction.
    trusted = None if tls == "none" else context or ssl.create_default_context()
    return Server(host, port, tls, user, password, trusted)


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _answered(step: Step, reply: int, text: str, letter: Letter) -> SendResult:
    """Judge a reply: to the final dot a yes accepts, and whatever is no reply at all is unknown."""
    if 400 <= reply < 600:
        return _refused(judge(step, reply, text), reply, letter)
    if step is not Step.DOT:
        # Neither yes nor no, and the message is still here.
        return _result(ResultClass.RETRYABLE, smtp_replies.GARBLED, Phase.ENVELOPE, letter)
    if 200 <= reply < 300:
        return SendResult(
            Outcome.ACCEPTED,
            ResultClass.ACCEPTED,
            smtp_replies.ACCEPTED,
            Phase.ANSWER_READ,
            provider_message_id=letter.id,
            http_status=reply,
        )
    return _result(ResultClass.UNKNOWN, smtp_replies.MALFORMED, Phase.ANSWER_READ, letter)


def _refused(verdict: Verdict, reply: int, letter: Letter) -> SendResult:
    return SendResult(
        OUTCOMES[verdict.result_class],
        verdict.result_class,
        f"smtp.{verdict.name}",
        Phase.ANSWER_READ,
        http_status=reply,
        retry_after_s=GREYLISTED_S if verdict.name == "greylisted" else None,
        trace_id=letter.id,
    )


def _unfit(code: str, letter: Letter) -> SendResult:
    result_class = ResultClass.CONTENT if code == smtp_replies.TOO_LARGE else ResultClass.FIX_CONFIG
    return _result(result_class, code, Phase.ENVELOPE, letter)


def _without_reply(session: Session, error: Exception, letter: Letter) -> SendResult:
    """Judge by whether the dot was out; the class of the exception only names the code."""
    if session.handed:
        return _result(ResultClass.UNKNOWN, _named(error, _AFTER, "unknown"), Phase.REQUEST_WRITTEN, letter)
    phase = Phase.NOT_CONNECTED if session.step is Step.CONNECT else Phase.ENVELOPE
    if isinstance(error, NotWritten):
        code = error.code if _CODE.fullmatch(error.code) else "withheld"
        return _result(ResultClass.RETRYABLE, f"not_sent.{code}", phase, letter)
    return _result(ResultClass.RETRYABLE, _named(error, _BEFORE, "not_sent"), phase, letter)


def _result(result_class: ResultClass, code: str, phase: Phase, letter: Letter) -> SendResult:
    return SendResult(OUTCOMES[result_class], result_class, code, phase, trace_id=letter.id)


def _named(error: BaseException, table: tuple[tuple[type[BaseException], str], ...], otherwise: str) -> str:
    """Give the code of an error, or of what it came from: the library wraps those of the network in its own."""
    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    for kind, code in table:
        if any(isinstance(one, kind) for one in chain):
            return code
    # The class alone: messages of foreign errors may hold addresses or passwords.
    logger.error("A call ended by an unexpected %s.", type(error).__name__)
    return f"{otherwise}.internal_error"
