"""An application of someone else's in the same database: the schema `shop` with its reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

DOC = Path(__file__).parents[2] / "docs" / "enqueue.md"
SHOP = """
DROP SCHEMA IF EXISTS shop CASCADE;
CREATE SCHEMA shop AUTHORIZATION notifyops_test_writer;
SET ROLE notifyops_test_writer;
CREATE TABLE shop.report (
    id text PRIMARY KEY, status text NOT NULL, title text NOT NULL, owner_address text NOT NULL, remark text
);
INSERT INTO shop.report VALUES
    ('demo-report-001', 'draft', 'Q3', 'ana@example.com'), ('demo-report-002', 'draft', 'Q4', 'bea@example.com');
RESET ROLE;
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
    """Give the application's connection, logged in as the writer role, with two draft reports."""
    with as_role("postgres") as admin:
        admin.execute(SHOP)
        with as_role("writer") as connection:
            yield connection
        admin.execute("DROP SCHEMA shop CASCADE")


@pytest.fixture
def app_env(process_env: Callable[[str], dict[str, str]], database_url: Callable[[str], str]) -> dict[str, str]:
    """Give the environment of the application's processes."""
    return {**process_env("web"), "DATABASE_URL": database_url("writer")}
