"""The last check before the write: what it finds, and that nothing leaves when it says no."""

from __future__ import annotations

import asyncio
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from weakref import WeakSet

import pytest
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import StreamWriter

from notifications.providers.base import NotWritten
from notifications.providers.frozen_body import FrozenBody
from notifications.states import Outcome, Phase, ResultClass
from tests.providers.attempts import attempt, resend
from tests.providers.conftest import Runner
from tests.providers.scripted_server import ACCEPTED, Peer, answer, answering, scripted


class KeepsOneConnection:
    """A server in a thread, which can act on its kept connection while the client's loop is busy elsewhere."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.ready = threading.Event()
        self.later: list[bytes] = []
        self.connections = 0
        self.kept: socket.socket | None = None

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            connection.recv(65536)
            connection.sendall(ACCEPTED)
            self.kept = connection
            self.ready.set()

    def bytes_after_the_first(self) -> bytes:
        assert self.kept is not None
        self.kept.settimeout(0.3)
        try:
            return self.kept.recv(65536)
        except (TimeoutError, ConnectionError):
            return b""


@contextmanager
def keeping_one_connection() -> Iterator[KeepsOneConnection]:
    server = KeepsOneConnection()
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server
    finally:
        server.listener.shutdown(socket.SHUT_RDWR)
        server.listener.close()
        if server.kept is not None:
            server.kept.close()
        thread.join()


def half_close(kept: socket.socket) -> None:
    kept.shutdown(socket.SHUT_WR)


def reset(kept: socket.socket) -> None:
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    kept.close()


def answer_before_the_question(kept: socket.socket) -> None:
    kept.sendall(answer(b'{"id":"of-nobody"}'))


@pytest.mark.parametrize("act", [half_close, reset, answer_before_the_question])
def test_a_kept_connection_that_went_stale_unseen_gets_no_byte(
    run: Runner, act: Callable[[socket.socket], None]
) -> None:
    """The server acts between two sends, and the client's loop has no turn to notice before the second."""

    async def play() -> None:
        with keeping_one_connection() as server:
            async with resend(server.url) as provider:
                first = await provider.send(attempt())
                assert first.outcome is Outcome.ACCEPTED
                server.ready.wait(5)
                assert server.kept is not None
                act(server.kept)
                second = await provider.send(attempt())
            assert (second.outcome, second.code) == (Outcome.NOT_SENT, "not_sent.stale_connection")
            assert second.provider_message_id is None
            assert server.connections == 1
            if act is not reset:
                assert server.bytes_after_the_first() == b""

    run(play())


def test_an_answer_already_read_while_idle_is_not_taken_for_the_next_one(run: Runner) -> None:
    async def stray(peer: Peer) -> None:
        await peer.read_request()
        await peer.say(ACCEPTED)
        await peer.say(answer(b'{"id":"of-nobody"}'), pause_s=0.05)
        await peer.wait()

    async def play() -> None:
        async with scripted(stray) as server, resend(server.url) as provider:
            assert (await provider.send(attempt())).outcome is Outcome.ACCEPTED
            await asyncio.sleep(0.15)
            second = await provider.send(attempt())
            assert second.code in {"not_sent.stale_connection", "resend.accepted"}
            assert second.provider_message_id != "of-nobody"

    run(play())


def test_a_connection_whose_end_was_seen_is_replaced(run: Runner) -> None:
    async def closing(peer: Peer) -> None:
        await peer.read_request()
        await peer.say(ACCEPTED)

    async def play() -> None:
        async with scripted(closing) as server, resend(server.url) as provider:
            for _ in range(3):
                assert (await provider.send(attempt())).outcome is Outcome.ACCEPTED
                await asyncio.sleep(0.05)
            assert server.connections == 3

    run(play())


def test_a_kept_connection_serves_many_requests(run: Runner) -> None:
    async def play() -> None:
        async with scripted(answering(*[ACCEPTED] * 5)) as server, resend(server.url) as provider:
            for _ in range(5):
                assert (await provider.send(attempt())).outcome is Outcome.ACCEPTED
            assert (server.connections, len(server.requests)) == (1, 5)

    run(play())


def too_late() -> None:
    raise NotWritten("lease_over")


def odd_code() -> None:
    raise NotWritten("Ana <ana@example.com>")


def broken_check() -> None:
    raise LookupError("ana@example.com")


@pytest.mark.parametrize(
    ("check", "code"),
    [
        (too_late, "not_sent.lease_over"),
        (odd_code, "not_sent.withheld"),
        (broken_check, "not_sent.internal_error"),
    ],
)
def test_a_check_that_says_no_lets_nothing_leave(run: Runner, check: Callable[[], None], code: str) -> None:
    async def play() -> None:
        async with scripted(answering(ACCEPTED)) as server, resend(server.url) as provider:
            result = await provider.send(attempt(may_write=check))
            assert (result.outcome, result.code, result.phase) == (Outcome.NOT_SENT, code, Phase.NOT_CONNECTED)
            assert result.result_class is ResultClass.RETRYABLE
            await asyncio.sleep(0.05)
            assert (server.requests, server.stray_bytes) == ([], 0)
            assert (await provider.send(attempt())).outcome is Outcome.ACCEPTED

    run(play())


class PowerCutError(BaseException):
    """Something that no code has a handler for."""


def test_a_base_exception_in_the_check_reaches_the_caller_and_leaves_the_adapter_usable(run: Runner) -> None:
    def cut() -> None:
        raise PowerCutError

    async def play() -> None:
        async with scripted(answering(ACCEPTED)) as server, resend(server.url) as provider:
            with pytest.raises(PowerCutError):
                await provider.send(attempt(may_write=cut))
            assert (await provider.send(attempt())).outcome is Outcome.ACCEPTED
            assert len(server.requests) == 1

    run(play())


@pytest.mark.parametrize("turns", range(10))
def test_cancelling_passes_through_and_no_write_follows(run: Runner, turns: int) -> None:
    """Cancelled after any number of the loop's turns: before, while and after the writer gets its own."""
    calls: list[int] = []

    async def never(peer: Peer) -> None:
        await peer.wait()

    async def play() -> None:
        async with scripted(never) as server, resend(server.url) as provider:
            task = asyncio.ensure_future(provider.send(attempt(may_write=lambda: calls.append(turns))))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            at_the_end = len(calls)
            await asyncio.sleep(0.02)
            assert len(calls) == at_the_end
            assert bool(server.stray_bytes) <= bool(calls)

    run(play())


class OpenTransport(asyncio.Transport):
    """A connection with nothing wrong with it."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[object] = []

    def is_closing(self) -> bool:
        return False

    def write(self, data: object) -> None:
        self.written.append(data)


@pytest.mark.parametrize("revoked", [False, True])
def test_a_revoked_body_is_not_written_even_to_a_healthy_connection(run: Runner, *, revoked: bool) -> None:
    """The writer is a task of its own: it can come to its turn after the call was judged."""

    async def play() -> None:
        loop, transport = asyncio.get_running_loop(), OpenTransport()
        protocol = ResponseHandler(loop)
        protocol.connection_made(transport)
        body = FrozenBody(attempt(), WeakSet())
        body.revoked = revoked
        with pytest.raises(NotWritten) if revoked else nullcontext():
            await body.write(StreamWriter(protocol, loop))
        assert body.handed is not revoked
        assert transport.written == ([] if revoked else [attempt().body])

    run(play())


def test_the_check_runs_once_and_after_the_connection_is_made(run: Runner) -> None:
    calls: list[int] = []

    async def play() -> None:
        async with scripted(answering(ACCEPTED)) as server, resend(server.url) as provider:
            await provider.send(attempt(may_write=lambda: calls.append(server.connections)))
            assert len(calls) == 1

    run(play())


def test_the_alarm_for_a_closed_peer_exists_here() -> None:
    assert hasattr(select, "POLLRDHUP")
