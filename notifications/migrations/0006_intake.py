"""Intake: enqueue, enqueue_many, cancel."""

from django.db import migrations

from notifications.sqlfile import run_sql


class Migration(migrations.Migration):
    dependencies = [("notifications", "0005_door")]
    operations = [run_sql("enqueue_v1"), run_sql("enqueue_many_v1")]
