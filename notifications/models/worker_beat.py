"""Who is working: written by the loop after a successful claim, judged by the watchdog."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class WorkerBeat(models.Model):
    """One row per loop or chores slot that ran lately; `worker` is unique per start of a process."""

    worker = models.CharField(max_length=120, primary_key=True)
    host = models.CharField(max_length=120)
    role = models.CharField(max_length=16)
    slot = models.SmallIntegerField()
    started_at = models.DateTimeField()
    # Set when its task ends; a worker that was killed shows it by silence.
    ended_at = models.DateTimeField(null=True)
    beat_at = models.DateTimeField()
    claimed_at = models.DateTimeField(null=True)
    # False where the site's mode keeps the loop from sending: what is due then waits as it should.
    sends = models.BooleanField(db_default=True)

    class Meta:
        verbose_name = _("worker beat")

    def __str__(self) -> str:
        return self.worker
