"""A key that is used says how to go on: each way by itself, and all that it takes."""

from django.db import migrations

from notifications.sqlfile import renewed


class Migration(migrations.Migration):
    dependencies = [("notifications", "0038_replaced")]
    operations = [renewed("enqueue_v1", "notifyops_private.refuse_reused_v1")]
