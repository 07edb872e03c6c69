"""The test database as every other test finds it."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.db import connection, connections


@pytest.mark.django_db(databases=["default", "owner"])
def test_tables_live_in_the_private_schema_and_not_in_public() -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT DISTINCT schemaname FROM pg_tables WHERE tablename LIKE 'django%'")
        assert cursor.fetchall() == [("notifyops_private",)]


@pytest.mark.django_db
def test_the_default_connection_is_the_web_role() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, current_database() LIKE 'test\\_%%'")
        assert cursor.fetchone() == ("notifyops_test_web", True)


@pytest.mark.django_db
@pytest.mark.role("worker")
def test_a_marked_test_gets_the_worker_role() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone() == ("notifyops_test_worker",)
