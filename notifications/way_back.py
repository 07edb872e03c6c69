"""A migration's way back: what would be lost by it is said, and keeps it from being gone."""

from __future__ import annotations

from django.core.management.base import CommandError
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def kept_by(counting: str, sentence: str) -> migrations.RunPython:
    """Refuse the way back while `counting` gives a number above 0, which `sentence` names as {count}.

    The last operation of a migration, so that it is asked first on the way back. Raises CommandError; nothing is
    changed then, as each migration is one transaction.
    """

    def ask(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(counting)
            row = cursor.fetchone()
        if row is not None and row[0]:
            raise CommandError(sentence.format(count=row[0]))

    return migrations.RunPython(migrations.RunPython.noop, ask)
