"""One client's connection: answers its calls in order, and can be broken in every way a network breaks."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import sys
from collections.abc import Awaitable, Callable
from typing import cast

from notifications.sandbox.wire import MAX_BODY_BYTES, Answer, BadRequest, Call, Framer

Handler = Callable[[Call, "Connection"], Awaitable[Answer | None]]


class Connection(asyncio.Protocol):
    """Speak HTTP/1.1 with one client.

    `handle` gives the answer to send, or None where a fault has already dealt with the socket. A client that goes
    away does not stop the call it has made: a provider works on, and that is what makes an outcome unknown.
    """

    def __init__(self, handle: Handler, peers: set[Connection]) -> None:
        self._handle = handle
        self._peers = peers
        self._framer = Framer()
        self._task: asyncio.Task[None] | None = None
        self._ended_by_client = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._peers.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._peers.discard(self)

    def data_received(self, data: bytes) -> None:
        self._framer.feed(data)
        if self._task is None:
            self._next()
        elif self._framer.waiting_bytes > MAX_BODY_BYTES and self._transport is not None:
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        # A client may close its half and still wait for the answer to the call in hand.
        self._ended_by_client = True
        return self._task is not None

    def send(self, data: bytes) -> None:
        """Write bytes as they stand; silently nothing once the client is gone."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """End with FIN after what was written."""
        if self._transport is not None:
            self._transport.close()

    def reset(self) -> None:
        """End with RST: what was written but not yet delivered is lost."""
        if self._transport is None:
            return
        # A linger of zero seconds turns close() into an RST (socket(7), SO_LINGER).
        self._transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        self._transport.abort()

    def _next(self) -> None:
        try:
            call = self._framer.next_call()
        except BadRequest as bad:
            self.send(_refusal(bad).encoded())
            self.close()
            return
        if call is not None:
            self._task = asyncio.get_running_loop().create_task(self._serve(call))
        elif self._framer.wants_continue():
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    async def _serve(self, call: Call) -> None:
        try:
            answer = await self._handle(call, self)
        except Exception as defect:
            # A defect of ours must look like the provider's own 500, and must be seen by whoever runs the sandbox.
            sys.stderr.write(f"sandbox: {call.method} {call.path} failed: {defect!r}\n")
            answer = Answer(500, _body(500, "application_error", "An unexpected error occurred."))
        if answer is not None:
            self.send(answer.encoded())
        self._task = None
        transport = self._transport
        if not call.keep_alive or self._ended_by_client:
            self.close()
        elif transport is not None and not transport.is_closing():
            transport.resume_reading()
            self._next()


def _refusal(bad: BadRequest) -> Answer:
    return Answer(bad.status, _body(bad.status, "validation_error", bad.sentence), headers=[("Connection", "close")])


def _body(status: int, name: str, message: str) -> bytes:
    return json.dumps({"statusCode": status, "message": message, "name": name}).encode()
