"""Other roles than Django's own at the intake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

Connect = Callable[..., psycopg.Connection[Any]]
Call = Callable[..., tuple[Any, ...]]
QUERY = "SELECT id, notification_id, created, state FROM notifyops.enqueue(%s, %s, %s, %s::jsonb, %s::jsonb)"


@pytest.fixture
def writer(transactional_db: None, as_role: Connect) -> Connect:
    """Give connections of the writer role, which may enqueue in the default workspace and in acme."""
    with as_role("owner") as owner:
        owner.execute(
            "INSERT INTO notifyops_private.notifications_workspacegrant (role, workspace) "
            "VALUES ('notifyops_test_writer', ''), ('notifyops_test_writer', 'acme') ON CONFLICT DO NOTHING"
        )

    def connect(**options: Any) -> psycopg.Connection[Any]:
        return as_role("writer", **options)

    return connect


@pytest.fixture
def owe() -> Call:
    """Give a call of notifyops.enqueue with good arguments, but for those that are named."""

    def call(
        connection: psycopg.Connection[Any],
        report_id: str | None = "demo-001",
        *,
        kind: str | None = "report_ready",
        to: str | None = "ana@example.com",
        data: Any = None,
        options: Any = None,
    ) -> tuple[Any, ...]:
        content = Jsonb({"title": "Q3"} if data is None else data)
        row = connection.execute(QUERY, (kind, report_id, to, content, Jsonb(options or {}))).fetchone()
        assert row is not None
        return tuple(row)

    return call
