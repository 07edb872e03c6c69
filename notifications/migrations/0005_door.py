"""The door: chained hashes, append, pick, verify."""

from django.db import migrations

from notifications.sqlfile import run_sql


class Migration(migrations.Migration):
    dependencies = [("notifications", "0004_guards")]
    operations = [
        run_sql("chain"),
        run_sql("linked"),
        run_sql("evidence_v1"),
        run_sql("again_v1"),
        run_sql("barred_v1"),
        run_sql("append_v1"),
        run_sql("pick_v1"),
        run_sql("verify"),
    ]
