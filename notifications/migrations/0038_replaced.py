"""What replaces a notification finds it where it is: corrected in this moment, or waiting for a person."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from notifications.sqlfile import renewed
from notifications.states import MOVES, EntryKind

_OURS = "notifyops_private."


def allow(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Add the moves of this kind that an older installation's table lacks."""
    with schema_editor.connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO notifyops_private.move (kind, from_state, to_state, who) VALUES (%s, %s, %s, %s) "
            "ON CONFLICT DO NOTHING",
            [
                (move.kind.value, move.from_state.value, move.to_state.value, move.who.value)
                for move in MOVES
                if move.kind is EntryKind.SUPERSEDED
            ],
        )


class Migration(migrations.Migration):
    dependencies = [("notifications", "0037_unblock")]
    operations = [
        migrations.RunPython(allow, migrations.RunPython.noop),
        renewed("barred_v1", f"{_OURS}barred_v1"),
        renewed("enqueue_v1", f"{_OURS}enqueue_v1", f"{_OURS}cancel_v1"),
    ]
