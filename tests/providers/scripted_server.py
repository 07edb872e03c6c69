"""A raw TCP server that does on each connection exactly what a script says, and remembers what it saw."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Script = Callable[["Peer"], Awaitable[None]]


class Peer:
    """One connection, from the server's side."""

    def __init__(self, server: ScriptedServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._server = server
        self._reader = reader
        self._writer = writer

    async def read_request(self) -> bytes:
        """Read one whole request with a Content-Length, and keep it."""
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = 0
        for line in head.split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        request = head + await self._reader.readexactly(length)
        self._server.requests.append(request)
        return request

    async def read_line(self) -> bytes:
        """Read one line with its end; nothing where the client has left."""
        return await self._reader.readline()

    async def say(self, *parts: bytes, pause_s: float = 0.0) -> None:
        """Write the parts, each after a pause."""
        for part in parts:
            await asyncio.sleep(pause_s)
            self._writer.write(part)
            await self._writer.drain()

    async def reset(self) -> None:
        """Answer by RST: the connection is gone without an end."""
        connection = self._writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def hang_up(self) -> None:
        """Close this side, and read what still comes."""
        self._writer.close()

    async def wait(self) -> None:
        """Stay silent until the client leaves, counting the bytes that still come."""
        while data := await self._reader.read(65536):
            self._server.stray_bytes += len(data)

    def keep(self, message: bytes) -> None:
        """Note one whole message."""
        self._server.requests.append(message)


class ScriptedServer:
    """What the scripts share: the connections and requests seen so far."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.port = 0
        self.connections = 0
        self.stray_bytes = 0
        self.requests: list[bytes] = []
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self.script(Peer(self, reader, writer))
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client left, or the test ended: both are part of a script
        finally:
            self._tasks.discard(task)
            writer.close()

    async def end(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.sleep(0)


@asynccontextmanager
async def scripted(script: Script, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[ScriptedServer]:
    """Serve a script on a free loopback port."""
    state = ScriptedServer(script)
    server = await asyncio.start_server(state.meet, "127.0.0.1", 0, ssl=tls)
    state.port = server.sockets[0].getsockname()[1]
    try:
        yield state
    finally:
        await state.end()
        server.close()


def answer(body: bytes, *, status: str = "200 OK", headers: tuple[str, ...] = ()) -> bytes:
    """Give a whole answer; the content length is the body's unless a header says otherwise."""
    lines = [f"HTTP/1.1 {status}", *headers]
    if not any(line.lower().startswith(("content-length", "transfer-encoding")) for line in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def answering(*answers: bytes) -> Script:
    """Give a script that reads a request and answers it, on one kept connection, with each answer in turn."""

    async def script(peer: Peer) -> None:
        for each in answers:
            await peer.read_request()
            await peer.say(each)
        await peer.wait()

    return script


ACCEPTED = answer(b'{"id":"4ef9a417-02e9-4d39-ad75-9611e0fcc33c"}')
