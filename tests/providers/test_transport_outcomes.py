"""Every way in which one call can go, against a real socket: what is judged, and what the server saw."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from notifications.states import Outcome, Phase, ResultClass
from tests.providers.attempts import attempt, resend, sent_once
from tests.providers.conftest import Runner
from tests.providers.scripted_server import ACCEPTED, Peer, Script, answer, answering, scripted

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Trial:
    """One situation; after the request was read unless the name says otherwise."""

    name: str
    script: Script
    outcome: Outcome
    code: str
    requests: int = 1


def after_request(*parts: bytes, end: str = "wait", pause_s: float = 0.0) -> Script:
    """Give a script that reads one request, says the parts and then waits, hangs up or resets."""

    async def script(peer: Peer) -> None:
        await peer.read_request()
        await peer.say(*parts, pause_s=pause_s)
        await {"wait": peer.wait, "fin": peer.hang_up, "rst": peer.reset}[end]()

    return script


HALF_HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 40"
HALF_BODY = b'HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{"id":"'
BROKEN_GZIP = answer(b"\x1f\x8bnot gzip", headers=("Content-Encoding: gzip",))
CONTINUES = b"HTTP/1.1 102 Processing\r\n\r\n" * 5
LOST = Outcome.UNKNOWN

TRIALS = (
    Trial("reset", after_request(end="rst"), LOST, "unknown.disconnected"),
    Trial("closed", after_request(end="fin"), LOST, "unknown.disconnected"),
    Trial("silence", after_request(), LOST, "unknown.deadline"),
    Trial("half a head, then closed", after_request(HALF_HEAD, end="fin"), LOST, "unknown.disconnected"),
    Trial("half a head, then reset", after_request(HALF_HEAD, end="rst"), LOST, "unknown.disconnected"),
    Trial("half a head, then silence", after_request(HALF_HEAD), LOST, "unknown.deadline"),
    Trial("half a body, then closed", after_request(HALF_BODY, end="fin"), LOST, "unknown.truncated"),
    Trial("half a body, then reset", after_request(HALF_BODY, end="rst"), LOST, "unknown.truncated"),
    Trial("half a body, then silence", after_request(HALF_BODY), LOST, "unknown.deadline"),
    Trial("garbage", after_request(b"\x00\xff no such protocol\r\n\r\n"), LOST, "unknown.garbled"),
    Trial(
        "a huge header", after_request(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 9000 + b"\r\n\r\n"), LOST, "unknown.garbled"
    ),
    Trial("a drip", after_request(*[b"x"] * 200, pause_s=0.02), LOST, "unknown.garbled"),
    Trial(
        "a dripping body",
        after_request(b"HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n", *[b"x"] * 200, pause_s=0.02),
        LOST,
        "unknown.deadline",
    ),
    Trial("interim answers, then one", after_request(CONTINUES, ACCEPTED), Outcome.ACCEPTED, "resend.accepted"),
    Trial("interim answers for ever", after_request(*[CONTINUES] * 200, pause_s=0.01), LOST, "unknown.deadline"),
    Trial("a switch of protocols", after_request(answer(b"", status="101 Switching")), LOST, "resend.101.unclassified"),
    Trial("broken gzip", after_request(BROKEN_GZIP), LOST, "resend.malformed_response"),
)


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.name)
def test_a_request_that_was_handed_over_is_never_called_not_sent(run: Runner, trial: Trial) -> None:
    async def play() -> None:
        async with scripted(trial.script) as server:
            started = asyncio.get_running_loop().time()
            result = await sent_once(server.url, attempt(timeout_s=0.4))
            took_s = asyncio.get_running_loop().time() - started
            assert (result.outcome, result.code) == (trial.outcome, trial.code)
            assert result.phase is not Phase.NOT_CONNECTED
            assert (server.connections, len(server.requests)) == (1, 1)
            assert took_s < 0.7

    run(play())


async def reset_at_once(peer: Peer) -> None:
    await peer.reset()


async def close_at_once(peer: Peer) -> None:
    await peer.hang_up()


@pytest.mark.parametrize("script", [reset_at_once, close_at_once], ids=["reset", "closed"])
def test_a_connection_that_ends_before_the_write_is_never_called_accepted(run: Runner, script: Script) -> None:
    """Which of the two is first is a race of the kernel's; either judgement is honest, and none of them says more."""

    async def play() -> None:
        async with scripted(script) as server:
            result = await sent_once(server.url)
            assert result.outcome in {Outcome.NOT_SENT, Outcome.UNKNOWN}
            assert server.requests == []
            assert (result.phase is Phase.NOT_CONNECTED) == (result.outcome is Outcome.NOT_SENT)

    run(play())


def test_a_refused_connection_is_not_sent(run: Runner) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        result = run(sent_once(f"http://127.0.0.1:{port}"))
    assert (result.outcome, result.code) == (Outcome.NOT_SENT, "not_sent.refused")
    assert (result.result_class, result.phase) == (ResultClass.RETRYABLE, Phase.NOT_CONNECTED)


def test_an_unknown_host_is_not_sent(run: Runner) -> None:
    result = run(sent_once("http://no-such-host.invalid"))
    assert (result.outcome, result.code) == (Outcome.NOT_SENT, "not_sent.dns")


def test_a_host_name_that_cannot_be_one_is_not_sent(run: Runner) -> None:
    result = run(sent_once(f"http://{'x' * 70}.invalid"))
    assert (result.outcome, result.phase) == (Outcome.NOT_SENT, Phase.NOT_CONNECTED)


@asynccontextmanager
async def full_backlog() -> AsyncIterator[str]:
    """Listen and never accept, with a full queue: further connections stay half made."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(3)]
        try:
            for each in waiting:
                each.setblocking(False)
                each.connect_ex(listener.getsockname())
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            for each in waiting:
                each.close()


def test_a_connection_that_is_never_made_is_not_sent_and_bounded(run: Runner) -> None:
    async def play() -> None:
        async with full_backlog() as url:
            started = asyncio.get_running_loop().time()
            result = await sent_once(url, attempt(timeout_s=0.3))
            assert asyncio.get_running_loop().time() - started < 0.6
            assert (result.outcome, result.code) == (Outcome.NOT_SENT, "not_sent.deadline")

    run(play())


def test_waiting_for_a_free_connection_counts_against_the_deadline(run: Runner) -> None:
    async def play() -> None:
        async with scripted(after_request()) as server, resend(server.url) as provider:
            holding = asyncio.gather(*(provider.send(attempt(timeout_s=0.6)) for _ in range(4)))
            await asyncio.sleep(0.1)
            assert (await provider.send(attempt(timeout_s=0.2))).code == "not_sent.deadline"
            assert [result.code for result in await holding] == ["unknown.deadline"] * 4
            assert len(server.requests) == 4

    run(play())


def test_a_whole_answer_is_accepted_with_its_id(run: Runner) -> None:
    async def play() -> None:
        async with scripted(answering(ACCEPTED)) as server:
            result = await sent_once(server.url)
            assert (result.outcome, result.phase) == (Outcome.ACCEPTED, Phase.ANSWER_READ)
            assert result.provider_message_id == "4ef9a417-02e9-4d39-ad75-9611e0fcc33c"

    run(play())
