"""State, after every migration, who may do what: sql/grants.sql with this site's role names."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

GRANTS: Final = Path(__file__).parent / "sql" / "grants.sql"
SCHEMAS: Final = ("notifyops_private", "notifyops")


def make_schemas(connection: BaseDatabaseWrapper) -> None:
    """Make our schemas before Django's first table, which would else go to `public`."""
    with connection.cursor() as cursor:
        for name in SCHEMAS:
            cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {connection.ops.quote_name(name)}")


def apply(connection: BaseDatabaseWrapper) -> None:
    """Run the file as the tables' owner, in one transaction. It is idempotent and tolerates missing tables."""
    names = {role: _quoted(name) for role, name in settings.NOTIFYOPS_ROLES.items()}
    text = GRANTS.read_text(encoding="utf-8")
    for role, name in names.items():
        # Not str.format: SQL bodies may hold braces of their own.
        text = text.replace("{" + role + "}", name)
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute(text)


def _quoted(name: str) -> str:
    return sql.Identifier(name).as_string()
