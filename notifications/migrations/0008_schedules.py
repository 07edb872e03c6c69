"""Only our watchdog may stand in the table of schedules."""

from django.db import migrations

from notifications.sqlfile import run_sql


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0007_contract"),
        ("django_q", "0019_alter_task_options_alter_ormq_key_alter_ormq_lock_and_more"),
    ]
    operations = [run_sql("schedules")]
