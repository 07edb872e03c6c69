"""What the provider is to be asked, and when again: a queue for the chores, which a person may push."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class Question(models.Model):
    """One intent that the provider is, or was, asked about. The answers stand in the log, as evidence."""

    intent = models.OneToOneField(
        "notifications.Intent", models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="question"
    )
    account = models.ForeignKey(
        "notifications.ProviderAccount", models.PROTECT, db_index=False, db_constraint=False, related_name="+"
    )
    # Why it is asked: `review` (since it stopped), `confirm` (since its receipt is missing), `person`,
    # `restore` (the database is older than what was sent from it).
    about = models.CharField(max_length=8)
    since = models.DateTimeField()
    # NULL: not asked again by itself.
    due_at = models.DateTimeField(null=True)
    asked_count = models.SmallIntegerField(db_default=0, default=0)
    asked_at = models.DateTimeField(null=True)
    wanted_by = models.CharField(max_length=200, null=True)
    wanted_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("question")
        indexes = [
            # The chores: what is due.
            models.Index(fields=["due_at"], name="question_due", condition=Q(due_at__isnull=False)),
            # The chores, every second: does a person wait for an answer?
            models.Index(fields=["wanted_at"], name="question_wanted", condition=Q(wanted_at__isnull=False)),
            # The chores: up to where the review queue was searched for new questions.
            models.Index(fields=["-since"], name="question_since", condition=Q(about="review")),
        ]
        constraints = [
            models.CheckConstraint(
                name="question_about", condition=Q(about__in=["review", "confirm", "person", "restore"])
            ),
        ]

    def __str__(self) -> str:
        return f"question about {self.intent_id}"
