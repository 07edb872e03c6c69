"""What a worker may write in a person's name, and the index of the groups of cases."""

from django.db import migrations

from notifications.sqlfile import run_sql

# /reviews/groups/ : each error code of each account by hopping, its count and its oldest case by the index alone.
_GROUPS = (
    "CREATE INDEX intent_review_group ON notifyops_private.notifications_intent "
    "(error_code, account_id, review_since) INCLUDE (snoozed_until) WHERE state = 'needs_review';"
)


class Migration(migrations.Migration):
    dependencies = [("notifications", "0021_list_indexes")]
    operations = [
        run_sql("ordered_v1"),
        migrations.RunSQL(_GROUPS, "DROP INDEX IF EXISTS notifyops_private.intent_review_group;"),
    ]
