"""A pool that never waits for a dead peer: what is kept is looked at for a moment, and what is missing is connected.

A request that finds no kept connection connects by itself, as it would without a pool, so that a database that is back
serves at once. psycopg's pool connects in the background instead, with a delay that doubles without a bound while the
database is away, and waits without a bound for the answer of a flow whose other end has gone without a word.
"""

from __future__ import annotations

import select
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg import OperationalError
from psycopg.pq import ConnStatus, ExecStatus, TransactionStatus

# A database that lives answers nothing within a millisecond; one that swaps, within this. No answer costs a connect.
ANSWER_S: Final = 1.0
# For a place; the connect has its own bound (connect_timeout).
WAIT_S: Final = 3.0
# An idle one is closed after that, and none grows older than that: caches of plans grow, and names get other addresses.
IDLE_S: Final = 600.0
OLD_S: Final = 3600.0

Connection = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True)
class _Idle:
    connection: Connection
    since: float


class Kept:
    """At most `size` connections, of which the newest used are used again. Safe for threads; not across forks."""

    # psycopg asks it of whatever it finds in `connection._pool`: closing closes.
    close_returns: Final = False

    def __init__(self, wanted: Mapping[str, Any], configure: Callable[[Connection], object], *, size: int) -> None:
        self._wanted, self._configure, self._size = wanted, configure, size
        self._room = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._idle = deque[_Idle]()
        self._born: dict[int, float] = {}

    def open(self) -> None:
        """Nothing is to be opened beforehand."""

    def getconn(self) -> Connection:
        """Give a connection that answers. Raises OperationalError: all are in use, or there is no database."""
        if not self._room.acquire(timeout=WAIT_S):
            raise OperationalError(f"all {self._size} connections of this process have been in use for {WAIT_S:g} s")
        try:
            connection = self._kept() or self._connected()
        except BaseException:
            self._room.release()
            raise
        connection._pool = self
        return connection

    def putconn(self, connection: Connection) -> None:
        """Keep it, or close it where it is broken, old, or in the middle of something."""
        connection._pool = None
        now = time.monotonic()
        is_clean = connection.pgconn.transaction_status == TransactionStatus.IDLE and connection.autocommit
        with self._lock:
            is_young = now - self._born.get(id(connection), now - OLD_S) < OLD_S
            if is_clean and is_young:
                self._idle.append(_Idle(connection, now))
            ended = [] if is_clean and is_young else [connection]
            while self._idle and now - self._idle[0].since > IDLE_S:
                ended.append(self._idle.popleft().connection)
        self._end(ended)
        self._room.release()

    def close(self) -> None:
        """Close what is kept; what is in use is closed when it is given back, or kept for the next one."""
        with self._lock:
            idle = [one.connection for one in self._idle]
            self._idle.clear()
        self._end(idle)

    def _kept(self) -> Connection | None:
        """Give a kept one that answers. Where one does not, all go: each look would cost as long."""
        with self._lock:
            one = self._idle.pop().connection if self._idle else None
        if one is None or answers(one):
            return one
        self._end([one])
        self.close()
        return None

    def _connected(self) -> Connection:
        connection = psycopg.connect(**self._wanted)
        try:
            self._configure(connection)
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._born[id(connection)] = time.monotonic()
        return connection

    def _end(self, connections: list[Connection]) -> None:
        with self._lock:
            for one in connections:
                self._born.pop(id(one), None)
        for one in connections:
            one.close()


def answers(connection: Connection, within_s: float = ANSWER_S) -> bool:
    """Say whether the other end answers an empty query in time; without it the connection is of no use any more.

    By libpq's own calls, as psycopg waits for an answer without a bound.
    Source: PostgreSQL 17 documentation, 34.4 Asynchronous Command Processing.
    """
    link, ends_at = connection.pgconn, time.monotonic() + within_s
    try:
        if link.status != ConnStatus.OK:
            return False
        link.send_query(b"")
        # Few bytes: they fit into the socket's buffer, or nobody has read it for long.
        link.flush()
        heard = select.poll()
        heard.register(link.socket, select.POLLIN)
        while True:
            if not heard.poll(max(0.0, ends_at - time.monotonic()) * 1000):
                return False
            link.consume_input()
            while not link.is_busy():
                result = link.get_result()
                if result is None:
                    return link.transaction_status == TransactionStatus.IDLE
                if result.status != ExecStatus.EMPTY_QUERY:
                    return False
    except psycopg.Error:
        return False
