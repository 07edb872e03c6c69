"""Which site this database belongs to, and where it stood when somebody said so."""

from __future__ import annotations

from django.contrib.postgres.functions import TransactionNow
from django.db import models
from django.utils.translation import gettext_lazy as _


class SiteAdoption(models.Model):
    """A site took this database as its own. The newest row counts; insert-only.

    The server's identity, its timeline and the database's number are those of that moment: a copy has another server
    or number, a restored or promoted one another timeline.
    """

    site = models.CharField(max_length=64)
    system_identifier = models.BigIntegerField()
    timeline = models.BigIntegerField()
    database = models.BigIntegerField()
    at = models.DateTimeField(db_default=TransactionNow())
    actor = models.CharField(max_length=200)
    reason = models.CharField(max_length=500)

    class Meta:
        verbose_name = _("site adoption")

    def __str__(self) -> str:
        return self.site
