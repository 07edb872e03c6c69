"""A relay before PostgreSQL whose open flows fall silent, or that is away as a whole: failover and outage."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType

from notifyops import dsn
from tests.postgres import free_port


class Relay:
    """Passes on what either side says; `with` takes it away at the end. `flows` counts what was ever connected."""

    def __init__(self, url: str) -> None:
        self._parts = dsn.read(url, name="the database's address")
        self._port = free_port()
        self._server: socket.socket | None = None
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._threads: list[threading.Thread] = []
        self._silent: set[int] = set()
        self.flows = 0

    def __enter__(self) -> Relay:
        self.up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    @property
    def url(self) -> str:
        return dsn.write(self._parts | {"host": "127.0.0.1", "port": str(self._port)})

    def up(self) -> None:
        """Take connections, on the same port as before."""
        self._server = socket.create_server(("127.0.0.1", self._port))
        self._start(self._accept, self._server)

    def down(self) -> None:
        """Refuse new connections and end the open ones, as a server that was stopped."""
        # The one that accepts ends first: it may have a pair in its hands.
        if self._server is not None:
            with contextlib.suppress(OSError):
                self._server.shutdown(socket.SHUT_RDWR)
            self._server.close()
            self._server = None
            self._threads[0].join(30)
        ended = [one for pair in self._pairs for one in pair]
        for one in ended:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(30)
        for one in ended:
            one.close()
        self._pairs, self._threads = [], []

    def silence(self) -> None:
        """Lose all that the open flows say, and tell nobody, as a host without power; new flows pass."""
        self._silent |= {id(one) for pair in self._pairs for one in pair}

    def _start(self, target: Callable[..., None], *given: socket.socket) -> None:
        thread = threading.Thread(target=target, args=given, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, server: socket.socket) -> None:
        while True:
            try:
                near, _ = server.accept()
                far = socket.create_connection((self._parts["host"], int(self._parts.get("port", "5432"))))
            except OSError:
                return
            if self._server is None:
                near.close()
                far.close()
                return
            self.flows += 1
            self._pairs.append((near, far))
            for one, other in ((near, far), (far, near)):
                self._start(self._pump, one, other)

    def _pump(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while said := one.recv(65536):
                if id(one) not in self._silent:
                    other.sendall(said)
        for each in (one, other):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
