"""Partial indexes of the review queue: its two orders, each of its main filters in the default order, and search.

Where a provider's key protects a repeat, the queue comes in the order in which that protection ends; `infinity` stands
for a case without a window. With the filter's column in front, a page is one index range at any depth.
"""

from django.db import migrations

_RANK = "(coalesce(safe_until, 'infinity'::timestamptz)), id"
_INDEXES = {
    # /reviews/ : what stops being safe first.
    "intent_review_safe": f"notifications_intent ({_RANK}) WHERE state = 'needs_review'",
    # /reviews/?sort=oldest : what has waited longest.
    "intent_review_oldest": "notifications_intent (review_since, id) WHERE state = 'needs_review'",
    # /reviews/?code= , and the list of codes in the filter, by hopping from one to the next.
    "intent_review_code": f"notifications_intent (error_code, {_RANK}) WHERE state = 'needs_review'",
    # /reviews/?known=
    "intent_review_known": f"notifications_intent (known, {_RANK}) WHERE state = 'needs_review'",
    # /reviews/?next=
    "intent_review_next": f"notifications_intent (next_action, {_RANK}) WHERE state = 'needs_review'",
    # /reviews/?provider=
    "intent_review_account": f"notifications_intent (account_id, {_RANK}) WHERE state = 'needs_review'",
    # /reviews/?channel=
    "intent_review_channel": f"notifications_intent (channel, {_RANK}) WHERE state = 'needs_review'",
    # /reviews/?type=
    "intent_review_type": f"notifications_intent (type, {_RANK}) WHERE state = 'needs_review'",
    # /reviews/?workspace=
    "intent_review_workspace": f"notifications_intent (workspace, {_RANK}) WHERE state = 'needs_review'",
    # /reviews/?q=REPORT : reports that may be notified more than once are outside the unique index.
    "intentkey_report_again": "notifications_intentkey (report_id) WHERE NOT singular",
}


def _sql(statement: str) -> str:
    return "\n".join(statement.format(name=name, place=place) for name, place in _INDEXES.items())


class Migration(migrations.Migration):
    dependencies = [("notifications", "0010_doctor")]
    operations = [
        migrations.RunSQL(
            _sql("CREATE INDEX {name} ON notifyops_private.{place};"),
            _sql("DROP INDEX IF EXISTS notifyops_private.{name};"),
        )
    ]
