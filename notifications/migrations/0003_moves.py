"""Copy MOVES into the table that the door checks every entry against."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from notifications.states import MOVES


def fill(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("TRUNCATE notifyops_private.move")
        cursor.executemany(
            "INSERT INTO notifyops_private.move (kind, from_state, to_state, who) VALUES (%s, %s, %s, %s)",
            [(move.kind.value, move.from_state.value, move.to_state.value, move.who.value) for move in MOVES],
        )


class Migration(migrations.Migration):
    dependencies = [("notifications", "0002_log")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
