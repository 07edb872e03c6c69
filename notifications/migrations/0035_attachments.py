"""Attachments: references with the content, their bytes by hash, and the fetching of those that lie elsewhere."""

import django.contrib.postgres.functions
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from notifications.sqlfile import remade, renewed, run_sql
from notifications.states import MOVES, EntryKind

_OURS = "notifyops_private."
_KINDS = (EntryKind.FETCHING, EntryKind.FETCHED)


def add_moves(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """A new database has them already: it was filled from the code of today."""
    rows = [(move.kind, move.from_state, move.to_state, move.who) for move in MOVES if move.kind in _KINDS]
    with schema_editor.connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO notifyops_private.move (kind, from_state, to_state, who) VALUES (%s, %s, %s, %s) "
            "ON CONFLICT DO NOTHING",
            [tuple(word.value for word in row) for row in rows],
        )


class Migration(migrations.Migration):
    dependencies = [("notifications", "0033_web_push")]
    operations = [
        migrations.AddField("content", "attachments", models.JSONField(null=True)),
        migrations.AddIndex(
            "content",
            django.contrib.postgres.indexes.GinIndex(
                name="content_attachments",
                fields=["attachments"],
                opclasses=["jsonb_path_ops"],
                condition=models.Q(attachments__isnull=False),
            ),
        ),
        migrations.CreateModel(
            name="Blob",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "workspace", "sha256", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("workspace", models.CharField(max_length=64)),
                ("sha256", models.BinaryField()),
                ("content", models.BinaryField()),
                ("kept_at", models.DateTimeField(db_default=django.contrib.postgres.functions.TransactionNow())),
            ],
            options={"verbose_name": "attachment's bytes"},
        ),
        migrations.CreateModel(
            name="Fetch",
            fields=[
                (
                    "intent",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="fetch",
                        serialize=False,
                        to="notifications.intent",
                    ),
                ),
                ("seq", models.IntegerField()),
                ("failure_count", models.SmallIntegerField(db_default=0)),
                ("manual", models.BooleanField(db_default=False)),
                ("wanted", models.BooleanField(db_default=True)),
            ],
            options={"verbose_name": "fetching of attachments"},
        ),
        migrations.AddIndex(
            "fetch", models.Index(name="fetch_wanted", fields=["intent"], condition=models.Q(wanted=True))
        ),
        run_sql("attachments_v1"),
        migrations.RunPython(add_moves, migrations.RunPython.noop),
        renewed("guards", f"{_OURS}guard_content_v1"),
        renewed("enqueue_v1", f"{_OURS}check_options_v1", f"{_OURS}enqueue_v1"),
        renewed("enqueue_many_v1", f"{_OURS}enqueue_many_v1"),
        renewed("ways_out", f"{_OURS}correct_v1", f"{_OURS}erase_v1"),
        *remade("pick_v1", f"{_OURS}pick_v1"),
        renewed("contract", "notifyops.explain"),
    ]
