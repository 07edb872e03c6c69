"""Long work and its checkpoints: where it stands, and what became of its items."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

STATES = ("running", "paused", "interrupted", "failed", "cancelled", "done")
# A run in one of these goes on where it stood when its work is started again.
UNFINISHED = ("running", "paused", "interrupted", "failed")
WISHES = ("", "pause", "cancel")


class Run(models.Model):
    """One piece of long work. `kind` and `key` say what it is: there is at most one unfinished run of them.

    `checkpoint` is what the work needs to go on behind its last step; it holds places and numbers, never content.
    `epoch` counts the starts: a step of an older start is refused. `step_done_count`: what the step that runs now has
    done, of which nothing is committed yet.
    """

    kind = models.CharField(_("kind"), max_length=32)
    key = models.CharField(_("key"), max_length=200)
    title = models.CharField(_("title"), max_length=200)
    started_by = models.CharField(_("started by"), max_length=200)
    state = models.CharField(_("state"), max_length=12, db_default="running", default="running")
    code = models.CharField(_("code"), max_length=60, db_default="", default="", blank=True)
    epoch = models.IntegerField(db_default=1, default=1)
    step_count = models.IntegerField(db_default=0, default=0)
    total_count = models.BigIntegerField(null=True)
    done_count = models.BigIntegerField(db_default=0, default=0)
    step_done_count = models.BigIntegerField(db_default=0, default=0)
    failed_count = models.BigIntegerField(db_default=0, default=0)
    tally = models.JSONField(default=dict)
    checkpoint = models.JSONField(default=dict)
    wish = models.CharField(max_length=8, db_default="", default="", blank=True)
    wished_by = models.CharField(max_length=200, db_default="", default="", blank=True)
    created_at = models.DateTimeField(_("created"), db_default=Now())
    beat_at = models.DateTimeField(_("last step"), db_default=Now())
    ended_at = models.DateTimeField(_("ended"), null=True)

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        default_permissions = ("view",)
        permissions = [("steer_run", "Can pause and cancel runs")]
        constraints = [
            # Two starts of the same work are one run: the second goes on with it, or is told that the first works.
            models.UniqueConstraint(
                fields=["kind", "key"], name="run_unfinished_once", condition=Q(state__in=UNFINISHED)
            ),
            models.CheckConstraint(name="run_state_known", condition=Q(state__in=STATES)),
            models.CheckConstraint(name="run_wish_known", condition=Q(wish__in=WISHES)),
            models.CheckConstraint(
                name="run_ended_iff_not_running",
                condition=Q(state="running", ended_at=None) | (~Q(state="running") & Q(ended_at__isnull=False)),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"


class RunItem(models.Model):
    """One item that could not be done: its place in the work, and the code that says why."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="items", db_index=False)
    place = models.BigIntegerField()
    code = models.CharField(max_length=60)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name = _("failed item")
        default_permissions = ("view",)
        # Also the page's list: a run's items by their place.
        constraints = [models.UniqueConstraint(fields=["run", "place"], name="runitem_once")]

    def __str__(self) -> str:
        return f"{self.run_id}/{self.place} {self.code}"
