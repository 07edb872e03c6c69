"""What SQL must know of a notification type: synced from code after every migrate, and what persons override of it."""

from __future__ import annotations

from django.contrib.postgres.functions import TransactionNow
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from notifications.states import Approval, LossModel


class NotificationTypeRow(models.Model):
    """The database's copy of one registered NotificationType. Rows of types that left the code are disabled, kept.

    `enabled`, `approval` and `expires_after` are what counts: an override over what the code says, which
    `declared` keeps (`enabled`, `approval`, `expires_s`).
    """

    name = models.CharField(_("name"), max_length=64, primary_key=True)
    channel = models.CharField(_("channel"), max_length=32)
    # Keys of `data` → JSON type as jsonb_typeof names it; the full schema is checked when the content is prepared.
    required = models.JSONField(default=dict)
    approval = models.CharField(_("approval"), max_length=16, db_default=Approval.NONE.value)
    expires_after = models.DurationField(_("expires after"), null=True)
    loss_model = models.CharField(_("loss model"), max_length=16, db_default=LossModel.AT_LEAST_ONCE.value)
    failure_limit = models.SmallIntegerField(db_default=3)
    enabled = models.BooleanField(_("enabled"), db_default=True)
    declared = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))

    class Meta:
        db_table = "notifications_notificationtype"
        verbose_name = _("notification type")
        verbose_name_plural = _("notification types")
        constraints = [
            models.CheckConstraint(
                name="notificationtype_loss_model", condition=Q(loss_model__in=[model.value for model in LossModel])
            ),
            models.CheckConstraint(name="notificationtype_limit", condition=Q(failure_limit__gte=1)),
        ]

    def __str__(self) -> str:
        return self.name


class TypeRevision(models.Model):
    """One change of what a person overrides of a type; the newest counts. Insert-only, by override_type_v1.

    `after` has `enabled` (false), `approval` ("required") and `expires_s`; what is missing is as the code declares it.
    """

    type = models.ForeignKey(NotificationTypeRow, models.PROTECT, related_name="revisions", db_index=False)
    revision = models.IntegerField(_("revision"))
    at = models.DateTimeField(_("at"), db_default=TransactionNow())
    actor = models.CharField(_("by"), max_length=200)
    reason = models.CharField(_("reason"), max_length=500)
    before = models.JSONField(null=True)
    after = models.JSONField()

    class Meta:
        verbose_name = _("override of a type")
        verbose_name_plural = _("overrides of types")
        default_permissions = ("view",)
        # Also the look-up of the one that counts.
        constraints = [models.UniqueConstraint(fields=["type", "revision"], name="typerevision_once")]

    def __str__(self) -> str:
        return f"{self.type_id} r{self.revision}"
