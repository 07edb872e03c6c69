"""The append-only story. The table is made by SQL (partitioned by the intent's month); this model only reads it."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class LogEntry(models.Model):
    """One fact about an intent, chained by hash to the one before it. Source of truth for every page and view."""

    id = models.BigAutoField(primary_key=True)
    month = models.DateField()
    intent = models.ForeignKey(
        "notifications.Intent", models.DO_NOTHING, db_constraint=False, related_name="log", verbose_name=_("intent")
    )
    seq = models.IntegerField()
    at = models.DateTimeField(_("at"))
    kind = models.CharField(_("entry"), max_length=20)
    from_state = models.CharField(_("from"), max_length=16)
    to_state = models.CharField(_("to"), max_length=16)
    attempt = models.SmallIntegerField(_("attempt"))
    generation = models.SmallIntegerField()
    trigger = models.CharField(max_length=8)
    fence = models.IntegerField()
    worker = models.CharField(max_length=120, null=True)
    outcome = models.CharField(_("outcome"), max_length=16, null=True)
    code = models.CharField(_("code"), max_length=100, null=True)
    phase = models.CharField(max_length=20, null=True)
    http_status = models.SmallIntegerField(null=True)
    duration_ms = models.IntegerField(null=True)
    provider_message_id = models.CharField(max_length=255, null=True)
    actor = models.CharField(_("actor"), max_length=200, null=True)
    reason_code = models.CharField(_("reason code"), max_length=40, null=True)
    detail = models.JSONField(null=True)
    prev = models.BinaryField()
    hash = models.BinaryField()

    class Meta:
        managed = False
        db_table = "notifications_logentry"
        verbose_name = _("log entry")
        verbose_name_plural = _("log entries")
        ordering = ["intent_id", "seq"]

    def __str__(self) -> str:
        return f"{self.intent_id}#{self.seq} {self.kind}"
