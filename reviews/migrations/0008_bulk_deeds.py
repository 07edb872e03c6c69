"""What is said about a run of many is on record too; the lists of plans that nobody started do not stay for ever."""

from pathlib import Path

from django.db import migrations, models

_FOLDER = Path(__file__).parents[1] / "sql"
_VERBS = (
    *("retry", "undo", "query", "adopt", "approve", "decline", "correct", "resend", "resume"),
    *("close", "wait", "withdraw", "reopen", "note"),
    *("take", "release", "take_over"),
)
_DEEDS = ("bulk_plan", "bulk_start", "bulk_pause", "bulk_resume", "bulk_cancel")


class Migration(migrations.Migration):
    dependencies = [("reviews", "0007_second_factor")]
    operations = [
        migrations.AlterField(
            model_name="review",
            name="intent",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=models.deletion.DO_NOTHING,
                related_name="reviews",
                to="notifications.intent",
            ),
        ),
        migrations.RemoveConstraint(model_name="review", name="review_action_known"),
        migrations.AddConstraint(
            model_name="review",
            constraint=models.CheckConstraint(
                condition=models.Q(("action__in", _VERBS), ("intent__isnull", False))
                | models.Q(("action__in", _DEEDS), ("intent__isnull", True)),
                name="review_action_known",
            ),
        ),
        migrations.AddIndex(
            model_name="review",
            index=models.Index(
                condition=models.Q(("intent__isnull", True)), fields=["bulk", "id"], name="review_of_run"
            ),
        ),
        migrations.RunSQL(
            (_FOLDER / "forget_plans_v1.sql").read_text("utf-8"),
            (_FOLDER / "forget_plans_v1.reverse.sql").read_text("utf-8"),
        ),
    ]
