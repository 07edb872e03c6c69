"""An account may name another one that takes over what is proven not to have left while it is not called."""

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from notifications.sqlfile import renewed, run_sql
from notifications.states import MOVES, EntryKind
from notifications.way_back import kept_by

_OURS = "notifyops_private."
_BARRED = ("reach_v1", "is_forgotten_v1", "forgotten_v1", "unsent_v1", "stays_v1", "barred_v1")


def add_moves(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO notifyops_private.move (kind, from_state, to_state, who) VALUES (%s, %s, %s, %s) "
            "ON CONFLICT DO NOTHING",
            [
                (move.kind.value, move.from_state.value, move.to_state.value, move.who.value)
                for move in MOVES
                if move.kind is EntryKind.FAILED_OVER
            ],
        )


class Migration(migrations.Migration):
    dependencies = [("notifications", "0035_attachments")]
    operations = [
        migrations.AddField("circuit", "opened_at", models.DateTimeField(null=True)),
        migrations.AddField(
            "provideraccount",
            "fallback",
            models.ForeignKey(
                blank=True,
                db_index=False,
                help_text="Takes over what is proven not to have left, while this account is not called. Same channel.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="falls_back",
                to="notifications.provideraccount",
                verbose_name="fallback account",
            ),
        ),
        migrations.AddField(
            "provideraccount",
            "fallback_after_s",
            models.FloatField(
                db_default=300.0,
                default=300.0,
                help_text="So long the account's circuit has been open. 0 to 86,400.",
                validators=[
                    django.core.validators.MinValueValidator(0.0),
                    django.core.validators.MaxValueValidator(86400.0),
                ],
                verbose_name="seconds until the fallback takes over",
            ),
        ),
        migrations.AddConstraint(
            model_name="provideraccount",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("fallback__isnull", True),
                        models.Q(("fallback", models.F("id")), _negated=True),
                        _connector="OR",
                    ),
                    ("fallback_after_s__gte", 0.0),
                    ("fallback_after_s__lte", 86400.0),
                ),
                name="provideraccount_fallback_is_sane",
            ),
        ),
        migrations.RunPython(add_moves, migrations.RunPython.noop),
        renewed("guards", f"{_OURS}guard_intent_v1"),
        renewed("barred_v1", *(f"{_OURS}{name}" for name in _BARRED)),
        renewed("append_v1", f"{_OURS}append_v1"),
        renewed("contract", "notifyops.explain"),
        renewed("doctor", f"{_OURS}doctor_v1"),
        run_sql("fail_over_v1"),
        kept_by(
            "SELECT count(*) FROM notifyops_private.notifications_logentry WHERE kind = 'failed_over'",
            "{count} entries of the log tell of another account that took over, which an older release does not know.",
        ),
    ]
