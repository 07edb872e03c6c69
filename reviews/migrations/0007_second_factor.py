"""What was done about people's ways in, for ever."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now

_DEEDS = ("enrolled", "replaced", "switched_off", "codes_made", "code_used", "reset", "unlocked")
FORWARD = "SELECT notifyops_private.make_growing_v1('notifyops_private.reviews_accessrecord');"
BACK = """
DROP TRIGGER IF EXISTS only_grows ON notifyops_private.reviews_accessrecord;
DROP TRIGGER IF EXISTS no_truncate ON notifyops_private.reviews_accessrecord;
"""


class Migration(migrations.Migration):
    dependencies = [("reviews", "0006_team"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.CreateModel(
            name="AccessRecord",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("deed", models.CharField(max_length=12, verbose_name="deed")),
                ("actor", models.CharField(max_length=200, verbose_name="by")),
                ("at", models.DateTimeField(db_default=Now(), verbose_name="at")),
                (
                    "reason",
                    models.CharField(blank=True, db_default="", default="", max_length=500, verbose_name="reason"),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="account",
                    ),
                ),
            ],
            options={
                "verbose_name": "access record",
                "verbose_name_plural": "access records",
                "default_permissions": ("view",),
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("deed__in", _DEEDS)), name="accessrecord_deed_known"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("deed__in", ("reset", "unlocked")), _negated=True),
                            models.Q(("reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="accessrecord_says_why",
                    ),
                ],
            },
        ),
        migrations.RunSQL(FORWARD, BACK),
    ]
