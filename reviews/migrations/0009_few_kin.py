"""What joins a notification's kin to the log looks up a few of its rows, and never reads all of it.

For databases whose functions are older than the ROWS that stand in sql/again_v1.sql and sql/linked.sql now.
"""

from django.db import migrations

_FEW = """
ALTER FUNCTION notifyops_private.line_v1(text, text) ROWS 2;
ALTER FUNCTION notifyops_private.kin_v1(bigint[]) ROWS 10;
"""


class Migration(migrations.Migration):
    dependencies = [("reviews", "0008_bulk_deeds"), ("notifications", "0027_many_at_once")]
    operations = [migrations.RunSQL(_FEW, migrations.RunSQL.noop)]
