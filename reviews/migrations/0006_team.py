"""Several operators: who has taken a case, who looks at it, saved views, and the log of what people did."""

import django.db.models.functions.datetime
from django.db import migrations, models

_VERBS = (
    *("retry", "undo", "query", "adopt", "approve", "decline", "correct", "resend", "resume"),
    *("close", "wait", "withdraw", "reopen", "note"),
    *("take", "release", "take_over"),
)
# Beats are written again and again and read for two minutes: no crash need keep them.
_UNLOGGED = "ALTER TABLE notifyops_private.reviews_presence SET UNLOGGED"
# /reviews/stats/ : what came into review and what left it, by the time; with the code for repeated causes. Delivery
# writes an entry into it only where a case comes or goes.
_FLOW = """
CREATE INDEX logentry_review_flow ON notifyops_private.notifications_logentry (at)
    INCLUDE (to_state, code, intent_id)
    WHERE (from_state = 'needs_review') <> (to_state = 'needs_review')
"""
_NO_FLOW = "DROP INDEX IF EXISTS notifyops_private.logentry_review_flow"


def _index(model: str, name: str, *fields: str) -> migrations.AddIndex:
    return migrations.AddIndex(model_name=model, index=models.Index(fields=list(fields), name=name))


class Migration(migrations.Migration):
    dependencies = [("notifications", "0021_list_indexes"), ("reviews", "0005_bulk")]
    operations = [
        migrations.RemoveConstraint(model_name="review", name="review_action_known"),
        migrations.AddConstraint(
            model_name="review",
            constraint=models.CheckConstraint(condition=models.Q(("action__in", _VERBS)), name="review_action_known"),
        ),
        _index("review", "review_at", "at", "id"),
        _index("review", "review_by", "actor", "at", "id"),
        _index("review", "review_action", "action", "at", "id"),
        _index("note", "note_at", "at", "id"),
        migrations.CreateModel(
            name="Hold",
            fields=[
                ("intent_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("holder", models.CharField(max_length=200)),
                ("taken_by", models.CharField(max_length=200)),
                ("taken_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
            ],
            options={
                "default_permissions": (),
                "permissions": [
                    ("take_intent", "Can take a case for a while"),
                    ("release_intent", "Can give back an own case"),
                    ("take_over_intent", "Can take over a case that somebody else has taken"),
                ],
                "indexes": [models.Index(fields=["expires_at"], name="hold_until")],
            },
        ),
        migrations.CreateModel(
            name="Presence",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "intent_id", "person", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("intent_id", models.BigIntegerField()),
                ("person", models.CharField(max_length=200)),
                ("seen_at", models.DateTimeField()),
            ],
            options={
                "default_permissions": (),
                "indexes": [models.Index(fields=["seen_at"], name="presence_seen")],
            },
        ),
        migrations.RunSQL(_UNLOGGED, migrations.RunSQL.noop),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=60, verbose_name="name")),
                ("query", models.CharField(max_length=1500, verbose_name="query")),
                ("owner", models.CharField(max_length=200, verbose_name="owner")),
                ("is_shared", models.BooleanField(db_default=False, default=False, verbose_name="shared")),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name="created"),
                ),
            ],
            options={
                "verbose_name": "saved view",
                "verbose_name_plural": "saved views",
                "default_permissions": (),
                "permissions": [
                    ("share_view", "Can share a saved view with everybody"),
                    ("drop_view", "Can delete views that others share"),
                    ("export_log", "Can export the log of human actions"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("owner", "name"), name="savedview_one_name"),
                    models.UniqueConstraint(
                        condition=models.Q(("is_shared", True)), fields=("name",), name="savedview_one_shared_name"
                    ),
                ],
            },
        ),
        migrations.RunSQL(_FLOW, _NO_FLOW),
    ]
