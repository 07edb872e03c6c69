"""Partial indexes of the console's other lists: each main filter in the order of waiting, and what has ended by hand.

Rows come into them only when they need review, or are closed or cancelled: delivery itself writes none of them.
"""

from django.db import migrations

_WAITED = "review_since, id) WHERE state = 'needs_review'"
_INDEXES = {
    # /reviews/?sort=oldest with code= known= next= provider= channel= type= workspace=
    "intent_waited_code": f"notifications_intent (error_code, {_WAITED}",
    "intent_waited_known": f"notifications_intent (known, {_WAITED}",
    "intent_waited_next": f"notifications_intent (next_action, {_WAITED}",
    "intent_waited_account": f"notifications_intent (account_id, {_WAITED}",
    "intent_waited_channel": f"notifications_intent (channel, {_WAITED}",
    "intent_waited_type": f"notifications_intent (type, {_WAITED}",
    "intent_waited_workspace": f"notifications_intent (workspace, {_WAITED}",
    # /reviews/?state=closed and ?state=cancelled : the few among all that was accepted, newest first.
    "intent_closed": "notifications_intent (id) WHERE state = 'closed'",
    "intent_cancelled": "notifications_intent (id) WHERE state = 'cancelled'",
}


def _sql(statement: str) -> str:
    return "\n".join(statement.format(name=name, place=place) for name, place in _INDEXES.items())


class Migration(migrations.Migration):
    dependencies = [("notifications", "0020_run_progress")]
    operations = [
        migrations.RunSQL(
            _sql("CREATE INDEX {name} ON notifyops_private.{place};"),
            _sql("DROP INDEX IF EXISTS notifyops_private.{name};"),
        )
    ]
