"""The index by which live pages hear what came into review, left it or changed there.

Delivery writes none of it: only the few entries that begin or end in review come into the index.
"""

from django.db import migrations

# The hub's one look a second (reviews/live_sources.py): entries behind the last one seen, of cases alone.
_INDEX = (
    "CREATE INDEX logentry_of_cases ON notifyops_private.notifications_logentry (id) "
    "WHERE from_state = 'needs_review' OR to_state = 'needs_review';"
)


class Migration(migrations.Migration):
    dependencies = [("notifications", "0022_ordered")]
    operations = [migrations.RunSQL(_INDEX, "DROP INDEX IF EXISTS notifyops_private.logentry_of_cases;")]
