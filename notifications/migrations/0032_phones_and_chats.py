"""Phone numbers and chats of Telegram as recipients: checked at intake, and where an address is corrected."""

from django.db import migrations

from notifications.sqlfile import renewed, run_sql

_OURS = "notifyops_private."


class Migration(migrations.Migration):
    dependencies = [("notifications", "0031_what_it_waits_for")]
    operations = [
        run_sql("phone_v1"),
        renewed("enqueue_v1", f"{_OURS}enqueue_v1"),
        renewed("enqueue_many_v1", f"{_OURS}wishes_v1"),
        renewed("ways_out", f"{_OURS}correct_v1"),
    ]
