"""After a restore: what may have been sent and is not remembered here, asked about before anything else goes out."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class Recovery(models.Model):
    """One recovery: since when messages may be missing, who ordered it and why. While it is open nothing is claimed.

    Written by `recover_v1` and `waive_recovery_v1` alone; the chores note how far they have come.
    """

    since = models.DateTimeField()
    started_at = models.DateTimeField()
    actor = models.CharField(max_length=200)
    reason = models.CharField(max_length=500)
    # All that may have been sent is held for the provider's answer.
    marked_at = models.DateTimeField(null=True)
    marked_count = models.IntegerField(db_default=0)
    finished_at = models.DateTimeField(null=True)
    waived_by = models.CharField(max_length=200, null=True)
    waive_reason = models.CharField(max_length=500, null=True)

    class Meta:
        verbose_name = _("recovery")

    def __str__(self) -> str:
        return f"recovery since {self.since:%Y-%m-%d %H:%M}"


class RecoveryList(models.Model):
    """How far one account's list was read for messages that are not known here; a killed worker goes on from there."""

    pk = models.CompositePrimaryKey("recovery_id", "account_id")
    recovery_id = models.BigIntegerField()
    account_id = models.BigIntegerField()
    # The last message that was looked at, newest first; empty: none yet.
    cursor = models.CharField(max_length=255, db_default="")
    # Why it could not be read, for the moment or for good.
    code = models.CharField(max_length=100, null=True)
    done_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("list read after a restore")

    def __str__(self) -> str:
        return f"list of account {self.account_id}"


class UnknownMail(models.Model):
    """A message at the provider with our own tags that this database knows nothing of: ids only."""

    recovery_id = models.BigIntegerField()
    account_id = models.BigIntegerField()
    provider_message_id = models.CharField(max_length=255, db_collation="C")
    tag_intent = models.CharField(max_length=20)
    tag_generation = models.CharField(max_length=10)
    # Of a corrected address: the notification that was first owed under the caller's key. Empty: it is that itself.
    tag_root = models.CharField(max_length=20, db_default="", default="")
    taken_at = models.DateTimeField()

    class Meta:
        verbose_name = _("message unknown here")
        # What of this notification is forgotten: asked by the door, each page of a case, and each question.
        indexes = [
            models.Index(fields=["tag_intent"], name="unknownmail_intent"),
            models.Index(fields=["tag_root"], name="unknownmail_root", condition=~Q(tag_root="")),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["recovery_id", "account_id", "provider_message_id"], name="unknownmail_once"
            )
        ]

    def __str__(self) -> str:
        return self.provider_message_id
