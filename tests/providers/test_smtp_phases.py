"""Every step of one SMTP transaction, and every way in which it can go wrong there: what is true, and its code."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from notifications.providers.base import Request, SendResult
from notifications.providers.smtp import SmtpProvider
from notifications.states import Outcome, Phase, ResultClass
from tests.providers.attempts import MESSAGE
from tests.providers.conftest import Runner
from tests.providers.scripted_server import Peer, ScriptedServer, scripted
from tests.providers.smtp_server import HONEST, dripping, saying, smtp

pytestmark = pytest.mark.slow

C = ResultClass
STEPS = ("greeting", "ehlo", "mail", "rcpt", "data")


@dataclass(frozen=True)
class Trial:
    """One fault at one step, and its truth."""

    faults: dict[str, Any]
    result_class: ResultClass
    code: str
    reply: int | None = None
    phase: Phase = Phase.ANSWER_READ
    messages: int = 0
    note: str = field(default="")

    def __str__(self) -> str:
        return f"{self.code} {self.note or ','.join(f'{step}={fault!r}'[:50] for step, fault in self.faults.items())}"


def said(step: str, reply: bytes, result_class: ResultClass, code: str, messages: int = 0) -> Trial:
    return Trial({step: reply + b"\r\n"}, result_class, f"smtp.{code}", int(reply[:3]), messages=messages)


BROKEN = [
    Trial({step: fault}, C.RETRYABLE, code, phase=Phase.ENVELOPE, note=f"{step} {note}")
    for step in STEPS
    for note, fault, code in (
        ("closed", saying(then="hang_up"), "not_sent.connection_failed"),
        ("reset", saying(then="reset"), "not_sent.connection_failed"),
        ("silent", saying(then="wait"), "not_sent.deadline"),
        ("dripping", dripping, "not_sent.deadline"),
        ("half, then closed", saying(b"250-so far", then="hang_up"), "not_sent.connection_failed"),
        ("garbage", b"hello ana@example.com\r\n", "smtp.garbled"),
        ("nonsense", b"199 hello\r\n", "smtp.garbled"),
    )
]
TEMPORARY = [said(step, b"421 4.3.2 closing", C.RETRYABLE, "deferred") for step in STEPS]
REPLIES = [
    said("greeting", b"554 5.3.2 no service", C.FIX_CONFIG, "refused"),
    said("ehlo", b"502 what", C.FIX_CONFIG, "refused"),
    said("mail", b"530 5.7.0 log in first", C.FIX_CONFIG, "not_allowed"),
    said("mail", b"550 not you", C.FIX_CONFIG, "sender_refused"),
    said("mail", b"553 5.1.8 bad sender", C.FIX_CONFIG, "sender_refused"),
    said("mail", b"552 too big", C.CONTENT, "too_large"),
    said("mail", b"552 5.3.4 too big", C.CONTENT, "too_large"),
    said("mail", b"451 4.7.1 slow down", C.RETRYABLE, "greylisted"),
    said("mail", b"454 4.7.0 Throttling failure", C.RETRYABLE, "greylisted"),
    said("rcpt", b"450 try later", C.RETRYABLE, "greylisted"),
    said("rcpt", b"451 4.7.1 greylisted", C.RETRYABLE, "greylisted"),
    said("rcpt", b"452 4.5.3 too many", C.RATE_LIMITED, "too_many"),
    said("rcpt", b"452 4.2.2 over quota", C.RETRYABLE, "deferred"),
    said("rcpt", b"550 5.1.1 nobody", C.RECIPIENT, "no_such_mailbox"),
    said("rcpt", b"550 5.1.2 nowhere", C.RECIPIENT, "no_such_domain"),
    said("rcpt", b"553 5.1.3 syntax", C.RECIPIENT, "bad_address"),
    said("rcpt", b"551 5.1.6 moved", C.RECIPIENT, "mailbox_moved"),
    said("rcpt", b"556 5.1.10 null mx", C.RECIPIENT, "no_such_domain"),
    said("rcpt", b"550 5.2.1 disabled", C.RECIPIENT, "mailbox_disabled"),
    said("rcpt", b"552 5.2.2 full", C.RECIPIENT_SOFT, "mailbox_full"),
    said("rcpt", b"550 nobody", C.RECIPIENT, "no_such_mailbox"),
    said("rcpt", b"550 5.7.1 relaying denied", C.FIX_CONFIG, "not_allowed"),
    said("rcpt", b"550 4.7.1 a class that is not the reply's", C.RECIPIENT, "no_such_mailbox"),
    said("rcpt", b"503 5.5.1 what", C.FIX_CONFIG, "refused"),
    said("data", b"554 5.5.1 no valid recipients", C.CONTENT, "content_refused"),
    said("data", b"451 4.3.0 later", C.RETRYABLE, "deferred"),
    said("dot", b"451 4.3.0 later", C.RETRYABLE, "deferred", messages=1),
    said("dot", b"421 4.3.2 closing", C.RETRYABLE, "deferred", messages=1),
    said("dot", b"552 5.3.4 too big", C.CONTENT, "too_large", messages=1),
    said("dot", b"554 5.6.0 bad mime", C.CONTENT, "content_refused", messages=1),
    said("dot", b"554 5.7.1 spam", C.CONTENT, "content_refused", messages=1),
    said("dot", b"550 5.7.26 no DKIM", C.FIX_CONFIG, "not_allowed", messages=1),
    said("dot", b"550 5.1.1 after all nobody", C.RECIPIENT, "no_such_mailbox", messages=1),
    said("dot", b"571 what", C.FIX_CONFIG, "refused", messages=1),
]
AFTER_THE_DOT = [
    Trial({"dot": fault}, C.UNKNOWN, code, phase=phase, messages=1, note=f"dot {note}")
    for note, fault, code, phase in (
        ("closed", saying(then="hang_up"), "unknown.disconnected", Phase.REQUEST_WRITTEN),
        ("reset", saying(then="reset"), "unknown.disconnected", Phase.REQUEST_WRITTEN),
        ("silent", saying(then="wait"), "unknown.deadline", Phase.REQUEST_WRITTEN),
        ("half a reply", saying(b"250 2.0.0 o", then="hang_up"), "unknown.disconnected", Phase.REQUEST_WRITTEN),
        ("354 again", b"354 go on\r\n", "smtp.malformed_response", Phase.ANSWER_READ),
        ("not a number", b"ok queued\r\n", "smtp.malformed_response", Phase.ANSWER_READ),
        ("zeros", b"000 ok\r\n", "smtp.malformed_response", Phase.ANSWER_READ),
        ("six hundred", b"650 ok\r\n", "smtp.malformed_response", Phase.ANSWER_READ),
        ("one long line", b"250 " + b"x" * 70_000, "smtp.malformed_response", Phase.ANSWER_READ),
    )
]
# The server has the text and not the dot: it must not deliver, whatever it does now.
IN_THE_TEXT = [
    Trial({"read": saying(then=end)}, C.RETRYABLE, "", phase=Phase.ENVELOPE, note=f"text {end}")
    for end in ("hang_up", "reset")
]


def provider_at(server: ScriptedServer) -> SmtpProvider:
    return SmtpProvider(base_url=f"smtp+cleartext://127.0.0.1:{server.port}", password="")


async def sent(provider: SmtpProvider, *, timeout_s: float = 5.0, text: str = "Q3 is ready.") -> SendResult:
    body = provider.prepare(replace(MESSAGE, text=text))
    return await provider.send(Request("k", body, timeout_s, lambda: None))


@pytest.mark.parametrize("trial", [*BROKEN, *TEMPORARY, *REPLIES, *AFTER_THE_DOT], ids=str)
def test_each_fault_at_each_step_has_its_truth(run: Runner, trial: Trial) -> None:
    async def play() -> None:
        async with scripted(smtp(**trial.faults)) as server:
            provider = provider_at(server)
            result = await sent(provider, timeout_s=0.5)
            await provider.close()
            assert (result.result_class, result.code) == (trial.result_class, trial.code)
            assert (result.phase, result.http_status) == (trial.phase, trial.reply)
            assert (server.connections, len(server.requests)) == (1, trial.messages)
            assert result.trace_id is not None
            assert len(result.trace_id) == 32

    run(play())


def test_a_garbled_reply_before_the_dot_never_lets_the_message_go() -> None:
    """A reply that comes before its question would be taken for the one to the dot: an acceptance that never was."""

    async def play() -> None:
        async with scripted(smtp(data=b"354 go on\r\n250 2.0.0 queued\r\n", dot=saying(then="wait"))) as server:
            provider = provider_at(server)
            result = await sent(provider, timeout_s=0.5)
            await provider.close()
            await asyncio.sleep(0.05)
            assert (result.outcome, result.code) == (Outcome.NOT_SENT, "not_sent.stale_connection")
            assert server.requests == []

    asyncio.run(play())


@pytest.mark.parametrize("trial", IN_THE_TEXT, ids=str)
def test_a_server_that_leaves_in_the_middle_of_the_text_has_nothing(trial: Trial) -> None:
    """Where the kernel tells in time it is proven; else the dot went into the void, and nobody can tell."""

    async def play() -> None:
        async with scripted(smtp(**trial.faults, ehlo=b"250 mx.example.com\r\n")) as server:
            provider = provider_at(server)
            result = await sent(provider, timeout_s=2.0, text="line of text\n" * 300_000)
            await provider.close()
            assert result.outcome in (Outcome.NOT_SENT, Outcome.UNKNOWN)
            assert (result.outcome is Outcome.NOT_SENT) == (result.phase is Phase.ENVELOPE)
            assert server.requests == []

    asyncio.run(play())


def test_a_greylisting_server_is_asked_again_after_five_minutes() -> None:
    async def play() -> SendResult:
        async with scripted(smtp(rcpt=b"451 4.7.1 greylisted\r\n")) as server:
            return await sent(provider_at(server))

    assert asyncio.run(play()).retry_after_s == 300.0


def test_what_is_beyond_the_servers_size_is_not_even_begun() -> None:
    async def play() -> None:
        async with scripted(smtp(ehlo=b"250-mx\r\n250 SIZE 2000\r\n")) as server:
            provider = provider_at(server)
            assert (await sent(provider)).outcome is Outcome.ACCEPTED
            result = await sent(provider, text="x" * 2000)
            await provider.close()
            assert (result.result_class, result.code) == (C.CONTENT, "smtp.too_large")
            assert (result.phase, len(server.requests)) == (Phase.ENVELOPE, 1)

    asyncio.run(play())


def test_an_idle_connection_is_used_again_and_a_dead_one_is_not() -> None:
    async def play() -> None:
        async with scripted(smtp()) as server:
            provider = provider_at(server)
            for _ in range(3):
                assert (await sent(provider)).outcome is Outcome.ACCEPTED
            assert (server.connections, len(server.requests)) == (1, 3)
            await server.end()
            await asyncio.sleep(0.05)
            assert (await sent(provider)).outcome is Outcome.ACCEPTED
            assert (server.connections, len(server.requests)) == (2, 4)
            await provider.close()

    asyncio.run(play())


def test_a_connection_on_which_something_was_said_unasked_is_not_used_again() -> None:
    async def play() -> None:
        late = saying(HONEST["dot"] + b"421 4.4.2 idle too long\r\n", then="hang_up")
        async with scripted(smtp(dot=late)) as server:
            provider = provider_at(server)
            assert [(await sent(provider)).outcome for _ in range(2)] == [Outcome.ACCEPTED] * 2
            assert (server.connections, len(server.requests)) == (2, 2)
            await provider.close()

    asyncio.run(play())


def test_a_kept_connection_that_ends_before_the_next_dot_is_not_sent() -> None:
    """That the dot before it was out says nothing of this one."""
    answers = iter((HONEST["mail"], None))

    async def mail(peer: Peer) -> None:
        said = next(answers)
        await (peer.hang_up() if said is None else peer.say(said))

    async def play() -> None:
        async with scripted(smtp(mail=mail)) as server:
            provider = provider_at(server)
            assert (await sent(provider)).outcome is Outcome.ACCEPTED
            result = await sent(provider)
            await provider.close()
            assert (result.outcome, result.code) == (Outcome.NOT_SENT, "not_sent.connection_failed")
            assert (result.phase, server.connections) == (Phase.ENVELOPE, 1)

    asyncio.run(play())
