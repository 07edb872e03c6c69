"""One connection to an SMTP server: opened, secured and logged in once, then used for one transaction after another.

`step` says how far it got, and `handed` whether the final dot was given to the socket: before that dot the server must
not deliver (RFC 5321 sections 4.1.1.4 and 4.2.5), whatever it has read of the message.
"""

from __future__ import annotations

import asyncio
import re
import select
import socket
import ssl
from dataclasses import dataclass
from typing import Final, cast

import aiohappyeyeballs
import aiosmtplib

from notifications.providers.base import NotWritten, Request
from notifications.providers.resolver import DaemonResolver
from notifications.providers.smtp_message import Letter
from notifications.providers.smtp_replies import Step

_DOTS: Final = re.compile(rb"(?m)^\.")
# Beyond the smallest of the usual limits (100 in Postfix, smtpd_client_message_rate aside) servers end a connection.
_MOST_LETTERS: Final = 50
# RFC 8305 section 5: so long one address may be tried alone before the next one is tried beside it.
_NEXT_ADDRESS_S: Final = 0.25


class Refused(Exception):
    """The server answered `step` by something else than yes; `text` echoes addresses and is never kept."""

    def __init__(self, step: Step, reply: int, text: str) -> None:
        super().__init__(f"{step} {reply}")
        self.step = step
        self.reply = reply
        self.text = text


class Unfit(Exception):
    """The server cannot be used as the account is set up; `code` says why. Nothing of the message was said."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class Server:
    """Where the mail goes, and how. `tls`: from the first byte, by STARTTLS, or none at all."""

    host: str
    port: int
    tls: str
    user: str
    password: str
    context: ssl.SSLContext | None = None


class Session:
    """One connection. `timeout_s` is the caller's: nothing here has a clock of its own."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._client: aiosmtplib.SMTP | None = None
        self._letters = 0
        self.step = Step.CONNECT
        self.handed = False

    async def open(self) -> None:
        """Connect, secure and log in. Raises Refused, Unfit, OSError and aiosmtplib's own."""
        server = self._server
        connection = await _connected(server.host, server.port)
        self.step = Step.GREETING
        self._client = aiosmtplib.SMTP(
            hostname=server.host,
            sock=connection,
            timeout=None,
            use_tls=server.tls == "implicit",
            start_tls=False,  # never "if the server likes": it is asked for below, or not at all
            tls_context=server.context,
            local_hostname=_literal(connection),
        )
        try:
            await self._client.connect()
        except aiosmtplib.SMTPResponseException as refusal:
            raise Refused(Step.GREETING, refusal.code, refusal.message) from None
        await self._hello()
        if server.tls == "starttls":
            await self._start_tls()
        if server.user:
            await self._log_in()

    async def deliver(self, letter: Letter, request: Request) -> tuple[int, str]:
        """Do one transaction; give the reply to the final dot, whatever it is. Raises as `open`, and NotWritten."""
        self.handed = False
        client = self._ready()
        self._letters += 1
        options = []
        if client.supports_extension("size"):
            limit = client.esmtp_extensions.get("size", "")
            if limit.isdigit() and 0 < int(limit) < len(letter.mail):
                raise Unfit("smtp.too_large")
            options = [f"SIZE={len(letter.mail)}".encode()]
        await self._say(Step.MAIL, b"MAIL", b"FROM:<%b>" % letter.sender.encode(), *options)
        await self._say(Step.RCPT, b"RCPT", b"TO:<%b>" % letter.to.encode())
        await self._say(Step.DATA, b"DATA")
        return await self._hand_over(letter.mail, request)

    def is_fresh(self) -> bool:
        """Say whether another transaction may begin: the server has neither left nor said anything unasked."""
        client = self._client
        if client is None or not client.is_connected or self._letters >= _MOST_LETTERS:
            return False
        poll = select.poll()
        poll.register(client.get_transport_info("socket").fileno(), select.POLLIN | select.POLLHUP)
        return not poll.poll(0)

    def end(self, *, politely: bool = False) -> None:
        """Close at once; nobody waits for the answer to QUIT."""
        client, self._client = self._client, None
        protocol = None if client is None else client.protocol
        if protocol is None or protocol.transport is None:
            return
        transport = cast("asyncio.WriteTransport", protocol.transport)
        if politely and not transport.is_closing():
            transport.write(b"QUIT\r\n")
        transport.abort()

    async def _hello(self) -> None:
        client = self._ready()
        try:
            await client.ehlo()
        except aiosmtplib.SMTPResponseException as refusal:
            raise Refused(Step.GREETING, refusal.code, refusal.message) from None

    async def _start_tls(self) -> None:
        client, self.step = self._ready(), Step.TLS
        if not client.supports_extension("starttls"):
            raise Unfit("smtp.no_tls")
        try:
            await client.starttls()
        except aiosmtplib.SMTPResponseException as refusal:
            raise Refused(Step.TLS, refusal.code, refusal.message) from None
        await self._hello()

    async def _log_in(self) -> None:
        """Log in by one way and once: a second try of a wrong password can lock the account."""
        client, self.step = self._ready(), Step.AUTH
        ways = {"plain": client.auth_plain, "login": client.auth_login}
        way = next((ways[name] for name in ways if name in client.server_auth_methods), None)
        if way is None:
            raise Unfit("smtp.no_login")
        try:
            await way(self._server.user, self._server.password)
        except aiosmtplib.SMTPResponseException as refusal:
            raise Refused(Step.AUTH, refusal.code, refusal.message) from None

    async def _say(self, step: Step, *command: bytes) -> None:
        client, self.step = self._ready(), step
        try:
            reply = await client.execute_command(*command)
        except aiosmtplib.SMTPResponseException as refusal:
            raise Refused(step, refusal.code, refusal.message) from None
        if reply.code // 100 != (3 if step is Step.DATA else 2):
            raise Refused(step, reply.code, reply.message)

    async def _hand_over(self, mail: bytes, request: Request) -> tuple[int, str]:
        """Write the message, look once more whether it may go, and only then write the dot that gives it away."""
        protocol = self._ready().protocol
        if protocol is None:
            raise aiosmtplib.SMTPServerDisconnected("Connection lost")
        protocol.write(_DOTS.sub(b"..", mail))
        await protocol._drain_helper()
        # A reply that came before its question would be taken for the one to the dot.
        if protocol._buffer or not self._ready().is_connected:
            raise NotWritten("stale_connection")
        request.may_write()
        self.step, self.handed = Step.DOT, True
        protocol.write(b".\r\n")
        try:
            reply = await protocol.read_response()
        except aiosmtplib.SMTPResponseException as refusal:
            return refusal.code, ""
        return reply.code, reply.message

    def _ready(self) -> aiosmtplib.SMTP:
        if self._client is None or self._client.protocol is None:
            raise aiosmtplib.SMTPServerDisconnected("Connection lost")
        return self._client


async def _connected(host: str, port: int) -> socket.socket:
    """Connect to one of the host's addresses. Raises OSError."""
    found = await DaemonResolver().resolve(host, port, socket.AF_UNSPEC)
    targets = [(one["family"], socket.SOCK_STREAM, one["proto"], "", (one["host"], one["port"])) for one in found]
    connection = await aiohappyeyeballs.start_connection(targets, happy_eyeballs_delay=_NEXT_ADDRESS_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _literal(connection: socket.socket) -> str:
    """Give our name for EHLO: the address literal, which RFC 5321 section 4.1.4 wants where no name is certain."""
    address = connection.getsockname()[0]
    return f"[IPv6:{address}]" if ":" in address else f"[{address}]"
