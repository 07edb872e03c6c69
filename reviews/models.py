"""What people decided, and what they wrote down. Both tables only grow; the database refuses anything else."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

VERBS = ("retry", "undo", "query", "adopt", "approve", "close", "reopen", "note")
OUTCOMES = ("done", "refused")


class Review(models.Model):
    """One decision of a person about one intent, or one that was refused.

    `before` and `after` are the database's state at that moment, never the page's. `actor` is `user:<username>` or
    `cli:<user>@<host>`. A refused row has no token, so that the same form can be sent again.
    """

    intent = models.ForeignKey(
        "notifications.Intent", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="reviews"
    )
    action = models.CharField(_("action"), max_length=12)
    actor = models.CharField(_("by"), max_length=200)
    # Protected: who decided must stay known, so people are deactivated and not deleted.
    user = models.ForeignKey("auth.User", models.PROTECT, null=True, blank=True, related_name="+")
    at = models.DateTimeField(_("at"), db_default=Now())
    outcome = models.CharField(_("outcome"), max_length=8)
    refusal = models.CharField(_("refusal"), max_length=40, db_default="", default="", blank=True)
    action_token = models.UUIDField(null=True, blank=True)
    seq_seen = models.IntegerField(null=True)
    seq_after = models.IntegerField(null=True)
    reason_code = models.CharField(_("reason code"), max_length=40, db_default="", default="", blank=True)
    reason = models.CharField(_("reason"), max_length=500, db_default="", default="", blank=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)

    class Meta:
        verbose_name = _("review")
        verbose_name_plural = _("reviews")
        default_permissions = ("view",)
        permissions = [
            ("view_case", "Can see the queue and its cases"),
            ("retry_intent", "Can retry a case"),
            ("undo_intent", "Can take back an own retry"),
            ("query_intent", "Can ask the provider about a case"),
            ("adopt_intent", "Can adopt a provider's answer"),
            ("close_intent", "Can close a case"),
            ("note_intent", "Can write a note"),
            ("reopen_intent", "Can reopen a closed case"),
            ("approve_intent", "Can approve what waits for approval"),
        ]
        indexes = [
            # The case page: the decisions about one intent, in order.
            models.Index(fields=["intent", "id"], name="review_of_intent"),
            # The empty queue: when was the last decision made?
            models.Index(fields=["-at"], name="review_latest", condition=Q(outcome="done")),
        ]
        constraints = [
            # One form, one decision: the second submit of a double click finds its token taken.
            models.UniqueConstraint(fields=["action_token"], name="review_token_once"),
            models.CheckConstraint(name="review_action_known", condition=Q(action__in=VERBS)),
            models.CheckConstraint(
                name="review_token_iff_done",
                condition=Q(outcome="done", action_token__isnull=False, refusal="")
                | (Q(outcome="refused", action_token__isnull=True) & ~Q(refusal="")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.outcome} by {self.actor}"


class Note(models.Model):
    """A remark on a case; moves nothing, and stays for ever."""

    intent = models.ForeignKey(
        "notifications.Intent", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="notes"
    )
    actor = models.CharField(_("by"), max_length=200)
    user = models.ForeignKey("auth.User", models.PROTECT, null=True, blank=True, related_name="+")
    at = models.DateTimeField(_("at"), db_default=Now())
    text = models.CharField(_("text"), max_length=500)
    action_token = models.UUIDField()

    class Meta:
        verbose_name = _("note")
        verbose_name_plural = _("notes")
        default_permissions = ("view",)
        indexes = [
            # The case page: the notes on one intent, in order.
            models.Index(fields=["intent", "id"], name="note_of_intent"),
        ]
        constraints = [models.UniqueConstraint(fields=["action_token"], name="note_token_once")]

    def __str__(self) -> str:
        return f"note by {self.actor}"
