"""Lifting the block of an address is a decision of a lead, on record as any other."""

from django.core.management.base import CommandError
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

_VERBS = (
    *("retry", "undo", "query", "adopt", "approve", "decline", "correct", "resend", "resume"),
    *("close", "wait", "withdraw", "reopen", "note", "unblock"),
    *("take", "release", "take_over"),
)
_BULK = ("bulk_plan", "bulk_start", "bulk_pause", "bulk_resume", "bulk_cancel")


def refuse_where_used(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM notifyops_private.reviews_review WHERE action = 'unblock'")
        (count,) = cursor.fetchone()
    if count:
        raise CommandError(f"{count} decisions on record lift the block of an address, which an older release cannot.")


class Migration(migrations.Migration):
    dependencies = [("reviews", "0009_few_kin"), ("notifications", "0037_unblock")]
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
                    ("decline_intent", "Can decline what waits for approval"),
                    ("correct_intent", "Can correct an address"),
                    ("resend_intent", "Can ask for a resend that may be a second message"),
                    ("wait_intent", "Can set a case aside"),
                    ("resume_intent", "Can take up again what was set aside"),
                    ("withdraw_intent", "Can withdraw a notification, and erase its content"),
                    ("unblock_intent", "Can lift the block of an address"),
                ],
            },
        ),
        migrations.RemoveConstraint(model_name="review", name="review_action_known"),
        migrations.AddConstraint(
            model_name="review",
            constraint=models.CheckConstraint(
                condition=models.Q(("action__in", _VERBS), ("intent__isnull", False))
                | models.Q(("action__in", _BULK), ("intent__isnull", True)),
                name="review_action_known",
            ),
        ),
        # The last one, so that it is asked first on the way back.
        migrations.RunPython(migrations.RunPython.noop, refuse_where_used),
    ]
