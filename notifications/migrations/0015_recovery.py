"""After a restore: recoveries, how far the providers' lists were read for them, and what is unknown here."""

from django.db import migrations, models

from notifications.sqlfile import run_sql
from notifications.way_back import kept_by

_ASKED_OTHERWISE = "UPDATE notifyops_private.notifications_question SET about = 'person' WHERE about = 'restore'"


class Migration(migrations.Migration):
    dependencies = [("notifications", "0014_blocks_by_mode")]
    operations = [
        migrations.CreateModel(
            name="Recovery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("since", models.DateTimeField()),
                ("started_at", models.DateTimeField()),
                ("actor", models.CharField(max_length=200)),
                ("reason", models.CharField(max_length=500)),
                ("marked_at", models.DateTimeField(null=True)),
                ("marked_count", models.IntegerField(db_default=0)),
                ("finished_at", models.DateTimeField(null=True)),
                ("waived_by", models.CharField(max_length=200, null=True)),
                ("waive_reason", models.CharField(max_length=500, null=True)),
            ],
            options={"verbose_name": "recovery"},
        ),
        migrations.CreateModel(
            name="RecoveryList",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "recovery_id",
                        "account_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("recovery_id", models.BigIntegerField()),
                ("account_id", models.BigIntegerField()),
                ("cursor", models.CharField(db_default="", max_length=255)),
                ("code", models.CharField(max_length=100, null=True)),
                ("done_at", models.DateTimeField(null=True)),
            ],
            options={"verbose_name": "list read after a restore"},
        ),
        migrations.CreateModel(
            name="UnknownMail",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("recovery_id", models.BigIntegerField()),
                ("account_id", models.BigIntegerField()),
                ("provider_message_id", models.CharField(db_collation="C", max_length=255)),
                ("tag_intent", models.CharField(max_length=20)),
                ("tag_generation", models.CharField(max_length=10)),
                ("taken_at", models.DateTimeField()),
            ],
            options={
                "verbose_name": "message unknown here",
                "indexes": [models.Index(fields=["tag_intent"], name="unknownmail_intent")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("recovery_id", "account_id", "provider_message_id"), name="unknownmail_once"
                    )
                ],
            },
        ),
        migrations.RemoveConstraint(model_name="question", name="question_about"),
        migrations.AddConstraint(
            model_name="question",
            constraint=models.CheckConstraint(
                condition=models.Q(("about__in", ["review", "confirm", "person", "restore"])), name="question_about"
            ),
        ),
        run_sql("recover_v1"),
        # Backwards: a question is one all the same.
        migrations.RunSQL(migrations.RunSQL.noop, _ASKED_OTHERWISE),
        kept_by(
            "SELECT count(*) FROM notifyops_private.notifications_intent WHERE error_code = 'restored'",
            "{count} notifications are held for a recovery, which an older release cannot finish: let `notify recover` "
            "end, and decide the cases with the code `restored`, before you go back.",
        ),
        kept_by(
            "SELECT count(*) FROM notifyops_private.notifications_recovery",
            "{count} recoveries are on record, with who ordered them and why; an older release cannot keep them. Copy "
            "the table notifyops_private.notifications_recovery, empty it as the owner, and go back then.",
        ),
    ]
