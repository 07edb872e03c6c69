"""The story names the account that is not called, and what a cancelled or closed notification may have left behind."""

from django.db import migrations

from notifications.sqlfile import renewed


class Migration(migrations.Migration):
    dependencies = [("notifications", "0030_plain_words")]
    operations = [renewed("contract", "notifyops.explain")]
