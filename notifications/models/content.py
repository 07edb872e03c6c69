"""The only two tables that hold personal data: what to say to whom, and the frozen bytes."""

from __future__ import annotations

from django.contrib.postgres.functions import TransactionNow
from django.db import models
from django.utils.translation import gettext_lazy as _


class Content(models.Model):
    """What the caller asked for: address and data. Written once at intake, erasable."""

    intent = models.OneToOneField(
        "notifications.Intent", models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="content"
    )
    recipient = models.TextField(null=True)
    # Keyed hash of the normalised address: lets a block be checked without reading the address. Empty once erased.
    commitment = models.BinaryField()
    # Of a corrected address: what the log's hash of it was salted with. Erased with the content.
    salt = models.BinaryField(null=True)
    data = models.JSONField(null=True)
    locale = models.CharField(max_length=16, null=True)
    erased_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("content")

    def __str__(self) -> str:
        return f"content of {self.intent_id}"


class Prepared(models.Model):
    """The exact bytes of one generation, frozen before its first attempt. Insert-only, erasable."""

    pk = models.CompositePrimaryKey("intent_id", "generation")
    intent_id = models.BigIntegerField()
    generation = models.SmallIntegerField()
    account_id = models.BigIntegerField()
    body = models.BinaryField(null=True)
    sha256 = models.BinaryField()
    template_version = models.CharField(max_length=64)
    subject = models.TextField(null=True)
    # The site's mode when it was prepared: bytes for the sandbox are never sent to real people, nor the other way.
    site_mode = models.CharField(max_length=8)
    prepared_at = models.DateTimeField(db_default=TransactionNow())

    class Meta:
        verbose_name = _("prepared message")

    def __str__(self) -> str:
        return f"{self.intent_id}~g{self.generation}"
