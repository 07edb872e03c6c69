"""Plans and runs in bulk: the frozen lists, and what a worker may do on their strength."""

from pathlib import Path

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

_FOLDER = Path(__file__).parents[1] / "sql"
_OUTCOMES = ("left", "excluded", "skipped", "released", "accepted", "failed", "closed", "moved")


def _key() -> models.Field:  # type: ignore[type-arg]
    return models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0022_ordered"),
        ("reviews", "0004_ways_out"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.CreateModel(
            name="BulkRun",
            fields=[
                ("id", _key()),
                ("verb", models.CharField(max_length=12, verbose_name="action")),
                ("actor", models.CharField(max_length=200, verbose_name="by")),
                ("planned_at", models.DateTimeField(verbose_name="planned")),
                ("query", models.CharField(blank=True, db_default="", default="", max_length=2000)),
                ("by_hand", models.BooleanField(db_default=False, default=False)),
                ("matched_count", models.IntegerField()),
                ("was_cut", models.BooleanField(db_default=False, default=False)),
                ("total_count", models.IntegerField()),
                ("eligible_count", models.IntegerField()),
                ("plan_token", models.UUIDField()),
                ("start_token", models.UUIDField()),
                (
                    "reason_code",
                    models.CharField(blank=True, db_default="", default="", max_length=40, verbose_name="reason code"),
                ),
                (
                    "reason",
                    models.CharField(blank=True, db_default="", default="", max_length=500, verbose_name="reason"),
                ),
                ("rate", models.IntegerField(db_default=5, default=5, verbose_name="per second")),
                ("canary", models.IntegerField(db_default=5, default=5, verbose_name="canary")),
                ("max_bad", models.IntegerField(db_default=20, default=20, verbose_name="stop above, in percent")),
                ("since", models.DateTimeField(blank=True, null=True)),
                (
                    "run",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="bulk",
                        to="notifications.run",
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
                "verbose_name": "bulk run",
                "verbose_name_plural": "bulk runs",
                "permissions": [
                    ("bulk_cases", "Can decide up to 200 cases together"),
                    ("bulk_many", "Can decide up to 10,000 cases together"),
                ],
                "default_permissions": ("view",),
                "constraints": [
                    models.UniqueConstraint(fields=("plan_token",), name="bulkrun_planned_once"),
                    models.CheckConstraint(
                        condition=models.Q(("verb__in", ("retry", "close"))), name="bulkrun_verb_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("rate__gte", 1), ("rate__lte", 1000)), name="bulkrun_rate"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("run__isnull", True),
                            models.Q(models.Q(("reason_code", ""), _negated=True), ("since__isnull", False)),
                            _connector="OR",
                        ),
                        name="bulkrun_ordered_with_reason",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="BulkItem",
            fields=[
                ("id", _key()),
                ("place", models.IntegerField()),
                ("seq", models.IntegerField()),
                ("risk", models.CharField(blank=True, db_default="", default="", max_length=8)),
                ("outcome", models.CharField(db_default="left", default="left", max_length=8)),
                ("code", models.CharField(blank=True, db_default="", default="", max_length=100)),
                ("seq_after", models.IntegerField(null=True)),
                ("released_at", models.DateTimeField(null=True)),
                ("settled_at", models.DateTimeField(null=True)),
                (
                    "intent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="notifications.intent",
                    ),
                ),
                (
                    "bulk",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="reviews.bulkrun",
                    ),
                ),
            ],
            options={
                "verbose_name": "case of a bulk run",
                "default_permissions": ("view",),
                "indexes": [models.Index(fields=["bulk", "outcome", "place"], name="bulkitem_by_outcome")],
                "constraints": [
                    models.UniqueConstraint(fields=("bulk", "place"), name="bulkitem_place_once"),
                    models.UniqueConstraint(fields=("bulk", "intent"), name="bulkitem_case_once"),
                    models.CheckConstraint(
                        condition=models.Q(("outcome__in", _OUTCOMES)), name="bulkitem_outcome_known"
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="review",
            name="bulk",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="reviews.bulkrun",
            ),
        ),
        migrations.RunSQL(
            (_FOLDER / "ordered_v1.sql").read_text("utf-8"), (_FOLDER / "ordered_v1.reverse.sql").read_text("utf-8")
        ),
    ]
