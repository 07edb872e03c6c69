"""An application of someone else's in the same database: its table `shop_report`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

DOC = Path(__file__).parents[2] / "docs" / "enqueue.md"
AWAY = "DROP TABLE IF EXISTS shop_report; DROP FUNCTION IF EXISTS announce_report()"
GRANTS = """
GRANT USAGE, CREATE ON SCHEMA public TO notifyops_test_writer;
INSERT INTO notifyops_private.notifications_workspacegrant (role, workspace)
VALUES ('notifyops_test_writer', ''), ('notifyops_test_writer', 'acme') ON CONFLICT DO NOTHING;
"""


def recipe(name: str) -> str:
    """Give one example of docs/enqueue.md, exactly as it stands there."""
    found = re.search(rf"<!-- recipe: {name} -->\n```\w+\n(.*?)```", DOC.read_text("utf-8"), re.DOTALL)
    assert found, name
    return found[1]


@pytest.fixture
def shop(transactional_db: None, as_role: Callable[..., psycopg.Connection[Any]]) -> Iterator[psycopg.Connection[Any]]:
    """Give the application's connection, logged in as the writer role, with three draft reports.

    The writer has what `make up` gives it, and makes the table by the page's own lines.
    """
    with as_role("postgres") as admin:
        admin.execute(AWAY)
        admin.execute(GRANTS)
        with as_role("writer") as connection:
            connection.execute(recipe("table").encode())
            yield connection
        admin.execute(AWAY)
        admin.execute("REVOKE CREATE ON SCHEMA public FROM notifyops_test_writer")


@pytest.fixture
def app_env(process_env: Callable[[str], dict[str, str]], database_url: Callable[[str], str]) -> dict[str, str]:
    """Give the environment of the application's processes."""
    return {**process_env("web"), "DATABASE_URL": database_url("writer")}
