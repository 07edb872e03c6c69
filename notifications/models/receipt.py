"""What a provider said about its messages after it took them, and which of it still waits to be applied."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

SOURCES = ("webhook", "catch_up")


class ProviderEvent(models.Model):
    """One verified event of one account. Insert-only, by `receive_v1` alone; the body itself is never kept.

    Everything here is a word of a catalogue, a number, a time or an id: no address, no subject, no free text.
    """

    account = models.ForeignKey(
        "notifications.ProviderAccount",
        models.PROTECT,
        verbose_name=_("account"),
        # The unique constraint begins with it; and no foreign key, or each insert would lock the shared account row.
        db_index=False,
        db_constraint=False,
        related_name="+",
    )
    # The provider's own id of the event: the same over all its tries and replays.
    event_id = models.CharField(max_length=128, db_collation="C")
    type = models.CharField(max_length=64)
    # By the provider's clock; None where it gave none that can be read.
    occurred_at = models.DateTimeField(null=True)
    received_at = models.DateTimeField()
    provider_message_id = models.CharField(max_length=255, null=True, db_collation="C")
    # What we had put into the message's tags: whose it is, whatever became of the answer to our call.
    tag_site = models.CharField(max_length=64, null=True)
    tag_intent = models.BigIntegerField(null=True)
    tag_generation = models.SmallIntegerField(null=True)
    # Of a message to a corrected address: the notification that was first owed under the caller's key.
    tag_root = models.BigIntegerField(null=True)
    bounce_class = models.CharField(max_length=40, null=True)
    code = models.CharField(max_length=100, null=True)
    # `webhook`: its signature was verified; `catch_up`: read from the provider with our own key.
    source = models.CharField(max_length=16)
    raw_sha256 = models.BinaryField()

    class Meta:
        verbose_name = _("provider event")
        verbose_name_plural = _("provider events")
        constraints = [
            models.UniqueConstraint(fields=["account", "event_id"], name="providerevent_once"),
            models.CheckConstraint(name="providerevent_source", condition=Q(source__in=SOURCES)),
        ]
        indexes = [
            # Evidence: what was received about this intent, by our own tags?
            models.Index(
                fields=["tag_intent", "tag_generation"],
                name="providerevent_by_tag",
                condition=Q(tag_intent__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.account_id} {self.type} {self.event_id}"


class ParkedReceipt(models.Model):
    """An event that is still to be applied. Its row goes in the transaction that writes the log entry: exactly once."""

    event = models.OneToOneField(
        ProviderEvent, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="parked"
    )
    # Later than its arrival where it came early, for example before the answer to our call was recorded.
    due_at = models.DateTimeField()

    class Meta:
        verbose_name = _("parked receipt")
        # Apply: what is due, in the order of arrival.
        indexes = [models.Index(fields=["due_at", "event"], name="parkedreceipt_due")]

    def __str__(self) -> str:
        return f"parked event {self.event_id}"
