"""What SQL must know of a notification type; synced from code after every migrate."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from notifications.states import Approval, LossModel


class NotificationTypeRow(models.Model):
    """The database's copy of one registered NotificationType. Rows of types that left the code are disabled, kept."""

    name = models.CharField(max_length=64, primary_key=True)
    channel = models.CharField(max_length=32)
    # Keys of `data` → JSON type as jsonb_typeof names it; the full schema is checked when the content is prepared.
    required = models.JSONField(default=dict)
    approval = models.CharField(max_length=16, db_default=Approval.NONE.value)
    expires_after = models.DurationField(null=True)
    loss_model = models.CharField(max_length=16, db_default=LossModel.AT_LEAST_ONCE.value)
    failure_limit = models.SmallIntegerField(db_default=3)
    enabled = models.BooleanField(db_default=True)

    class Meta:
        db_table = "notifications_notificationtype"
        verbose_name = _("notification type")
        constraints = [
            models.CheckConstraint(
                name="notificationtype_loss_model", condition=Q(loss_model__in=[model.value for model in LossModel])
            ),
            models.CheckConstraint(name="notificationtype_limit", condition=Q(failure_limit__gte=1)),
        ]

    def __str__(self) -> str:
        return self.name
