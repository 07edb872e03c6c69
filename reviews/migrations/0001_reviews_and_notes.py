"""Reviews and notes."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("notifications", "0008_schedules"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Note",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("actor", models.CharField(max_length=200, verbose_name="by")),
                (
                    "at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name="at"),
                ),
                ("text", models.CharField(max_length=500, verbose_name="text")),
                ("action_token", models.UUIDField()),
                (
                    "intent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="notes",
                        to="notifications.intent",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "note",
                "verbose_name_plural": "notes",
                "default_permissions": ("view",),
                "indexes": [models.Index(fields=["intent", "id"], name="note_of_intent")],
                "constraints": [models.UniqueConstraint(fields=("action_token",), name="note_token_once")],
            },
        ),
        migrations.CreateModel(
            name="Review",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("action", models.CharField(max_length=12, verbose_name="action")),
                ("actor", models.CharField(max_length=200, verbose_name="by")),
                (
                    "at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name="at"),
                ),
                ("outcome", models.CharField(max_length=8, verbose_name="outcome")),
                (
                    "refusal",
                    models.CharField(blank=True, db_default="", default="", max_length=40, verbose_name="refusal"),
                ),
                ("action_token", models.UUIDField(blank=True, null=True)),
                ("seq_seen", models.IntegerField(null=True)),
                ("seq_after", models.IntegerField(null=True)),
                (
                    "reason_code",
                    models.CharField(blank=True, db_default="", default="", max_length=40, verbose_name="reason code"),
                ),
                (
                    "reason",
                    models.CharField(blank=True, db_default="", default="", max_length=500, verbose_name="reason"),
                ),
                ("before", models.JSONField(null=True)),
                ("after", models.JSONField(null=True)),
                (
                    "intent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="reviews",
                        to="notifications.intent",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "review",
                "verbose_name_plural": "reviews",
                "permissions": [
                    ("view_case", "Can see the queue and its cases"),
                    ("retry_intent", "Can retry a case"),
                    ("undo_intent", "Can take back an own retry"),
                    ("close_intent", "Can close a case"),
                    ("note_intent", "Can write a note"),
                    ("reopen_intent", "Can reopen a closed case"),
                    ("approve_intent", "Can approve what waits for approval"),
                ],
                "default_permissions": ("view",),
                "indexes": [
                    models.Index(fields=["intent", "id"], name="review_of_intent"),
                    models.Index(condition=models.Q(("outcome", "done")), fields=["-at"], name="review_latest"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("action_token",), name="review_token_once"),
                    models.CheckConstraint(
                        condition=models.Q(("action__in", ("retry", "undo", "approve", "close", "reopen", "note"))),
                        name="review_action_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("action_token__isnull", False), ("outcome", "done"), ("refusal", "")),
                            models.Q(
                                ("action_token__isnull", True),
                                ("outcome", "refused"),
                                models.Q(("refusal", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="review_token_iff_done",
                    ),
                ],
            },
        ),
    ]
