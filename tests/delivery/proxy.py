"""A proxy before PostgreSQL that swallows an answer, or lets nothing through: the truth that a network may tell."""

from __future__ import annotations

import asyncio
from types import TracebackType

import psycopg


class DeafProxy:
    """Passes everything on, until a wanted word goes by: the server gets it, and its answer goes nowhere."""

    def __init__(self, dsn: str) -> None:
        self._target = psycopg.conninfo.conninfo_to_dict(dsn)
        self._server: asyncio.Server | None = None
        self._word: bytes | None = None
        self._pipes: set[asyncio.Task[None]] = set()
        self._open = asyncio.Event()
        self._open.set()

    async def __aenter__(self) -> DeafProxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for pipe in tuple(self._pipes):
            pipe.cancel()
        await asyncio.gather(*self._pipes, return_exceptions=True)

    @property
    def dsn(self) -> str:
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        plain = {key: str(value) for key, value in self._target.items() if key not in ("host", "port", "hostaddr")}
        return psycopg.conninfo.make_conninfo(
            **plain, host="127.0.0.1", port=port, sslmode="disable", gssencmode="disable"
        )

    def swallow(self, word: str) -> None:
        """Swallow the answer to the next statement that holds this word, once."""
        self._word = word.encode()

    def part(self) -> None:
        """Let nothing through in either direction, and tell nobody: the connections only fall silent."""
        self._open.clear()

    def join(self) -> None:
        """Let through again what was held up meanwhile, and all that follows."""
        self._open.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection(
            str(self._target["host"]), int(self._target["port"] or 5432)
        )
        back = asyncio.create_task(self._pass_on(up_reader, writer))
        self._pipes.add(back)
        try:
            while data := await reader.read(65_536):
                struck = self._word is not None and self._word in data
                if struck:
                    self._word = None
                    back.cancel()
                await self._open.wait()
                up_writer.write(data)
                await up_writer.drain()
                if struck:
                    # The server has done it by now; whoever waits for the answer is told nothing.
                    await asyncio.sleep(0.2)
                    break
        finally:
            back.cancel()
            writer.transport.abort()
            up_writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            await self._open.wait()
            writer.write(data)
            await writer.drain()
        writer.close()
