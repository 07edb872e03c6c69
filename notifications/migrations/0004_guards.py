"""Triggers that refuse every change but by the door."""

from django.db import migrations

from notifications.sqlfile import run_sql


class Migration(migrations.Migration):
    dependencies = [("notifications", "0003_moves")]
    operations = [run_sql("guards"), run_sql("partitions")]
