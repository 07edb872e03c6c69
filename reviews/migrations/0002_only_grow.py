"""Reviews and notes are written once: UPDATE, DELETE and TRUNCATE are refused, whoever asks."""

from django.db import migrations

FORWARD = """
SELECT notifyops_private.make_growing_v1('notifyops_private.reviews_review');
SELECT notifyops_private.make_growing_v1('notifyops_private.reviews_note');
"""
BACK = """
DROP TRIGGER IF EXISTS only_grows ON notifyops_private.reviews_review;
DROP TRIGGER IF EXISTS no_truncate ON notifyops_private.reviews_review;
DROP TRIGGER IF EXISTS only_grows ON notifyops_private.reviews_note;
DROP TRIGGER IF EXISTS no_truncate ON notifyops_private.reviews_note;
"""


class Migration(migrations.Migration):
    dependencies = [("reviews", "0001_reviews_and_notes"), ("notifications", "0004_guards")]
    operations = [migrations.RunSQL(FORWARD, BACK)]
