"""A mail server that takes everything and keeps nothing but a count: what the channels' measurement delivers SMTP to.

As lean as Python allows. `VRFY count` answers how many whole messages came, `RSET` before any mail forgets them.
Usage: python -m bench.mail_sink PORT
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from dataclasses import dataclass
from typing import Final, cast

_ANSWERS: Final = {
    b"EHLO": b"250 sink\r\n",
    b"MAIL": b"250 ok\r\n",
    b"RCPT": b"250 ok\r\n",
    b"DATA": b"354 go on\r\n",
    b"QUIT": b"221 bye\r\n",
}


@dataclass(slots=True)
class Taken:
    """How many messages came since the last RSET."""

    count: int = 0


class Sink(asyncio.Protocol):
    """One connection, with any number of transactions."""

    def __init__(self, taken: Taken) -> None:
        self._taken = taken
        self._buffer = b""
        self._reads_mail = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greet."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(b"220 sink\r\n")

    def data_received(self, data: bytes) -> None:
        """Answer each whole line, or the whole message."""
        self._buffer += data
        while self._transport is not None:
            end = b"\r\n.\r\n" if self._reads_mail else b"\r\n"
            found = self._buffer.find(end)
            if found < 0:
                return
            line, self._buffer = self._buffer[:found], self._buffer[found + len(end) :]
            self._transport.write(self._answer(line))

    def _answer(self, line: bytes) -> bytes:
        if self._reads_mail:
            self._reads_mail = False
            self._taken.count += 1
            return b"250 taken\r\n"
        verb = line[:4].upper()
        self._reads_mail = verb == b"DATA"
        if verb == b"VRFY":
            return b"252 %d\r\n" % self._taken.count
        if verb == b"RSET":
            self._taken.count = 0
        return _ANSWERS.get(verb, b"250 ok\r\n")


async def serve(port: int) -> None:
    """Listen until killed."""
    taken = Taken()
    server = await asyncio.get_running_loop().create_server(lambda: Sink(taken), "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


def main() -> None:
    """Serve on the port of the command line."""
    with contextlib.suppress(ImportError):
        import uvloop

        uvloop.run(serve(int(sys.argv[1])))
        return
    asyncio.run(serve(int(sys.argv[1])))


if __name__ == "__main__":
    main()
