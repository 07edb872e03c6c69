"""Who may speak to the HTTP API: tokens by their hash, and how much each has used of its limit."""

from __future__ import annotations

from django.contrib.postgres.functions import TransactionNow
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

SCOPES = ("enqueue", "read", "inbox")
# What a busy application needs; a runaway one is stopped before it fills the disk.
PER_MINUTE = 6000


class ApiToken(models.Model):
    """One client's token. Only its hash is kept, so it is shown once.

    Made and revoked, never changed: the database refuses any other update (sql/api.sql), and every removal.
    """

    name = models.CharField(_("client"), max_length=64, help_text=_("Which application has it; no person's name."))
    # The token's readable part: it finds the row, and a leaked token's owner.
    prefix = models.CharField(_("prefix"), max_length=12)
    # SHA-256 of the whole token: 256 random bits need neither salt nor a slow hash.
    digest = models.BinaryField()
    scopes = models.JSONField(_("scopes"), default=list)
    workspaces = models.JSONField(
        _("workspaces"), default=list, help_text=_("Names; an empty one is the default workspace, “*” means all.")
    )
    per_minute = models.IntegerField(_("requests a minute"), default=PER_MINUTE, db_default=PER_MINUTE)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    made_at = models.DateTimeField(_("made"), db_default=TransactionNow())
    made_by = models.CharField(_("made by"), max_length=200)
    reason = models.CharField(_("reason"), max_length=500)
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True)
    revoked_by = models.CharField(_("revoked by"), max_length=200, null=True, blank=True)
    revoke_reason = models.CharField(_("reason of the revocation"), max_length=500, null=True, blank=True)

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")
        constraints = [
            # Each request: whose token is this?
            models.UniqueConstraint(fields=["prefix"], name="apitoken_prefix"),
            models.CheckConstraint(name="apitoken_limit", condition=Q(per_minute__range=(1, 1_000_000))),
            models.CheckConstraint(
                name="apitoken_revoked_whole",
                condition=Q(revoked_at__isnull=True, revoked_by__isnull=True, revoke_reason__isnull=True)
                | Q(revoked_at__isnull=False, revoked_by__isnull=False, revoke_reason__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} (nops_{self.prefix}…)"

    @property
    def trouble(self) -> str:
        """Say why the token does not count any more: revoked, expired, or nothing."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= timezone.now() else ""

    def reaches(self, workspace: str) -> bool:
        """Tell whether the token is bound to the workspace."""
        return workspace in self.workspaces or "*" in self.workspaces


class ApiTokenUse(models.Model):
    """What a token drew of its limit in one minute, over all hosts. `minute_at` is also when it was last used."""

    token = models.OneToOneField(ApiToken, models.CASCADE, primary_key=True, related_name="use")
    minute_at = models.DateTimeField(_("last used"))
    drawn = models.IntegerField()

    class Meta:
        verbose_name = _("use of an API token")

    def __str__(self) -> str:
        return f"{self.token_id}: {self.drawn}"
