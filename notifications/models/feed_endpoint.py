"""Where the outcomes feed is pushed to, and how far each has got."""

from __future__ import annotations

from django.contrib.postgres.functions import TransactionNow
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from notifications.models.provider import REFERENCE


class FeedEndpoint(models.Model):
    """One receiver of signed outcomes. Its secrets are references (`env:NAME`), the first of them the newest."""

    name = models.CharField(_("name"), max_length=64)
    url = models.CharField(_("address"), max_length=500)
    secret_refs = models.CharField(_("secret references"), max_length=500)
    workspaces = models.JSONField(_("workspaces"), default=list)
    # In another mode it gets nothing: a copy in the sandbox must not speak to the receivers of the live one.
    site_mode = models.CharField(_("site mode"), max_length=10)
    enabled = models.BooleanField(_("enabled"), db_default=True, default=True)
    made_at = models.DateTimeField(_("made"), db_default=TransactionNow())
    made_by = models.CharField(_("made by"), max_length=200)
    reason = models.CharField(_("reason"), max_length=500)

    class Meta:
        verbose_name = _("feed endpoint")
        verbose_name_plural = _("feed endpoints")
        constraints = [
            models.UniqueConstraint(fields=["name"], name="feedendpoint_name"),
            models.CheckConstraint(
                name="feedendpoint_secrets_are_references",
                condition=Q(secret_refs__regex=rf"^{REFERENCE}(,{REFERENCE})*$"),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class FeedCursor(models.Model):
    """How far an endpoint has got. Written by the chores alone once it is there."""

    endpoint = models.OneToOneField(FeedEndpoint, models.CASCADE, primary_key=True, related_name="cursor")
    position = models.BigIntegerField(_("position"))
    failure_count = models.IntegerField(_("failures"), db_default=0, default=0)
    due_at = models.DateTimeField(_("next attempt"), db_default=TransactionNow())
    # The newest answer: a status, or a word for why there was none.
    last_answer = models.CharField(_("newest answer"), max_length=40, db_default="", default="")
    # The receiver said 410: it wants no more.
    gone_at = models.DateTimeField(_("gone"), null=True, blank=True)

    class Meta:
        verbose_name = _("feed cursor")

    def __str__(self) -> str:
        return f"{self.endpoint_id}: {self.position}"
