"""The lock of one piece of long work: held by a session, and given back with it however its process dies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from django.db import DatabaseError, InterfaceError, connection

# The second key is the work's hash: a collision of two works only makes one of them wait for the other.
LOCKS: Final = 7806


class AlreadyRuns(Exception):
    """Another process does this very work now. Nothing was begun; that is no failure."""


@contextmanager
def alone(kind: str, key: str) -> Iterator[None]:
    """Hold the work's lock while the block runs. Raises AlreadyRuns.

    Where the connection is lost, the server gives the lock back, and the run's epoch goes on guarding.
    """
    work = (LOCKS, f"{kind}/{key}")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, hashtext(%s))", work)
        if not cursor.fetchone()[0]:
            raise AlreadyRuns
    try:
        yield
    finally:
        with suppress(DatabaseError, InterfaceError), connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s, hashtext(%s))", work)


def reconnect() -> None:
    """Give up a connection that is broken; Django opens another at the next query."""
    if not connection.in_atomic_block and not connection.is_usable():
        connection.close()
