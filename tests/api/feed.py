"""The feed as a producer uses it, and transactions that stay open while it is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tests.delivery.workplace import Workplace

FEED = "SELECT position, notification_id, workspace, seq, outcome FROM notifyops.outcomes(%s, %s)"
CLOSE = "SELECT refused FROM notifyops_private.append_v1('closed', %s, NULL, 'user:olga')"


def advance(place: Workplace, *, times: int = 3) -> int:
    """Do the chore a few times, as the cluster does; give the horizon."""
    with psycopg.connect(place.dsn("worker"), autocommit=True) as worker:
        found = 0
        for _ in range(times):
            row = worker.execute("SELECT notifyops_private.advance_horizon_v1()").fetchone()
            assert row is not None
            found = row[0]
    return found


def read(place: Workplace, after: int = 0, limit: int = 1000) -> list[tuple[Any, ...]]:
    """Read a part of the feed as the reader role."""
    with psycopg.connect(place.dsn("reader"), autocommit=True) as reader:
        return reader.execute(FEED, (after, limit)).fetchall()


def close(connection: psycopg.Connection[Any], intent: int) -> None:
    """Close an intent as a person does, in the connection's transaction."""
    row = connection.execute("SELECT seq FROM notifyops.intents WHERE intent_id = %s", (intent,)).fetchone()
    assert row is not None
    entry = {"id": intent, "to_state": "closed", "seq": row[0], "reason_code": "duplicate"}
    found = connection.execute(CLOSE, (Jsonb([entry]),)).fetchone()
    assert found == (None,)


@contextmanager
def open_transaction(place: Workplace) -> Iterator[psycopg.Connection[Any]]:
    """Give a connection of the web role whose transaction stays open."""
    with psycopg.connect(place.dsn("web")) as connection:
        yield connection
