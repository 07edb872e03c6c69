"""Provider accounts and the insert-only record of who changed them and why."""

from __future__ import annotations

from django.contrib.postgres.functions import TransactionNow
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

# Where a secret is found; never the secret itself.
REFERENCE = r"env:[A-Z][A-Z0-9_]*"
# Below a tenth of a call a second nobody could tell a slow account from one that stands still.
SLOWEST_PER_S = 0.1
FASTEST_PER_S = 10_000.0
# A day is the longest that a daily quota keeps an account from being called.
LONGEST_FALLBACK_S = 86_400.0


class ProviderAccount(models.Model):
    """One account at one provider. Secrets are references (`env:NAME`), never values."""

    name = models.CharField(_("name"), max_length=64, help_text=_("Short name, used in addresses and metrics."))
    kind = models.CharField(_("kind"), max_length=32, help_text=_("Which adapter speaks to it, for example “resend”."))
    channel = models.CharField(_("channel"), max_length=32)
    base_url = models.CharField(
        _("base URL"),
        max_length=500,
        blank=True,
        db_default="",
        help_text=_("Empty: the address set in the environment of the workers."),
    )
    sender = models.CharField(
        _("sender"), max_length=320, help_text=_("What recipients see: a name, then the address in angle brackets.")
    )
    api_key_ref = models.CharField(
        _("API key reference"), max_length=200, help_text=_("“env:NAME”: where workers find the secret.")
    )
    # Parted by commas. Two while a secret is being rotated; each variable may itself hold several.
    webhook_secret_refs = models.CharField(
        _("webhook secret references"),
        max_length=500,
        blank=True,
        db_default="",
        default="",
        help_text=_("“env:NAME”, two parted by a comma while a secret is rotated: where the web processes find them."),
    )
    lookup_key_ref = models.CharField(
        _("look-up key reference"),
        max_length=200,
        blank=True,
        db_default="",
        default="",
        help_text=_("“env:NAME”: a key with full access, to ask about messages. Empty: it is never asked."),
    )
    timeout_s = models.FloatField(
        _("deadline in seconds"), null=True, blank=True, help_text=_("Empty: the installation's default.")
    )
    rate_per_s = models.FloatField(
        _("calls per second"),
        null=True,
        blank=True,
        validators=[MinValueValidator(SLOWEST_PER_S), MaxValueValidator(FASTEST_PER_S)],
        help_text=_("Empty: as fast as the provider's headers allow. 0.1 to 10,000; never more than they allow."),
    )
    # Of a kind that pushes: what pages subscribe with; its private half is what `api_key_ref` names.
    vapid_public_key = models.CharField(
        _("public key for pages"), max_length=87, blank=True, db_default="", default="", editable=False
    )
    declares_receipts = models.BooleanField(_("sends receipts"), db_default=True, default=True)
    enabled = models.BooleanField(_("enabled"), db_default=True, default=True)
    fallback = models.ForeignKey(
        "self",
        models.PROTECT,
        verbose_name=_("fallback account"),
        null=True,
        blank=True,
        db_index=False,  # a handful of rows
        related_name="falls_back",
        help_text=_("Takes over what is proven not to have left, while this account is not called. Same channel."),
    )
    fallback_after_s = models.FloatField(
        _("seconds until the fallback takes over"),
        db_default=300.0,
        default=300.0,
        validators=[MinValueValidator(0.0), MaxValueValidator(LONGEST_FALLBACK_S)],
        help_text=_("So long the account's circuit has been open. 0 to 86,400."),
    )
    revision = models.IntegerField(_("revision"), db_default=1, default=1, editable=False)

    class Meta:
        verbose_name = _("provider account")
        verbose_name_plural = _("provider accounts")
        constraints = [
            models.UniqueConstraint(fields=["name"], name="provideraccount_name"),
            models.CheckConstraint(
                name="provideraccount_key_is_reference", condition=Q(api_key_ref__startswith="env:") | Q(api_key_ref="")
            ),
            models.CheckConstraint(
                name="provideraccount_secrets_are_references",
                condition=Q(webhook_secret_refs__regex=rf"^({REFERENCE}(,{REFERENCE})*)?$"),
            ),
            models.CheckConstraint(
                name="provideraccount_lookup_key_is_reference",
                condition=Q(lookup_key_ref__startswith="env:") | Q(lookup_key_ref=""),
            ),
            models.CheckConstraint(
                name="provideraccount_vapid_key_is_public",
                condition=Q(vapid_public_key__regex=r"^(B[A-Za-z0-9_-]{86})?$"),
            ),
            models.CheckConstraint(
                name="provideraccount_rate_is_sane",
                condition=Q(rate_per_s__isnull=True) | Q(rate_per_s__gte=SLOWEST_PER_S, rate_per_s__lte=FASTEST_PER_S),
            ),
            models.CheckConstraint(
                name="provideraccount_fallback_is_sane",
                condition=(Q(fallback__isnull=True) | ~Q(fallback=models.F("id")))
                & Q(fallback_after_s__gte=0.0, fallback_after_s__lte=LONGEST_FALLBACK_S),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class ConfigRevision(models.Model):
    """One change of configuration: before, after, who, why. Insert-only."""

    account = models.ForeignKey(ProviderAccount, models.PROTECT, related_name="revisions")
    revision = models.IntegerField()
    at = models.DateTimeField(db_default=TransactionNow())
    actor = models.CharField(max_length=200)
    reason = models.CharField(max_length=500)
    before = models.JSONField(null=True)
    after = models.JSONField()

    class Meta:
        verbose_name = _("configuration revision")
        verbose_name_plural = _("configuration revisions")
        constraints = [models.UniqueConstraint(fields=["account", "revision"], name="configrevision_once")]

    def __str__(self) -> str:
        return f"{self.account_id} r{self.revision}"
