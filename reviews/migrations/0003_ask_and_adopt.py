"""Two more verbs: ask the provider, and adopt its answer."""

from django.db import migrations, models

_VERBS = ("retry", "undo", "query", "adopt", "approve", "close", "reopen", "note")


class Migration(migrations.Migration):
    dependencies = [("reviews", "0002_only_grow"), ("notifications", "0013_evidence")]
    operations = [
        migrations.AlterModelOptions(
            name="review",
            options={
                "verbose_name": "review",
                "verbose_name_plural": "reviews",
                "default_permissions": ("view",),
                "permissions": [
                    ("view_case", "Can see the queue and its cases"),
                    ("retry_intent", "Can retry a case"),
                    ("undo_intent", "Can take back an own retry"),
                    ("query_intent", "Can ask the provider about a case"),
                    ("adopt_intent", "Can adopt a provider's answer"),
                    ("close_intent", "Can close a case"),
                    ("note_intent", "Can write a note"),
                    ("reopen_intent", "Can reopen a closed case"),
                    ("approve_intent", "Can approve what waits for approval"),
                ],
            },
        ),
        migrations.RemoveConstraint(model_name="review", name="review_action_known"),
        migrations.AddConstraint(
            model_name="review",
            constraint=models.CheckConstraint(condition=models.Q(("action__in", _VERBS)), name="review_action_known"),
        ),
    ]
