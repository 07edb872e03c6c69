"""SMTP against a mail server that real installations run: what arrives in the mailbox, and what its refusals are."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import replace

import pytest
import trustme

from notifications.providers.base import Message, Request, SendResult
from notifications.providers.smtp import SmtpProvider
from notifications.states import Outcome, Phase, ResultClass
from tests.providers import mta
from tests.providers.attempts import MESSAGE
from tests.providers.conftest import Runner
from tests.providers.mta import MailServer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, authority: trustme.CA, request: pytest.FixtureRequest
) -> Iterator[MailServer | None]:
    """Run one for these tests. Where it could not be had (make mta), they say so and prove nothing."""
    if mta.program("chasquid") is None:
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print("\nnot run: this machine has no chasquid (`make mta`), so SMTP was tried with aiosmtpd alone")  # noqa: T201
        yield None
        return
    with mta.running(tmp_path_factory.mktemp("mta"), authority) as one:
        yield one


@pytest.fixture
def trust(authority: trustme.CA) -> ssl.SSLContext:
    """Trust the server's certificate."""
    ours = ssl.create_default_context()
    authority.configure_trust(ours)
    return ours


async def sent(url: str, trust: ssl.SSLContext, *, message: Message = MESSAGE, password: str = "") -> SendResult:
    provider = SmtpProvider(base_url=url, password=password, context=trust)
    try:
        return await provider.send(Request("k", provider.prepare(message), 15.0, lambda: None))
    finally:
        await provider.close()


@pytest.mark.parametrize("way", ["smtp", "smtps"])
def test_a_mail_is_in_the_mailbox_byte_for_byte_below_the_servers_own_lines(
    run: Runner, server: MailServer | None, trust: ssl.SSLContext, way: str
) -> None:
    if server is None:
        return
    port = server.submission if way == "smtp" else server.tls
    url = f"{way}://relay%40example.com@127.0.0.1:{port}"
    message = replace(MESSAGE, text="..two dots\n.\n.one\nQUIT\n", html="<p>报告</p>\n.\n")
    before = len(server.mailbox("ana"))
    result = run(sent(url, trust, message=message, password=mta.PASSWORD))
    assert result.outcome is Outcome.ACCEPTED
    arrived = server.wait_for("ana", before + 1)[before]
    frozen = SmtpProvider(base_url="smtp://mx.example.com", password="").prepare(message)
    content = frozen.partition(b"\r\n\r\n")[2]  # above it stands the envelope
    assert arrived.replace(b"\r\n", b"\n").endswith(content.replace(b"\r\n", b"\n"))
    assert f"Message-ID: <{result.provider_message_id}@example.com>".encode() in arrived


def test_a_mailbox_that_it_does_not_know_is_the_recipients_fault(
    run: Runner, server: MailServer | None, trust: ssl.SSLContext
) -> None:
    if server is None:
        return
    nobody = replace(MESSAGE, to="nobody@example.com")
    result = run(sent(f"smtp+cleartext://127.0.0.1:{server.mail}", trust, message=nobody))
    assert (result.outcome, result.result_class) == (Outcome.REJECTED, ResultClass.RECIPIENT)
    assert (result.code, result.phase) == ("smtp.no_such_mailbox", Phase.ANSWER_READ)


def test_a_login_that_it_refuses_is_a_setting_to_mend(
    run: Runner, server: MailServer | None, trust: ssl.SSLContext
) -> None:
    if server is None:
        return
    url = f"smtp://relay%40example.com@127.0.0.1:{server.submission}"
    result = run(sent(url, trust, password="wrong"))
    assert (result.result_class, result.code) == (ResultClass.FIX_CONFIG, "smtp.login_refused")
    assert result.outcome is not Outcome.UNKNOWN


def test_a_mail_above_its_limit_is_refused_and_no_part_of_it_arrives(
    run: Runner, server: MailServer | None, trust: ssl.SSLContext
) -> None:
    if server is None:
        return
    large = replace(MESSAGE, text="0123456789 " * 150_000)
    before = len(server.mailbox("ana"))
    result = run(sent(f"smtp+cleartext://127.0.0.1:{server.mail}", trust, message=large))
    assert (result.result_class, result.code) == (ResultClass.CONTENT, "smtp.too_large")
    assert len(server.mailbox("ana")) == before
