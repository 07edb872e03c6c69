"""The invariants, as functions that return their violations."""

from django.db import migrations

from notifications.sqlfile import run_sql


class Migration(migrations.Migration):
    dependencies = [("notifications", "0009_receipts")]
    operations = [run_sql("doctor")]
