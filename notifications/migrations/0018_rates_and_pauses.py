"""Rates of accounts, circuits that open for an outage, and pauses that a person makes."""

import datetime

import django.core.validators
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
from django.db import migrations, models

from notifications.sqlfile import run_sql


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0017_ways_out"),
    ]

    operations = [
        migrations.CreateModel(
            name="Pause",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("scope", models.CharField(max_length=9, verbose_name="what")),
                ("name", models.CharField(blank=True, max_length=64, verbose_name="name")),
                ("reason_code", models.CharField(max_length=40, verbose_name="reason code")),
                (
                    "reason",
                    models.CharField(blank=True, db_default="", default="", max_length=500, verbose_name="reason"),
                ),
                ("actor", models.CharField(max_length=200, verbose_name="by")),
                (
                    "began_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name="since"),
                ),
                ("ends_at", models.DateTimeField(verbose_name="until")),
                ("resumed_at", models.DateTimeField(null=True, verbose_name="resumed")),
                ("resumed_by", models.CharField(max_length=200, null=True, verbose_name="resumed by")),
                ("resume_reason", models.CharField(max_length=500, null=True, verbose_name="why resumed")),
            ],
            options={
                "verbose_name": "pause",
                "verbose_name_plural": "pauses",
                "permissions": [("pause_sending", "Can pause and resume sending")],
                "default_permissions": ("view",),
            },
        ),
        migrations.CreateModel(
            name="RateBucket",
            fields=[
                (
                    "account",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="bucket",
                        serialize=False,
                        to="notifications.provideraccount",
                    ),
                ),
                ("tokens", models.FloatField()),
                ("filled_at", models.DateTimeField()),
                ("learned_per_s", models.FloatField(null=True)),
                ("learned_at", models.DateTimeField(null=True)),
                ("ramp_since", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name": "rate bucket",
            },
        ),
        migrations.AddField(
            model_name="circuit",
            name="openings",
            field=models.SmallIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="circuit",
            name="recovered_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="provideraccount",
            name="rate_per_s",
            field=models.FloatField(
                blank=True,
                help_text="Empty: as fast as the provider's headers allow. 0.1 to 10,000; never more than they allow.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(0.1),
                    django.core.validators.MaxValueValidator(10000.0),
                ],
                verbose_name="calls per second",
            ),
        ),
        migrations.AddConstraint(
            model_name="provideraccount",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("rate_per_s__isnull", True),
                    models.Q(("rate_per_s__gte", 0.1), ("rate_per_s__lte", 10000.0)),
                    _connector="OR",
                ),
                name="provideraccount_rate_is_sane",
            ),
        ),
        migrations.AddField(
            model_name="pause",
            name="account",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="pauses",
                to="notifications.provideraccount",
            ),
        ),
        migrations.AddConstraint(
            model_name="ratebucket",
            constraint=models.CheckConstraint(
                condition=models.Q(("learned_per_s__isnull", True), ("learned_per_s__gt", 0), _connector="OR"),
                name="ratebucket_learned_rate",
            ),
        ),
        migrations.AddIndex(
            model_name="pause",
            index=models.Index(
                condition=models.Q(("resumed_at__isnull", True)), fields=["ends_at"], name="pause_standing"
            ),
        ),
        migrations.AddConstraint(
            model_name="pause",
            constraint=models.CheckConstraint(
                condition=models.Q(("scope__in", ("account", "type", "workspace"))), name="pause_scope_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="pause",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "reason_code__in",
                        ("wrong_content", "too_many", "provider_trouble", "maintenance", "owner_asked", "other"),
                    )
                ),
                name="pause_reason_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="pause",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("account__isnull", False), ("scope", "account")),
                    models.Q(models.Q(("scope", "account"), _negated=True), ("account__isnull", True)),
                    _connector="OR",
                ),
                name="pause_names_its_account",
            ),
        ),
        migrations.AddConstraint(
            model_name="pause",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("ends_at__gt", models.F("began_at")),
                    (
                        "ends_at__lte",
                        django.db.models.expressions.CombinedExpression(
                            models.F("began_at"), "+", models.Value(datetime.timedelta(days=1))
                        ),
                    ),
                ),
                name="pause_is_short",
            ),
        ),
        migrations.AddConstraint(
            model_name="pause",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("resume_reason__isnull", True), ("resumed_at__isnull", True), ("resumed_by__isnull", True)
                    ),
                    models.Q(
                        ("resume_reason__isnull", False), ("resumed_at__isnull", False), ("resumed_by__isnull", False)
                    ),
                    _connector="OR",
                ),
                name="pause_resumed_by_somebody",
            ),
        ),
        run_sql("rates_v1"),
    ]
