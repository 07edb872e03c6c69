"""The outbox: one row per notification owed to one recipient through one channel, and the keys that never expire."""

from __future__ import annotations

from django.contrib.postgres.functions import TransactionNow
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from notifications.states import DeliveryStatus, Known, NextAction, State


class IntentKey(models.Model):
    """A key that was used once is used for ever, whatever becomes of its intent."""

    pk = models.CompositePrimaryKey("key", "workspace")
    # A caller's key has 200 characters at most; the rest is room for `~a12`, a corrected address.
    key = models.CharField(max_length=208, db_collation="C")
    workspace = models.CharField(max_length=64, db_collation="C")
    report_id = models.CharField(max_length=200, db_collation="C")
    type = models.CharField(max_length=64, db_collation="C")
    # False where the same report and type may be notified again: born of a business event, superseding another, or with
    # a corrected address.
    singular = models.BooleanField(db_default=True)
    fingerprint = models.BinaryField()
    intent_id = models.BigIntegerField()

    class Meta:
        verbose_name = _("intent key")
        constraints = [
            # One report is notified once by one type: also serves the console's search by report ID prefix.
            models.UniqueConstraint(
                fields=["report_id", "workspace", "type"], condition=Q(singular=True), name="intentkey_one_per_report"
            ),
        ]

    def __str__(self) -> str:
        return self.key


class Intent(models.Model):
    """One notification owed. Every column but the identity moves only with a log entry."""

    notification_id = models.CharField(_("ID"), max_length=208, db_collation="C")
    # Set where another workspace already uses the same id, so that two workspaces never share one provider key.
    key_suffix = models.CharField(max_length=24, db_default="")
    report_id = models.CharField(_("report ID"), max_length=200, db_collation="C")
    type = models.CharField(_("type"), max_length=64)
    channel = models.CharField(_("channel"), max_length=32)
    workspace = models.CharField(_("workspace"), max_length=64, db_default="", blank=True)
    account = models.ForeignKey(
        "notifications.ProviderAccount",
        models.PROTECT,
        verbose_name=_("account"),
        db_index=False,
        # No constraint: each enqueue would lock the one account row that all share. Intake writes only what it read.
        db_constraint=False,
        related_name="+",
    )
    # Priority class (0 urgent, 1 normal, 2 bulk) × 16 + hash(workspace) mod 16: nobody's burst starves another.
    lane = models.SmallIntegerField()
    state = models.CharField(_("state"), max_length=16, db_default=State.PENDING.value)
    delivery_status = models.CharField(_("delivery status"), max_length=16, db_default=DeliveryStatus.NONE.value)
    known = models.CharField(_("known"), max_length=20, null=True, blank=True)
    error_code = models.CharField(_("error code"), max_length=100, null=True, blank=True)
    next_action = models.CharField(_("next action"), max_length=20, null=True, blank=True)
    # Due time in pending and retry; the lease's end while sending: one column drives ladder, lease and reclaim.
    next_attempt_at = models.DateTimeField(_("next attempt"), null=True, blank=True)
    confirm_at = models.DateTimeField(null=True, blank=True)
    first_ambiguous_at = models.DateTimeField(null=True, blank=True)
    safe_until = models.DateTimeField(_("safe until"), null=True, blank=True)
    review_since = models.DateTimeField(_("in review since"), null=True, blank=True)
    snoozed_until = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    attempt_count = models.IntegerField(_("attempts"), db_default=0)
    failure_count = models.SmallIntegerField(db_default=0)
    failure_limit = models.SmallIntegerField(db_default=3)
    in_flight_count = models.SmallIntegerField(db_default=0)
    generation = models.SmallIntegerField(db_default=1)
    # Set by a person's retry, cleared by the claim that uses it up: the attempt is then marked manual.
    manual = models.BooleanField(db_default=False)
    fence = models.IntegerField(db_default=0)
    leased_by = models.CharField(max_length=120, null=True, blank=True)
    provider_message_id = models.CharField(max_length=255, null=True, blank=True)
    supersedes = models.ForeignKey(
        "self", models.DO_NOTHING, null=True, blank=True, db_index=False, db_constraint=False, related_name="+"
    )
    seq = models.IntegerField(db_default=0)
    head = models.BinaryField()
    month = models.DateField()
    actor = models.CharField(max_length=200, null=True, blank=True)
    created_at = models.DateTimeField(_("created"), db_default=TransactionNow())
    created_by = models.CharField(max_length=200, db_default="")

    class Meta:
        verbose_name = _("intent")
        verbose_name_plural = _("intents")
        indexes = [
            # Claim: the due rows of one account and lane, oldest first. Never led by state (360 ms at 1 M rows).
            models.Index(
                fields=["account", "lane", "next_attempt_at", "id"],
                name="intent_due",
                condition=Q(next_attempt_at__isnull=False),
            ),
            # Confirm: accepted long ago and never confirmed.
            models.Index(fields=["confirm_at"], name="intent_confirm", condition=Q(confirm_at__isnull=False)),
            # Receipts and search: which intent has this provider message id?
            models.Index(
                fields=["provider_message_id"],
                name="intent_provider_id",
                condition=Q(provider_message_id__isnull=False),
            ),
            # The chores: what was set aside until now.
            models.Index(fields=["snoozed_until"], name="intent_snoozed", condition=Q(snoozed_until__isnull=False)),
        ]
        # PostgreSQL reads every CHECK anew for each statement (about 10 µs each): few, and each one idea.
        constraints = [
            models.CheckConstraint(
                name="intent_words_known",
                condition=Q(state__in=[state.value for state in State])
                & Q(delivery_status__in=[status.value for status in DeliveryStatus]),
            ),
            models.CheckConstraint(
                name="intent_leased_iff_sending",
                condition=Q(state="sending", leased_by__isnull=False)
                | (~Q(state="sending") & Q(leased_by__isnull=True)),
            ),
            models.CheckConstraint(
                name="intent_scheduled_iff_moving",
                condition=Q(state__in=["pending", "retry", "sending"], next_attempt_at__isnull=False)
                | Q(state__in=["accepted", "needs_review", "closed", "cancelled"], next_attempt_at__isnull=True),
            ),
            models.CheckConstraint(
                name="intent_review_says_why",
                condition=~Q(state="needs_review")
                | Q(
                    error_code__isnull=False,
                    next_action__in=[action.value for action in NextAction],
                    known__in=[known.value for known in Known],
                    review_since__isnull=False,
                ),
            ),
            models.CheckConstraint(
                name="intent_accepted_has_id",
                condition=Q(state="accepted", provider_message_id__gt="")
                | (~Q(state="accepted") & Q(confirm_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="intent_counts",
                condition=Q(
                    failure_count__range=(0, F("failure_limit")), in_flight_count__range=(0, 10), lane__range=(0, 47)
                ),
            ),
        ]

    def __str__(self) -> str:
        return self.notification_id

    @property
    def is_corrected(self) -> bool:
        """Whether it goes to a corrected address, in the place of the notification that it supersedes."""
        return "~a" in self.notification_id

    @property
    def may_be_out(self) -> bool:
        """Whether a message of it may have been accepted, by the words in which a cancellation says so."""
        return bool(self.first_ambiguous_at or self.provider_message_id or self.known == Known.CONFLICT)

    @property
    def provider_key(self) -> str:
        """Give what the provider gets as idempotency key."""
        return provider_key(self.notification_id, self.key_suffix, self.generation)


def provider_key(notification_id: str, key_suffix: str, generation: int) -> str:
    """Give the provider's key: the id itself for generation 1, `…~g2` for the second. `~` is outside callers' ids."""
    tail = f"~g{generation}" if generation > 1 else ""
    return f"{notification_id}{key_suffix}{tail}"
