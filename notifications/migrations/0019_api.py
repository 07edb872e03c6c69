"""The HTTP API's tokens, and the outcomes feed."""

import django.contrib.postgres.functions
import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

from notifications.sqlfile import run_sql

_REVOKED = ("revoke_reason", "revoked_at", "revoked_by")


class Migration(migrations.Migration):
    dependencies = [("notifications", "0018_rates_and_pauses")]
    operations = [
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    models.CharField(
                        help_text="Which application has it; no person's name.", max_length=64, verbose_name="client"
                    ),
                ),
                ("prefix", models.CharField(max_length=12, verbose_name="prefix")),
                ("digest", models.BinaryField()),
                ("scopes", models.JSONField(default=list, verbose_name="scopes")),
                (
                    "workspaces",
                    models.JSONField(
                        default=list,
                        help_text="Names; an empty one is the default workspace, “*” means all.",
                        verbose_name="workspaces",
                    ),
                ),
                ("per_minute", models.IntegerField(db_default=6000, default=6000, verbose_name="requests a minute")),
                ("expires_at", models.DateTimeField(blank=True, null=True, verbose_name="expires")),
                (
                    "made_at",
                    models.DateTimeField(
                        db_default=django.contrib.postgres.functions.TransactionNow(), verbose_name="made"
                    ),
                ),
                ("made_by", models.CharField(max_length=200, verbose_name="made by")),
                ("reason", models.CharField(max_length=500, verbose_name="reason")),
                ("revoked_at", models.DateTimeField(blank=True, null=True, verbose_name="revoked")),
                ("revoked_by", models.CharField(blank=True, max_length=200, null=True, verbose_name="revoked by")),
                (
                    "revoke_reason",
                    models.CharField(blank=True, max_length=500, null=True, verbose_name="reason of the revocation"),
                ),
            ],
            options={
                "verbose_name": "API token",
                "verbose_name_plural": "API tokens",
                "constraints": [
                    models.UniqueConstraint(fields=["prefix"], name="apitoken_prefix"),
                    models.CheckConstraint(condition=Q(per_minute__range=(1, 1_000_000)), name="apitoken_limit"),
                    models.CheckConstraint(
                        condition=Q(*((f"{name}__isnull", True) for name in _REVOKED))
                        | Q(*((f"{name}__isnull", False) for name in _REVOKED)),
                        name="apitoken_revoked_whole",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiTokenUse",
            fields=[
                (
                    "token",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="use",
                        serialize=False,
                        to="notifications.apitoken",
                    ),
                ),
                ("minute_at", models.DateTimeField(verbose_name="last used")),
                ("drawn", models.IntegerField()),
            ],
            options={"verbose_name": "use of an API token"},
        ),
        migrations.CreateModel(
            name="FeedEndpoint",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=64, verbose_name="name")),
                ("url", models.CharField(max_length=500, verbose_name="address")),
                ("secret_refs", models.CharField(max_length=500, verbose_name="secret references")),
                ("workspaces", models.JSONField(default=list, verbose_name="workspaces")),
                ("site_mode", models.CharField(max_length=10, verbose_name="site mode")),
                ("enabled", models.BooleanField(db_default=True, default=True, verbose_name="enabled")),
                (
                    "made_at",
                    models.DateTimeField(
                        db_default=django.contrib.postgres.functions.TransactionNow(), verbose_name="made"
                    ),
                ),
                ("made_by", models.CharField(max_length=200, verbose_name="made by")),
                ("reason", models.CharField(max_length=500, verbose_name="reason")),
            ],
            options={
                "verbose_name": "feed endpoint",
                "verbose_name_plural": "feed endpoints",
                "constraints": [
                    models.UniqueConstraint(fields=["name"], name="feedendpoint_name"),
                    models.CheckConstraint(
                        condition=Q(("secret_refs__regex", "^env:[A-Z][A-Z0-9_]*(,env:[A-Z][A-Z0-9_]*)*$")),
                        name="feedendpoint_secrets_are_references",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="FeedCursor",
            fields=[
                (
                    "endpoint",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="cursor",
                        serialize=False,
                        to="notifications.feedendpoint",
                    ),
                ),
                ("position", models.BigIntegerField(verbose_name="position")),
                ("failure_count", models.IntegerField(db_default=0, default=0, verbose_name="failures")),
                (
                    "due_at",
                    models.DateTimeField(
                        db_default=django.contrib.postgres.functions.TransactionNow(), verbose_name="next attempt"
                    ),
                ),
                (
                    "last_answer",
                    models.CharField(db_default="", default="", max_length=40, verbose_name="newest answer"),
                ),
                ("gone_at", models.DateTimeField(blank=True, null=True, verbose_name="gone")),
            ],
            options={"verbose_name": "feed cursor"},
        ),
        run_sql("api"),
        run_sql("outcomes"),
    ]
