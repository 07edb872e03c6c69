"""`flush`: refused by the guards of a real database, possible in a test database that has its test doors."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.core.management.commands import flush
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

# Filled from the code by migrations and post_migrate, the same after every test.
KEPT = frozenset({"django_migrations", "django_content_type", "auth_permission"})


class Command(flush.Command):
    """Empty a test database through `notifyops_test.truncate_all`; leave every other one to Django and the guards.

    Django's own flush knows only managed models, and the append-only tables refuse TRUNCATE, as they should.
    """

    def handle(self, **options: Any) -> None:
        """Empty what holds rows; the function itself puts the reference rows back."""
        connection = connections[options["database"]]
        if not _has_test_doors(connection):
            super().handle(**options)
            return
        tables = {model._meta.db_table for model in apps.get_models(include_auto_created=True)} - KEPT
        with connection.cursor() as cursor:
            cursor.execute("SELECT notifyops_test.truncate_all(%s::text[])", [sorted(tables)])


def _has_test_doors(connection: BaseDatabaseWrapper) -> bool:
    if not connection.settings_dict["NAME"].startswith("test_"):
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regprocedure('notifyops_test.truncate_all(text[])') IS NOT NULL")
        row = cursor.fetchone()
    return bool(row and row[0])
