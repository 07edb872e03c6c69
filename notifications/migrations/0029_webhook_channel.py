"""Webhooks as a channel: their addresses are checked at intake, and one that is gone is blocked."""

from django.db import migrations, models
from django.db.models import Q

from notifications.sqlfile import renewed, run_sql

_OURS = "notifyops_private."
_REASONS = ("bounced", "complained", "unsubscribed", "opted_out", "gone")


class Migration(migrations.Migration):
    dependencies = [("notifications", "0028_reopened")]
    operations = [
        migrations.RemoveConstraint(model_name="deliveryblock", name="deliveryblock_reason"),
        migrations.AddConstraint(
            model_name="deliveryblock",
            constraint=models.CheckConstraint(name="deliveryblock_reason", condition=Q(reason__in=_REASONS)),
        ),
        run_sql("webhook_v1"),
        renewed("enqueue_v1", f"{_OURS}enqueue_v1"),
        renewed("enqueue_many_v1", f"{_OURS}wishes_v1"),
        renewed("ways_out", f"{_OURS}correct_v1"),
    ]
