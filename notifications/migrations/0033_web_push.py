"""Web push as a channel: browsers' subscriptions are checked at intake, and pages are given an account's public key."""

from django.db import migrations, models
from django.db.models import Q

from notifications.sqlfile import renewed, run_sql

_OURS = "notifyops_private."


class Migration(migrations.Migration):
    dependencies = [("notifications", "0032_phones_and_chats")]
    operations = [
        migrations.AddField(
            model_name="provideraccount",
            name="vapid_public_key",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                max_length=87,
                verbose_name="public key for pages",
            ),
        ),
        migrations.AddConstraint(
            model_name="provideraccount",
            constraint=models.CheckConstraint(
                name="provideraccount_vapid_key_is_public",
                condition=Q(vapid_public_key__regex=r"^(B[A-Za-z0-9_-]{86})?$"),
            ),
        ),
        run_sql("push_v1"),
        renewed("enqueue_v1", f"{_OURS}enqueue_v1"),
        renewed("enqueue_many_v1", f"{_OURS}wishes_v1"),
        renewed("ways_out", f"{_OURS}correct_v1"),
    ]
