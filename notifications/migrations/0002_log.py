"""The append-only log, its partitions' default, and the table of legal moves."""

from django.db import migrations

from notifications.sqlfile import run_sql


class Migration(migrations.Migration):
    dependencies = [("notifications", "0001_tables")]
    operations = [run_sql("clock"), run_sql("log")]
