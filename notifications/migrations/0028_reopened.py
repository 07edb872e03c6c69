"""What came back while its case was closed is, reopened, a case of what came back."""

from django.db import migrations

from notifications.sqlfile import renewed


class Migration(migrations.Migration):
    dependencies = [("notifications", "0027_many_at_once")]
    operations = [renewed("append_v1", "notifyops_private.append_v1")]
