"""Addresses that must not be written to, known only by keyed hash."""

from __future__ import annotations

from django.contrib.postgres.functions import TransactionNow
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

REASONS = ("bounced", "complained", "unsubscribed", "opted_out", "gone")


class DeliveryBlock(models.Model):
    """One address (by commitment) that a channel must leave alone; checked in the claim."""

    channel = models.CharField(max_length=32)
    commitment = models.BinaryField()
    # Empty: every notification; else the type that is blocked.
    scope = models.CharField(max_length=64, db_default="", blank=True)
    reason = models.CharField(max_length=16)
    # Where a provider's word was learned: a bounce at the sandbox is none in live. Empty (a recipient's wish): in all.
    site_mode = models.CharField(max_length=8, db_default="", blank=True)
    created_at = models.DateTimeField(db_default=TransactionNow())

    class Meta:
        verbose_name = _("delivery block")
        constraints = [
            models.UniqueConstraint(fields=["commitment", "channel", "scope", "site_mode"], name="deliveryblock_once"),
            models.CheckConstraint(name="deliveryblock_reason", condition=Q(reason__in=REASONS)),
        ]

    def __str__(self) -> str:
        return f"{self.channel} {self.reason}"
