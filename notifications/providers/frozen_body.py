"""The request's bytes, and the last check before they are handed to the socket.

Whether a call may have been accepted is judged by one fact: were the bytes handed to the socket. Exceptions cannot
tell, since the same class stands for both truths (docs/aiohttp-outcomes.md).
"""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, cast
from weakref import WeakSet

from aiohttp.payload import Payload

from notifications.providers.base import NotWritten, Request

if TYPE_CHECKING:
    from asyncio import BaseProtocol, BaseTransport

    from aiohttp.abc import AbstractStreamWriter
    from aiohttp.http import StreamWriter

# Linux tells that the peer has closed its half before anything is read; elsewhere only a full hang-up shows.
_PEER_CLOSED: int = getattr(select, "POLLRDHUP", select.POLLHUP)


class FrozenBody(Payload):
    """One attempt's bytes: written at most once, and only when the last check on that very connection passes.

    `handed` turns true immediately before the first byte goes to the socket. `refusal` is what the last check raised.
    """

    def __init__(self, request: Request, seen: WeakSet[BaseProtocol]) -> None:
        super().__init__(request.body, content_type="application/json")
        self._size = len(request.body)
        self._may_write = request.may_write
        self._seen = seen
        self.handed = False
        self.revoked = False
        self.refusal: BaseException | None = None

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        """Check, then hand over headers and body in one write."""
        try:
            if self.revoked or self.handed:
                raise NotWritten("withheld")
            self._check_connection(cast("StreamWriter", writer))
            self._may_write()
        except BaseException as error:
            # aiohttp reports only that writing failed, and a BaseException would be lost with its writer task:
            # the caller of `post` gets the error from here.
            self.refusal = error
            raise NotWritten("withheld") from error
        self.handed = True
        await writer.write(self._value)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Write as above; the older of aiohttp's two entries."""
        await self.write_with_length(writer, None)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Give the body as text, as every payload must be able to."""
        return cast("bytes", self._value).decode(encoding, errors)

    def _check_connection(self, writer: StreamWriter) -> None:
        """Raise NotWritten where the peer has closed this connection, or has answered before being asked."""
        transport = writer.transport
        if transport is None or transport.is_closing() or len(cast("list[object]", writer.protocol)):
            raise NotWritten("stale_connection")
        socket = transport.get_extra_info("socket")
        if socket is None:
            return
        poll = select.poll()
        poll.register(socket.fileno(), self._alarming(transport, writer.protocol))
        if poll.poll(0):
            raise NotWritten("stale_connection")

    def _alarming(self, transport: BaseTransport, protocol: BaseProtocol) -> int:
        """Give the poll events that forbid a write.

        Unread bytes before the question would be taken for its answer (servers send a 408 before they close an idle
        connection). Only a fresh TLS connection may hold some: the session tickets.
        """
        if transport.get_extra_info("sslcontext") is not None and protocol not in self._seen:
            self._seen.add(protocol)
            return _PEER_CLOSED
        return _PEER_CLOSED | select.POLLIN
