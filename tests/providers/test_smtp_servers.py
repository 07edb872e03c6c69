"""SMTP against a server of other authors (aiosmtpd): encryption, login, dots, and what is never said in the clear."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
import trustme
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from notifications.providers.base import Message, Request, SendResult
from notifications.providers.smtp import SmtpProvider
from notifications.states import Outcome, Phase, ResultClass
from tests.providers.attempts import MESSAGE
from tests.providers.conftest import Runner

PASSWORD = "hunter2-secret"


class Inbox:
    """What the server took, and the logins that it saw."""

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []
        self.logins: list[tuple[str, bytes]] = []
        self.was_encrypted: list[bool] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        self.envelopes.append(envelope)
        wire = server.transport
        self.was_encrypted.append(wire is not None and wire.get_extra_info("sslcontext") is not None)
        return "250 2.0.0 taken"

    def authenticate(self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        self.logins.append((mechanism, data.password))
        return AuthResult(success=data.password == PASSWORD.encode(), handled=False)


@asynccontextmanager
async def serving(inbox: Inbox, *, implicit: ssl.SSLContext | None = None, **options: Any) -> AsyncIterator[int]:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: SMTP(inbox, authenticator=inbox.authenticate, enable_SMTPUTF8=True, loop=loop, **options),
        "127.0.0.1",
        0,
        ssl=implicit,
    )
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await asyncio.sleep(0.05)


def contexts(authority: trustme.CA, name: str = "127.0.0.1") -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Give the server's and the client's."""
    theirs = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(name).configure_cert(theirs)
    ours = ssl.create_default_context()
    authority.configure_trust(ours)
    return theirs, ours


async def sent(
    url: str, ours: ssl.SSLContext | None = None, *, message: Message = MESSAGE, password: str = ""
) -> SendResult:
    provider = SmtpProvider(base_url=url, password=password, context=ours)
    try:
        return await provider.send(Request("k", provider.prepare(message), 5.0, lambda: None))
    finally:
        await provider.close()
        await asyncio.sleep(0.05)


def test_what_arrives_is_byte_for_byte_what_was_frozen(run: Runner) -> None:
    message = replace(MESSAGE, text="..two dots\n.\n.one\nQUIT\n", html="<p>报告</p>\n.\n")

    async def play() -> None:
        inbox = Inbox()
        async with serving(inbox) as port:
            result = await sent(f"smtp+cleartext://127.0.0.1:{port}", message=message)
            assert result.outcome is Outcome.ACCEPTED
        (envelope,) = inbox.envelopes
        frozen = SmtpProvider(base_url="smtp://mx.example.com", password="").prepare(message)
        assert frozen.partition(b"\r\n\r\n")[2] == envelope.original_content
        assert (envelope.mail_from, envelope.rcpt_tos) == ("reports@example.com", ["ana@example.com"])
        assert f"Message-ID: <{result.provider_message_id}@example.com>".encode() in envelope.original_content

    run(play())


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_mail_and_password_go_encrypted_to_the_host_that_was_meant(
    run: Runner, authority: trustme.CA, scheme: str
) -> None:
    theirs, ours = contexts(authority)
    tls: dict[str, Any] = (
        {"implicit": theirs} if scheme == "smtps" else {"tls_context": theirs, "require_starttls": True}
    )

    async def play() -> None:
        inbox = Inbox()
        async with serving(inbox, auth_require_tls=scheme == "smtp", **tls) as port:
            result = await sent(f"{scheme}://relay@127.0.0.1:{port}", ours, password=PASSWORD)
            assert (result.outcome, inbox.was_encrypted) == (Outcome.ACCEPTED, [True])
            assert inbox.logins == [("PLAIN", PASSWORD.encode())]

    run(play())


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
@pytest.mark.parametrize("fault", ["another name", "another authority"])
def test_a_server_that_cannot_prove_its_name_gets_nothing(
    run: Runner, authority: trustme.CA, scheme: str, fault: str
) -> None:
    theirs, ours = contexts(authority, "other.example.com" if fault == "another name" else "127.0.0.1")
    if fault == "another authority":
        ours = ssl.create_default_context()
    tls: dict[str, Any] = {"implicit": theirs} if scheme == "smtps" else {"tls_context": theirs}

    async def play() -> None:
        inbox = Inbox()
        async with serving(inbox, **tls) as port:
            result = await sent(f"{scheme}://relay@127.0.0.1:{port}", ours, password=PASSWORD)
            assert (result.outcome, result.code) == (Outcome.NOT_SENT, "not_sent.tls")
            assert (result.phase, inbox.logins, inbox.envelopes) == (Phase.ENVELOPE, [], [])

    run(play())


def test_a_server_without_starttls_gets_neither_password_nor_mail(run: Runner) -> None:
    """Somebody in between can strike the word STARTTLS out; "encrypted if offered" would then be not at all."""

    async def play() -> None:
        inbox = Inbox()
        async with serving(inbox, auth_require_tls=False) as port:
            result = await sent(f"smtp://relay@127.0.0.1:{port}", password=PASSWORD)
            assert (result.result_class, result.code) == (ResultClass.FIX_CONFIG, "smtp.no_tls")
            assert (inbox.logins, inbox.envelopes) == ([], [])

    run(play())


def test_a_wrong_password_is_said_once(run: Runner) -> None:
    async def play() -> None:
        inbox = Inbox()
        async with serving(inbox, auth_require_tls=False) as port:
            result = await sent(f"smtp+cleartext://relay@127.0.0.1:{port}", password="wrong")
            assert (result.result_class, result.code) == (ResultClass.FIX_CONFIG, "smtp.login_refused")
            assert (len(inbox.logins), result.http_status) == (1, 535)
            assert "wrong" not in repr(result)

    run(play())


def test_a_server_that_offers_no_login_is_a_setting_to_mend(run: Runner) -> None:
    async def play() -> None:
        async with serving(Inbox(), auth_exclude_mechanism=["PLAIN", "LOGIN"], auth_require_tls=False) as port:
            result = await sent(f"smtp+cleartext://relay@127.0.0.1:{port}", password=PASSWORD)
            assert (result.result_class, result.code) == (ResultClass.FIX_CONFIG, "smtp.no_login")

    run(play())


@pytest.mark.parametrize(
    ("url", "password", "sentence"),
    [
        ("http://mx.example.com", "", "must be like"),
        ("mx.example.com:25", "", "must be like"),
        ("smtp://", "", "must be like"),
        ("smtp://user:secret-in-url@mx.example.com", "x", "without a password"),
        ("smtp://mx.example.com/path", "", "must be like"),
        ("smtp://mx.example.com:99999", "", "must be like"),
        ("smtp://user@mx.example.com", "", "belong together"),
        ("smtp://mx.example.com", "secret", "belong together"),
        ("smtp+cleartext://user@mx.example.com", "secret", "not sent without TLS"),
    ],
)
def test_an_address_that_cannot_be_meant_is_refused_in_words(url: str, password: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as refusal:
        SmtpProvider(base_url=url, password=password)
    assert "secret" not in str(refusal.value)
