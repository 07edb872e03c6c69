"""The log of the server that we start holds neither what a caller sent nor the rows that it failed on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from psycopg.types.json import Jsonb

pytestmark = pytest.mark.django_db(transaction=True)
CANARY = "canary-of-the-log"
LITERAL = f"SELECT notifyops.enqueue('no_such_type', 'r-1', '{CANARY}@example.com', '{{\"title\": \"{CANARY}\"}}')"
BY_PARAMETER = "SELECT notifyops.enqueue('report_ready', 'r-1', %s, %s)"
FAILING_ROW = f"INSERT INTO notifyops_test.held VALUES ('{CANARY}@example.com', NULL)"


def log_of(superuser: psycopg.Connection) -> Path:
    """Give the file that the server writes to: its standard error."""
    row = superuser.execute("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)").fetchone()
    assert row is not None
    return Path(f"/proc/{row[0]}/fd/2").resolve()


def test_what_is_refused_leaves_neither_address_nor_content_in_it(database_url: Callable[[str], str]) -> None:
    with psycopg.connect(database_url("web"), autocommit=True) as web:
        for statement, values in ((LITERAL, None), (BY_PARAMETER, (f"{CANARY} nobody", Jsonb({"title": CANARY})))):
            with pytest.raises(psycopg.Error):
                web.execute(statement, values)
    with psycopg.connect(database_url("postgres"), autocommit=True) as superuser:
        superuser.execute("CREATE TABLE notifyops_test.held (address text, name text NOT NULL)")
        try:
            with pytest.raises(psycopg.errors.NotNullViolation):
                superuser.execute(FAILING_ROW)
        finally:
            superuser.execute("DROP TABLE notifyops_test.held")
        text = log_of(superuser).read_text(encoding="utf-8", errors="replace")
    assert "no_such_type" in text  # the refusal itself is there
    assert "violates not-null constraint" in text
    assert CANARY not in text
