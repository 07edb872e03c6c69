"""What keeps accounts from being called, shared by all hosts: circuits, and buckets of tokens."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class Circuit(models.Model):
    """One row per account that was ever refused or out of reach. An open circuit costs no intent an attempt."""

    account = models.OneToOneField(
        "notifications.ProviderAccount", models.CASCADE, primary_key=True, related_name="circuit"
    )
    # The provider asked for a pause (429): nobody calls before this time.
    wait_until = models.DateTimeField(null=True)
    # Open: nobody calls before this time; `infinity` until a person closes it.
    open_until = models.DateTimeField(null=True)
    # outage, config, daily_quota or monthly_quota.
    reason = models.CharField(max_length=40, null=True)
    code = models.CharField(max_length=100, null=True)
    # Since when it is open without having closed in between; kept by a trigger, whoever opens it (fail_over_v1.sql).
    opened_at = models.DateTimeField(null=True)
    config_failures = models.SmallIntegerField(db_default=0)
    # How often it opened for an outage without a success since: each time waits twice as long.
    openings = models.SmallIntegerField(db_default=0)
    # When it closed last.
    recovered_at = models.DateTimeField(null=True)
    changed_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("circuit")

    def __str__(self) -> str:
        return f"circuit of account {self.account_id}"


class RateBucket(models.Model):
    """How many calls an account may get now. Written only by the functions of sql/rates_v1.sql."""

    account = models.OneToOneField(
        "notifications.ProviderAccount", models.CASCADE, primary_key=True, related_name="bucket"
    )
    tokens = models.FloatField()
    filled_at = models.DateTimeField()
    # What the provider's own headers say: calls a second.
    learned_per_s = models.FloatField(null=True)
    learned_at = models.DateTimeField(null=True)
    # When the account's circuit closed: from there the rate doubles each second.
    ramp_since = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("rate bucket")
        constraints = [
            models.CheckConstraint(
                name="ratebucket_learned_rate", condition=Q(learned_per_s__isnull=True) | Q(learned_per_s__gt=0)
            )
        ]

    def __str__(self) -> str:
        return f"bucket of account {self.account_id}"
