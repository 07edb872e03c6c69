"""A person lifts the block of an address that a provider's word had blocked."""

from django.db import migrations

from notifications.sqlfile import run_sql


class Migration(migrations.Migration):
    dependencies = [("notifications", "0036_failover")]
    operations = [run_sql("unblock_v1")]
