"""The public contract: functions and views of schema notifyops."""

from django.db import migrations

from notifications.sqlfile import run_sql


class Migration(migrations.Migration):
    dependencies = [("notifications", "0006_intake")]
    operations = [run_sql("contract")]
