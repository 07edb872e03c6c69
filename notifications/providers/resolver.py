"""Host names resolved in daemon threads, so that a hung name server can hold up neither a call nor the loop's end."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult


class DaemonResolver(AbstractResolver):
    """Resolve with getaddrinfo, one daemon thread a question.

    The loop's own executor will not do: `asyncio.run` joins its threads at the end, however long getaddrinfo hangs.
    aiohttp asks once for each host at a time and caches the answer, so the threads stay few.
    """

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Give the host's addresses. Raises OSError; a caller that gives up leaves the thread to its end."""
        loop = asyncio.get_running_loop()
        found: asyncio.Future[list[Any]] = loop.create_future()

        def look_up() -> None:
            answer: list[Any] | OSError
            try:
                answer = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
            except OSError as error:
                answer = error
            except UnicodeError:  # a label longer than 63 characters
                answer = socket.gaierror(socket.EAI_NONAME, "not a host name")
            try:
                loop.call_soon_threadsafe(_settle, found, answer)
            except RuntimeError:
                return  # the loop has ended meanwhile; nobody waits for the answer

        threading.Thread(target=look_up, name="resolver", daemon=True).start()
        return [
            ResolveResult(
                hostname=host,
                host=address[0],
                port=address[1],
                family=family_found,
                proto=protocol,
                flags=socket.AI_NUMERICHOST,
            )
            for family_found, _, protocol, _, address in await found
        ]

    async def close(self) -> None:
        """Nothing to give back: the threads are daemons."""


def _settle(found: asyncio.Future[list[Any]], answer: list[Any] | OSError) -> None:
    if found.done():
        return
    if isinstance(answer, OSError):
        found.set_exception(answer)
    else:
        found.set_result(answer)
