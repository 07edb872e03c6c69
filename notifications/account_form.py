"""Changing a provider account: always with a reason, always with a revision that says what was before and after."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import connection
from django.forms.models import model_to_dict
from django.utils.translation import gettext_lazy as _

from notifications.models import ConfigRevision, ProviderAccount
from notifications.models.provider import REFERENCE
from notifications.policy.reasons import MAX_REASON, MIN_REASON, is_personal
from notifications.providers.kinds import kinds


class AccountForm(forms.ModelForm):  # type: ignore[type-arg]  # Django has no such brackets at run time
    """One account and the reason for the change. `seen` is the revision that the page showed."""

    reason = forms.CharField(
        label=_("Reason for this change"),
        min_length=MIN_REASON,
        max_length=MAX_REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("10 to 500 characters, kept for ever; people by ID, no addresses or phone numbers."),
    )
    seen = forms.IntegerField(required=False, widget=forms.HiddenInput)

    class Meta:
        model = ProviderAccount
        fields = (
            *("name", "kind", "channel", "base_url", "sender", "api_key_ref", "lookup_key_ref", "webhook_secret_refs"),
            *("timeout_s", "rate_per_s"),
            *("declares_receipts", "enabled"),
            *("fallback", "fallback_after_s"),
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["api_key_ref"].required = False  # of some kinds: see clean_api_key_ref
        self.fields["fallback_after_s"].required = False  # as it was: see clean_fallback_after_s
        self.fields["seen"].initial = self.instance.revision if self.instance.pk else 0
        self.before = self._state(self.instance) if self.instance.pk else None

    def clean_reason(self) -> str:
        """Refuse a reason that would keep an address for ever."""
        reason: str = self.cleaned_data["reason"].strip()
        if is_personal(reason):
            raise ValidationError(_("The reason holds an address or a phone number, and is kept: refer by ID."))
        return reason

    def clean_api_key_ref(self) -> str:
        """Refuse the secret itself where its name belongs; an empty one is for kinds that can do without."""
        kind = kinds().get(self.cleaned_data.get("kind", ""))
        if not self.cleaned_data["api_key_ref"] and kind is not None and not kind.needs_secret:
            return ""
        return self._reference("api_key_ref")

    def clean_lookup_key_ref(self) -> str:
        """Refuse the secret itself; an empty one means that the provider is never asked."""
        return self._reference("lookup_key_ref") if self.cleaned_data["lookup_key_ref"] else ""

    def _reference(self, name: str) -> str:
        reference: str = self.cleaned_data[name]
        if not re.fullmatch(REFERENCE, reference):
            raise ValidationError(
                _("Name a variable of the workers, like env:NOTIFYOPS_RESEND_API_KEY; never the key itself.")
            )
        return reference

    def clean_webhook_secret_refs(self) -> str:
        """Give the references parted by plain commas; refuse a secret where its name belongs."""
        given: str = self.cleaned_data["webhook_secret_refs"]
        references = [part for part in re.split(r"[,\s]+", given) if part]
        if not all(re.fullmatch(REFERENCE, reference) for reference in references):
            raise ValidationError(
                _(
                    "Name variables of the web processes, like env:NOTIFYOPS_RESEND_WEBHOOK_SECRETS, parted by commas; "
                    "never a secret itself."
                )
            )
        return ",".join(dict.fromkeys(references))

    def clean_fallback_after_s(self) -> float:
        """Keep what stands where nothing was said."""
        said: float | None = self.cleaned_data["fallback_after_s"]
        return self.instance.fallback_after_s if said is None else said

    def clean(self) -> dict[str, Any]:
        """Refuse a fallback that could not send it, or from which it would come back."""
        said: dict[str, Any] = super().clean() or self.cleaned_data
        channel, one = said.get("channel"), said.get("fallback")
        if one is not None and one.channel != channel:
            self.add_error("fallback", _("The fallback must be an account of the same channel."))
        elif self.instance.pk and self.instance.falls_back.exclude(channel=channel).exists():
            self.add_error("channel", _("It is the fallback of an account of another channel."))
        met = set[int]()
        while one is not None and one.pk not in met:
            met.add(one.pk)
            if one.pk == self.instance.pk:
                self.add_error("fallback", _("An account cannot take over from itself, by whichever way round."))
                break
            one = one.fallback
        return said

    def clean_seen(self) -> int | None:
        """Refuse to overwrite what somebody else changed meanwhile; the row stays locked until the end."""
        seen: int | None = self.cleaned_data["seen"]
        if self.instance.pk:
            current = ProviderAccount.objects.select_for_update().get(pk=self.instance.pk)
            if seen != current.revision:
                raise ValidationError(
                    _("Somebody changed this account meanwhile (now revision %(revision)s): reload the page."),
                    params={"revision": current.revision},
                )
        return seen

    def save_with_revision(self, actor: str) -> None:
        """Write account and revision, and let the account be called again; the caller has opened the transaction.

        An open circuit judged the old configuration; where nothing got better, the next answer opens it again.
        """
        account = self.instance
        if self.before is not None:
            account.revision += 1
        account.save()
        ConfigRevision.objects.create(
            account=account,
            revision=account.revision,
            actor=actor[:200],
            reason=self.cleaned_data["reason"],
            before=self.before,
            after=self._state(account),
        )
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM notifyops_private.close_circuit_v1(%s)", [account.pk])

    @classmethod
    def _state(cls, account: ProviderAccount) -> dict[str, Any]:
        return model_to_dict(account, fields=list(cls.Meta.fields))
