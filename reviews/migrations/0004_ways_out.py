"""Six more verbs, and the requests that a second person confirms."""

import django.db.models.deletion
from django.core.management.base import CommandError
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

_VERBS = (
    *("retry", "undo", "query", "adopt", "approve", "decline", "correct", "resend", "resume"),
    *("close", "wait", "withdraw", "reopen", "note"),
)

_BEFORE = ("retry", "undo", "query", "adopt", "approve", "close", "reopen", "note")


def keep_the_record(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Refuse the way back where the record holds what an older release cannot read."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM notifyops_private.reviews_review WHERE action <> ALL (%s)", [list(_BEFORE)]
        )
        (count,) = cursor.fetchone()
    if count:
        raise CommandError(
            f"{count} decisions on record are of kinds that an older release does not know, and the record only grows: "
            "this database cannot go back. Restore a backup from before the upgrade instead."
        )


class Migration(migrations.Migration):
    dependencies = [("reviews", "0003_ask_and_adopt"), ("notifications", "0017_ways_out")]
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
                ],
            },
        ),
        migrations.RemoveConstraint(model_name="review", name="review_action_known"),
        migrations.AddConstraint(
            model_name="review",
            constraint=models.CheckConstraint(condition=models.Q(("action__in", _VERBS)), name="review_action_known"),
        ),
        migrations.CreateModel(
            name="ApprovalRequest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("asked_by", models.CharField(max_length=200, verbose_name="asked by")),
                ("asked_at", models.DateTimeField(verbose_name="asked")),
                ("expires_at", models.DateTimeField(verbose_name="open until")),
                (
                    "outcome",
                    models.CharField(blank=True, db_default="", default="", max_length=10, verbose_name="outcome"),
                ),
                (
                    "decided_by",
                    models.CharField(blank=True, db_default="", default="", max_length=200, verbose_name="decided by"),
                ),
                ("decided_at", models.DateTimeField(null=True, verbose_name="decided")),
                (
                    "intent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="approval_requests",
                        to="notifications.intent",
                    ),
                ),
            ],
            options={
                "verbose_name": "approval request",
                "verbose_name_plural": "approval requests",
                "default_permissions": ("view",),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("outcome", "")), fields=("intent",), name="approvalrequest_one_open"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("decided_at__isnull", True), ("outcome", "")),
                            models.Q(
                                ("decided_at__isnull", False),
                                ("outcome__in", ("confirmed", "declined", "withdrawn", "expired")),
                            ),
                            _connector="OR",
                        ),
                        name="approvalrequest_decided",
                    ),
                ],
            },
        ),
        migrations.RunPython(migrations.RunPython.noop, keep_the_record),
    ]
