"""Which site this database belongs to."""

import django.contrib.postgres.functions
from django.db import migrations, models

from notifications.sqlfile import run_sql


class Migration(migrations.Migration):
    dependencies = [("notifications", "0011_review_queue_indexes")]
    operations = [
        migrations.CreateModel(
            name="SiteAdoption",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("site", models.CharField(max_length=64)),
                ("system_identifier", models.BigIntegerField()),
                ("timeline", models.BigIntegerField()),
                ("database", models.BigIntegerField()),
                ("at", models.DateTimeField(db_default=django.contrib.postgres.functions.TransactionNow())),
                ("actor", models.CharField(max_length=200)),
                ("reason", models.CharField(max_length=500)),
            ],
            options={"verbose_name": "site adoption"},
        ),
        run_sql("site"),
    ]
