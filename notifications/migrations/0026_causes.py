"""Three suggestions more: what is wrong is the content, or not known, or nothing that a retry can change.

The story (`notify explain`) names the field, whether what was accepted arrived, and a second message as what it is.
"""

from django.contrib.postgres.operations import AddConstraintNotValid, ValidateConstraint
from django.db import migrations, models

from notifications.sqlfile import renewed

_KNOWN = [
    *("not_sent", "unknown", "accepted", "conflict", "bounced", "soft_bounced", "complained", "suppressed", "invalid"),
    "awaiting_approval",
]
_ACTIONS = [
    *("query_provider", "retry_same_key", "retry_new_key", "fix_config", "fix_content", "find_cause", "enqueue_anew"),
    *("correct_address", "wait_for_event", "close_duplicate", "approve", "ask_lead"),
]


class Migration(migrations.Migration):
    dependencies = [("notifications", "0025_type_overrides")]
    # Each step on its own: while the old rows are read, the table can be written.
    atomic = False
    operations = [
        migrations.RemoveConstraint(model_name="intent", name="intent_review_says_why"),
        AddConstraintNotValid(
            model_name="intent",
            constraint=models.CheckConstraint(
                name="intent_review_says_why",
                condition=~models.Q(state="needs_review")
                | models.Q(
                    error_code__isnull=False,
                    next_action__in=_ACTIONS,
                    known__in=_KNOWN,
                    review_since__isnull=False,
                ),
            ),
        ),
        ValidateConstraint(model_name="intent", name="intent_review_says_why"),
        renewed("contract", "notifyops.explain"),
    ]
