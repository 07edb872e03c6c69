"""What persons override of a type, with a reason and a revision, over what the code declares."""

import django.contrib.postgres.functions
import django.db.models.deletion
from django.db import migrations, models

from notifications.sqlfile import run_sql


class Migration(migrations.Migration):
    dependencies = [("notifications", "0024_heard_of")]
    operations = [
        migrations.AddField(
            model_name="notificationtyperow",
            name="declared",
            field=models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        migrations.CreateModel(
            name="TypeRevision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("revision", models.IntegerField(verbose_name="revision")),
                (
                    "at",
                    models.DateTimeField(
                        db_default=django.contrib.postgres.functions.TransactionNow(), verbose_name="at"
                    ),
                ),
                ("actor", models.CharField(max_length=200, verbose_name="by")),
                ("reason", models.CharField(max_length=500, verbose_name="reason")),
                ("before", models.JSONField(null=True)),
                ("after", models.JSONField()),
                (
                    "type",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="revisions",
                        to="notifications.notificationtyperow",
                    ),
                ),
            ],
            options={
                "verbose_name": "override of a type",
                "verbose_name_plural": "overrides of types",
                "default_permissions": ("view",),
                "constraints": [models.UniqueConstraint(fields=("type", "revision"), name="typerevision_once")],
            },
        ),
        migrations.AlterModelOptions(
            name="notificationtyperow",
            options={"verbose_name": "notification type", "verbose_name_plural": "notification types"},
        ),
        migrations.AlterModelOptions(
            name="configrevision",
            options={
                "verbose_name": "configuration revision",
                "verbose_name_plural": "configuration revisions",
            },
        ),
        *(
            migrations.AlterField(model_name="notificationtyperow", name=name, field=field)
            for name, field in (
                ("approval", models.CharField(db_default="none", max_length=16, verbose_name="approval")),
                ("channel", models.CharField(max_length=32, verbose_name="channel")),
                ("enabled", models.BooleanField(db_default=True, verbose_name="enabled")),
                ("expires_after", models.DurationField(null=True, verbose_name="expires after")),
                ("loss_model", models.CharField(db_default="at_least_once", max_length=16, verbose_name="loss model")),
                ("name", models.CharField(max_length=64, primary_key=True, serialize=False, verbose_name="name")),
            )
        ),
        run_sql("override_v1"),
    ]
