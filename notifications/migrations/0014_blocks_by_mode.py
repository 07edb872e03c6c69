"""Blocks of addresses know the site mode in which they were learned."""

from django.db import migrations, models

from notifications.sqlfile import run_sql

_ONE_MODE = """
DELETE FROM notifyops_private.notifications_deliveryblock b
WHERE b.site_mode NOT IN ('', 'live') OR (b.site_mode = 'live' AND EXISTS (
    SELECT FROM notifyops_private.notifications_deliveryblock o
    WHERE (o.commitment, o.channel, o.scope, o.site_mode) = (b.commitment, b.channel, b.scope, '')))
"""


class Migration(migrations.Migration):
    dependencies = [("notifications", "0013_evidence")]
    operations = [
        migrations.AddField(
            model_name="deliveryblock",
            name="site_mode",
            field=models.CharField(blank=True, db_default="", max_length=8),
        ),
        migrations.RemoveConstraint(model_name="deliveryblock", name="deliveryblock_once"),
        migrations.AddConstraint(
            model_name="deliveryblock",
            constraint=models.UniqueConstraint(
                fields=("commitment", "channel", "scope", "site_mode"), name="deliveryblock_once"
            ),
        ),
        run_sql("block_v1"),
        # Backwards the mode is lost: what a sandbox said must not become true of real people, and what is said twice is
        # kept once.
        migrations.RunSQL(migrations.RunSQL.noop, _ONE_MODE),
    ]
