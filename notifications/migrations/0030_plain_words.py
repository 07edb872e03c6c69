"""The story of a notification says every entry and suggestion in words, and names a new key; a hint is mended."""

from django.db import migrations

from notifications.sqlfile import renewed


class Migration(migrations.Migration):
    dependencies = [("notifications", "0029_webhook_channel")]
    operations = [
        renewed("contract", "notifyops.explain"),
        renewed("enqueue_v1", "notifyops_private.check_options_v1"),
    ]
