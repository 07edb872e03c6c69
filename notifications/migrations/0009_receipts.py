"""What providers say afterwards: events that only grow, the queue of those to be applied, and the secrets' names."""

import django.db.models.deletion
from django.db import migrations, models

from notifications.sqlfile import run_sql


class Migration(migrations.Migration):
    dependencies = [("notifications", "0008_schedules")]
    operations = [
        migrations.AddField(
            model_name="provideraccount",
            name="webhook_secret_refs",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="“env:NAME”, two parted by a comma while a secret is rotated: "
                "where the web processes find them.",
                max_length=500,
                verbose_name="webhook secret references",
            ),
        ),
        migrations.AddConstraint(
            model_name="provideraccount",
            constraint=models.CheckConstraint(
                condition=models.Q(("webhook_secret_refs__regex", "^(env:[A-Z][A-Z0-9_]*(,env:[A-Z][A-Z0-9_]*)*)?$")),
                name="provideraccount_secrets_are_references",
            ),
        ),
        migrations.CreateModel(
            name="ProviderEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "account",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="notifications.provideraccount",
                        verbose_name="account",
                    ),
                ),
                ("event_id", models.CharField(db_collation="C", max_length=128)),
                ("type", models.CharField(max_length=64)),
                ("occurred_at", models.DateTimeField(null=True)),
                ("received_at", models.DateTimeField()),
                ("provider_message_id", models.CharField(db_collation="C", max_length=255, null=True)),
                ("tag_site", models.CharField(max_length=64, null=True)),
                ("tag_intent", models.BigIntegerField(null=True)),
                ("tag_generation", models.SmallIntegerField(null=True)),
                ("bounce_class", models.CharField(max_length=40, null=True)),
                ("code", models.CharField(max_length=100, null=True)),
                ("source", models.CharField(max_length=16)),
                ("raw_sha256", models.BinaryField()),
            ],
            options={
                "verbose_name": "provider event",
                "verbose_name_plural": "provider events",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "event_id"), name="providerevent_once"),
                    models.CheckConstraint(
                        condition=models.Q(("source__in", ("webhook", "catch_up"))), name="providerevent_source"
                    ),
                ],
                "indexes": [
                    models.Index(
                        condition=models.Q(("tag_intent__isnull", False)),
                        fields=["tag_intent", "tag_generation"],
                        name="providerevent_by_tag",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ParkedReceipt",
            fields=[
                (
                    "event",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="parked",
                        serialize=False,
                        to="notifications.providerevent",
                    ),
                ),
                ("due_at", models.DateTimeField()),
            ],
            options={
                "verbose_name": "parked receipt",
                "indexes": [models.Index(fields=["due_at", "event"], name="parkedreceipt_due")],
            },
        ),
        run_sql("receive_v1"),
    ]
