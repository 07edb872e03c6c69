"""A corrected address, erasing what was withdrawn, and the index of what was set aside."""

from django.db import migrations, models

from notifications.sqlfile import run_sql


class Migration(migrations.Migration):
    dependencies = [("notifications", "0016_runs")]
    operations = [
        migrations.AddIndex(
            model_name="intent",
            index=models.Index(
                condition=models.Q(("snoozed_until__isnull", False)), fields=["snoozed_until"], name="intent_snoozed"
            ),
        ),
        run_sql("ways_out"),
    ]
