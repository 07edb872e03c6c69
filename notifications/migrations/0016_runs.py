"""Long work in steps: where each run stands, and what failed in it."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0015_recovery"),
    ]

    operations = [
        migrations.CreateModel(
            name="Run",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=32, verbose_name="kind")),
                ("key", models.CharField(max_length=200, verbose_name="key")),
                ("title", models.CharField(max_length=200, verbose_name="title")),
                ("started_by", models.CharField(max_length=200, verbose_name="started by")),
                (
                    "state",
                    models.CharField(db_default="running", default="running", max_length=12, verbose_name="state"),
                ),
                ("code", models.CharField(blank=True, db_default="", default="", max_length=60, verbose_name="code")),
                ("epoch", models.IntegerField(db_default=1, default=1)),
                ("step_count", models.IntegerField(db_default=0, default=0)),
                ("total_count", models.BigIntegerField(null=True)),
                ("done_count", models.BigIntegerField(db_default=0, default=0)),
                ("failed_count", models.BigIntegerField(db_default=0, default=0)),
                ("tally", models.JSONField(default=dict)),
                ("checkpoint", models.JSONField(default=dict)),
                ("wish", models.CharField(blank=True, db_default="", default="", max_length=8)),
                ("wished_by", models.CharField(blank=True, db_default="", default="", max_length=200)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name="created"),
                ),
                (
                    "beat_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), verbose_name="last step"
                    ),
                ),
                ("ended_at", models.DateTimeField(null=True, verbose_name="ended")),
            ],
            options={
                "verbose_name": "run",
                "verbose_name_plural": "runs",
                "permissions": [("steer_run", "Can pause and cancel runs")],
                "default_permissions": ("view",),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ("running", "paused", "interrupted", "failed"))),
                        fields=("kind", "key"),
                        name="run_unfinished_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ("running", "paused", "interrupted", "failed", "cancelled", "done"))
                        ),
                        name="run_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("wish__in", ("", "pause", "cancel"))), name="run_wish_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at", None), ("state", "running")),
                            models.Q(models.Q(("state", "running"), _negated=True), ("ended_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="run_ended_iff_not_running",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RunItem",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("place", models.BigIntegerField()),
                ("code", models.CharField(max_length=60)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="notifications.run",
                    ),
                ),
            ],
            options={
                "verbose_name": "failed item",
                "default_permissions": ("view",),
                "constraints": [models.UniqueConstraint(fields=("run", "place"), name="runitem_once")],
            },
        ),
    ]
