"""What was done about people's ways in: second factors, recovery codes, locks. The table only grows."""

from __future__ import annotations

from typing import Final

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

DEEDS: Final = ("enrolled", "replaced", "switched_off", "codes_made", "code_used", "reset", "unlocked")
# These are done to somebody else, so they say why.
REASONED: Final = ("reset", "unlocked")


class AccessRecord(models.Model):
    """One deed about one account. `actor` is `user:<username>` or `cli:<user>@<host>`."""

    # Protected: what was done about an account must stay known, so people are deactivated and not deleted.
    user = models.ForeignKey("auth.User", models.PROTECT, verbose_name=_("account"), related_name="+")
    deed = models.CharField(_("deed"), max_length=12)
    actor = models.CharField(_("by"), max_length=200)
    at = models.DateTimeField(_("at"), db_default=Now())
    reason = models.CharField(_("reason"), max_length=500, db_default="", default="", blank=True)

    class Meta:
        verbose_name = _("access record")
        verbose_name_plural = _("access records")
        default_permissions = ("view",)
        constraints = [
            models.CheckConstraint(name="accessrecord_deed_known", condition=Q(deed__in=DEEDS)),
            models.CheckConstraint(
                name="accessrecord_says_why", condition=~Q(deed__in=REASONED) | ~Q(reason=""),
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.deed} {self.user_id} by {self.actor}"
