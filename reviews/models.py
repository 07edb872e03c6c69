"""What people decided, and what they wrote down. Both tables only grow; the database refuses anything else."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from reviews.bulk import models as _bulk  # noqa: F401 (Django reads an app's models from here)
from reviews.signin.models import AccessRecord  # noqa: F401 (Django looks for an app's models here)

VERBS = (
    *("retry", "undo", "query", "adopt", "approve", "decline", "correct", "resend", "resume"),
    *("close", "wait", "withdraw", "reopen", "note", "unblock"),
    *("take", "release", "take_over"),
)
# They say who looks after a case, and move nothing.
HOLDING = ("take", "release", "take_over")
# What an operator may do; the rest is a lead's.
OPERATOR_VERBS = ("retry", "undo", "query", "close", "note", "wait", "resume", "take", "release")
# What else a person may be allowed, beside deciding cases.
POWERS = ("view_case", "share_view", "drop_view", "export_log")
# What is done about a plan or a run as a whole, and so about no one case.
BULK_DEEDS = ("bulk_plan", "bulk_start", "bulk_pause", "bulk_resume", "bulk_cancel")
OUTCOMES = ("done", "refused")
REQUEST_OUTCOMES = ("confirmed", "declined", "withdrawn", "expired")


class Review(models.Model):
    """One decision of a person about one intent, or about a run of many (`bulk`, no intent), or one that was refused.

    `before` and `after` are the database's state at that moment, never the page's. `actor` is `user:<username>` or
    `cli:<user>@<host>`. A refused row has no token, so that the same form can be sent again.
    """

    intent = models.ForeignKey(
        "notifications.Intent",
        models.DO_NOTHING,
        null=True,
        blank=True,
        db_constraint=False,
        db_index=False,
        related_name="reviews",
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
    # Carried out as one of many, by a worker that the order names; or what was said about the run itself.
    bulk = models.ForeignKey("reviews.BulkRun", models.PROTECT, null=True, blank=True, related_name="+", db_index=False)

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
            ("decline_intent", "Can decline what waits for approval"),
            ("correct_intent", "Can correct an address"),
            ("resend_intent", "Can ask for a resend that may be a second message"),
            ("wait_intent", "Can set a case aside"),
            ("resume_intent", "Can take up again what was set aside"),
            ("withdraw_intent", "Can withdraw a notification, and erase its content"),
            ("unblock_intent", "Can lift the block of an address"),
        ]
        indexes = [
            # The case page: the decisions about one intent, in order.
            models.Index(fields=["intent", "id"], name="review_of_intent"),
            # The empty queue: when was the last decision made?
            models.Index(fields=["-at"], name="review_latest", condition=Q(outcome="done")),
            # /reviews/log/ and its export: all of it, one person's, one verb's; newest first, by keyset.
            models.Index(fields=["at", "id"], name="review_at"),
            models.Index(fields=["actor", "at", "id"], name="review_by"),
            models.Index(fields=["action", "at", "id"], name="review_action"),
            # The page of a plan or run: what was said about it.
            models.Index(fields=["bulk", "id"], name="review_of_run", condition=Q(intent__isnull=True)),
        ]
        constraints = [
            # One form, one decision: the second submit of a double click finds its token taken.
            models.UniqueConstraint(fields=["action_token"], name="review_token_once"),
            models.CheckConstraint(
                name="review_action_known",
                condition=Q(action__in=VERBS, intent__isnull=False) | Q(action__in=BULK_DEEDS, intent__isnull=True),
            ),
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
            # /reviews/log/ , where notes stand among the decisions.
            models.Index(fields=["at", "id"], name="note_at"),
        ]
        constraints = [models.UniqueConstraint(fields=["action_token"], name="note_token_once")]

    def __str__(self) -> str:
        return f"note by {self.actor}"


class ApprovalRequest(models.Model):
    """A resend that one lead asks for and a second one must confirm; the log has both as entries of its own.

    The queue's and the page's way to see at once what waits for a second person. `outcome` is empty while it is open;
    after `expires_at` it counts no more, whatever stands there.
    """

    intent = models.ForeignKey(
        "notifications.Intent", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="approval_requests"
    )
    asked_by = models.CharField(_("asked by"), max_length=200)
    asked_at = models.DateTimeField(_("asked"))
    expires_at = models.DateTimeField(_("open until"))
    outcome = models.CharField(_("outcome"), max_length=10, db_default="", default="", blank=True)
    decided_by = models.CharField(_("decided by"), max_length=200, db_default="", default="", blank=True)
    decided_at = models.DateTimeField(_("decided"), null=True)

    class Meta:
        verbose_name = _("approval request")
        verbose_name_plural = _("approval requests")
        default_permissions = ("view",)
        constraints = [
            # One open request a case; also the queue's and the case page's look-up.
            models.UniqueConstraint(fields=["intent"], condition=Q(outcome=""), name="approvalrequest_one_open"),
            models.CheckConstraint(
                name="approvalrequest_decided",
                condition=Q(outcome="", decided_at__isnull=True)
                | Q(outcome__in=REQUEST_OUTCOMES, decided_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"resend asked by {self.asked_by}"


class Hold(models.Model):
    """Who has taken a case, and until when; after that it is free, whatever stands here.

    One row for a case, written anew by each take and deleted with the release or the decision. `holder` is whose it
    is, by whichever way they came; `taken_by` the name under which it was taken. The record of it is `Review`.
    """

    intent_id = models.BigIntegerField(primary_key=True)
    holder = models.CharField(max_length=200)
    taken_by = models.CharField(max_length=200)
    taken_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        permissions = [
            ("take_intent", "Can take a case for a while"),
            ("release_intent", "Can give back an own case"),
            ("take_over_intent", "Can take over a case that somebody else has taken"),
        ]
        # The queue: the few that stand now, among all that have run out.
        indexes = [models.Index(fields=["expires_at"], name="hold_until")]

    def __str__(self) -> str:
        return f"{self.intent_id} taken by {self.taken_by}"


class Presence(models.Model):
    """Who has a case's page open, as its last beat said. Unlogged: it is worth nothing after a crash."""

    pk = models.CompositePrimaryKey("intent_id", "person")
    intent_id = models.BigIntegerField()
    person = models.CharField(max_length=200)
    seen_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        # Each beat: away with what has fallen silent.
        indexes = [models.Index(fields=["seen_at"], name="presence_seen")]

    def __str__(self) -> str:
        return f"{self.person} at {self.intent_id}"


class SavedView(models.Model):
    """A named query of the queue, of one person or shared with all."""

    name = models.CharField(_("name"), max_length=60)
    query = models.CharField(_("query"), max_length=1500)
    owner = models.CharField(_("owner"), max_length=200)
    is_shared = models.BooleanField(_("shared"), db_default=False, default=False)
    created_at = models.DateTimeField(_("created"), db_default=Now())

    class Meta:
        verbose_name = _("saved view")
        verbose_name_plural = _("saved views")
        default_permissions = ()
        permissions = [
            ("share_view", "Can share a saved view with everybody"),
            ("drop_view", "Can delete views that others share"),
            # What is exported is a view too: of the log of human actions.
            ("export_log", "Can export the log of human actions"),
        ]
        constraints = [
            # Also the queue's look-up of one's own.
            models.UniqueConstraint(fields=["owner", "name"], name="savedview_one_name"),
            models.UniqueConstraint(fields=["name"], condition=Q(is_shared=True), name="savedview_one_shared_name"),
        ]

    def __str__(self) -> str:
        return self.name
