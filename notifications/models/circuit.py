"""Whether an account may be called now; shared by all hosts."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class Circuit(models.Model):
    """One row per account that was ever refused. An open circuit costs no intent an attempt."""

    account = models.OneToOneField(
        "notifications.ProviderAccount", models.CASCADE, primary_key=True, related_name="circuit"
    )
    # The provider asked for a pause (429): nobody calls before this time.
    wait_until = models.DateTimeField(null=True)
    # Open: nobody calls before this time; `infinity` until a person closes it.
    open_until = models.DateTimeField(null=True)
    reason = models.CharField(max_length=40, null=True)
    code = models.CharField(max_length=100, null=True)
    config_failures = models.SmallIntegerField(db_default=0)
    changed_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("circuit")

    def __str__(self) -> str:
        return f"circuit of account {self.account_id}"
