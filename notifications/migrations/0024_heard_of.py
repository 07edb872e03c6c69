"""What a restored database has heard of is asked at the claim; a forgotten corrected address is known by its root."""

from django.db import migrations, models
from django.db.models import Q

from notifications.sqlfile import renewed

# No older release minds a column more, and the functions here read them.
_COLUMNS = """
ALTER TABLE notifyops_private.notifications_providerevent ADD COLUMN IF NOT EXISTS tag_root bigint;
ALTER TABLE notifyops_private.notifications_unknownmail
    ADD COLUMN IF NOT EXISTS tag_root varchar(20) DEFAULT '' NOT NULL;
"""
_OURS = "notifyops_private."


class Migration(migrations.Migration):
    dependencies = [("notifications", "0023_moves_of_cases")]
    operations = [
        migrations.RunSQL(
            _COLUMNS,
            migrations.RunSQL.noop,
            state_operations=[
                migrations.AddField(
                    model_name="unknownmail",
                    name="tag_root",
                    field=models.CharField(db_default="", default="", max_length=20),
                ),
                migrations.AddField(
                    model_name="providerevent", name="tag_root", field=models.BigIntegerField(null=True)
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="unknownmail",
            index=models.Index(condition=~Q(tag_root=""), fields=["tag_root"], name="unknownmail_root"),
        ),
        renewed(
            "barred_v1",
            *(
                f"{_OURS}{name}"
                for name in (
                    *("reach_v1", "is_forgotten_v1", "forgotten_v1", "unclaimable_v1"),
                    *("unsent_v1", "stays_v1", "barred_v1"),
                )
            ),
        ),
        renewed("append_v1", f"{_OURS}append_v1"),
        renewed(
            "recover_v1",
            *(f"{_OURS}{name}" for name in ("hear_now_v1", "recover_v1", "waive_recovery_v1", "finish_recovery_v1")),
        ),
        renewed("block_v1", f"{_OURS}block_v1"),
        renewed("receive_v1", f"{_OURS}receive_v1"),
        renewed("doctor", f"{_OURS}doctor_v1"),
        renewed("contract", "notifyops.explain"),
    ]
