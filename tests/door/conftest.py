"""The tables' owner in one transaction that is rolled back, and stories in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.door.story import Story, state_rights

Owner = psycopg.Connection[Any]
Tell = Callable[..., Story]


@pytest.fixture
def owner(as_role: Callable[..., Owner]) -> Iterator[Owner]:
    """Give the owner's connection inside a transaction; nothing of it stays."""
    connection = as_role("owner", autocommit=False)
    state_rights(connection)
    yield connection
    connection.rollback()


@pytest.fixture
def tell(owner: Owner) -> Tell:
    """Give a fresh story, enqueued by the owner."""

    def begin(kind: str = "report_ready", **options: str) -> Story:
        return Story(owner, kind).enqueue(**options)

    return begin


@pytest.fixture
def admin(as_role: Callable[..., Owner]) -> Iterator[Owner]:
    """Give a superuser's connection inside a transaction, with the door's roles stated; nothing of it stays."""
    connection = as_role("postgres", autocommit=False)
    connection.execute("SET search_path = notifyops_private, pg_temp")
    state_rights(connection)
    yield connection
    connection.rollback()
