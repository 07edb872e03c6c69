"""Pauses: a person keeps a type, an account or a workspace from being sent, for a while and with a reason."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

SCOPES: Final = ("account", "type", "workspace")
# The slugs are part of the contract: they stand in exports. `other` wants an explanation.
REASONS: Final = ("wrong_content", "too_many", "provider_trouble", "maintenance", "owner_asked", "other")
LONGEST: Final = timedelta(hours=24)


class Pause(models.Model):
    """One pause; it stands while it is not over and nobody resumed it. Rows stay: they are the record.

    `name` is the type or the workspace; for an account it is the account's name at the time. Times are the database's.
    """

    scope = models.CharField(_("what"), max_length=9)
    name = models.CharField(_("name"), max_length=64, blank=True)
    account = models.ForeignKey(
        "notifications.ProviderAccount", models.CASCADE, null=True, db_index=False, related_name="pauses"
    )
    reason_code = models.CharField(_("reason code"), max_length=40)
    reason = models.CharField(_("reason"), max_length=500, db_default="", default="", blank=True)
    actor = models.CharField(_("by"), max_length=200)
    began_at = models.DateTimeField(_("since"), db_default=Now())
    ends_at = models.DateTimeField(_("until"))
    resumed_at = models.DateTimeField(_("resumed"), null=True)
    resumed_by = models.CharField(_("resumed by"), max_length=200, null=True)
    resume_reason = models.CharField(_("why resumed"), max_length=500, null=True)

    class Meta:
        verbose_name = _("pause")
        verbose_name_plural = _("pauses")
        default_permissions = ("view",)
        permissions = [("pause_sending", "Can pause and resume sending")]
        indexes = [
            # Every claim: which pauses stand now?
            models.Index(fields=["ends_at"], name="pause_standing", condition=Q(resumed_at__isnull=True)),
        ]
        constraints = [
            models.CheckConstraint(name="pause_scope_known", condition=Q(scope__in=SCOPES)),
            models.CheckConstraint(name="pause_reason_known", condition=Q(reason_code__in=REASONS)),
            models.CheckConstraint(
                name="pause_names_its_account",
                condition=Q(scope="account", account__isnull=False) | (~Q(scope="account") & Q(account__isnull=True)),
            ),
            models.CheckConstraint(
                name="pause_is_short", condition=Q(ends_at__gt=F("began_at"), ends_at__lte=F("began_at") + LONGEST)
            ),
            models.CheckConstraint(
                name="pause_resumed_by_somebody",
                condition=Q(resumed_at__isnull=True, resumed_by__isnull=True, resume_reason__isnull=True)
                | Q(resumed_at__isnull=False, resumed_by__isnull=False, resume_reason__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"pause of {self.scope} {self.name or '(default)'}"
