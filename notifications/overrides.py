"""What a person may override of a type that the code declares: always with a reason, a revision, and never laxer.

The database's `override_type_v1` is the only writer, and has the last word.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.db import connection
from django.utils.translation import gettext_lazy as _

from notifications.models import NotificationTypeRow, TypeRevision
from notifications.policy.reasons import MAX_REASON, MIN_REASON, is_personal
from notifications.states import Approval

# A minute is the least that a provider's retry could use; a year the most that anybody waits for a message.
SHORTEST: Final = timedelta(minutes=1)
LONGEST: Final = timedelta(days=365)


def in_force(name: str) -> TypeRevision | None:
    """Give the newest revision of a type's overrides; None where nobody has overridden anything."""
    return TypeRevision.objects.filter(type_id=name).order_by("-revision").first()


def overridden(row: NotificationTypeRow) -> dict[str, tuple[Any, Any]]:
    """Give what counts now beside what the code declares, by name."""
    said = row.declared
    expires_s = said.get("expires_s")
    return {
        "enabled": (row.enabled, bool(said.get("enabled"))),
        "approval": (row.approval, said.get("approval", row.approval)),
        "expires_after": (row.expires_after, None if expires_s is None else timedelta(seconds=expires_s)),
    }


class OverrideForm(forms.ModelForm):  # type: ignore[type-arg]  # Django has no such brackets at run time
    """What is overridden of one type, and why. `seen` is the revision that the page showed."""

    is_off = forms.BooleanField(
        label=_("Refuse new ones"),
        required=False,
        help_text=_(
            "Callers get the error NO404, which aborts their transaction unless they catch it. To hold back what is "
            "owed, pause the type in the console instead: that refuses nobody."
        ),
    )
    needs_approval = forms.BooleanField(
        label=_("Every new one waits for a person's approval"),
        required=False,
        help_text=_("What the code declares so stays so. What is owed already is not held by this."),
    )
    expires_after = forms.DurationField(
        label=_("New ones are wanted no longer than"),
        required=False,
        help_text=_(
            "Days and hours:minutes:seconds, such as 2 00:00:00; one minute to 365 days. Empty: as the code declares. "
            "A caller who names an expiry of its own is not affected."
        ),
    )
    reason = forms.CharField(
        label=_("Reason for this change"),
        min_length=MIN_REASON,
        max_length=MAX_REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("10 to 500 characters, kept for ever; people by ID, no addresses or phone numbers."),
    )
    seen = forms.IntegerField(widget=forms.HiddenInput)

    class Meta:
        model = NotificationTypeRow
        fields = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        newest = in_force(self.instance.pk)
        after = newest.after if newest else {}
        self.fields["seen"].initial = newest.revision if newest else 0
        self.fields["is_off"].initial = after.get("enabled") is False
        self.fields["needs_approval"].initial = after.get("approval") == Approval.REQUIRED
        if "expires_s" in after:
            self.fields["expires_after"].initial = timedelta(seconds=after["expires_s"])

    def _post_clean(self) -> None:
        """Leave the row as it is: the database's function writes it."""

    def clean_reason(self) -> str:
        """Refuse a reason that would keep an address for ever."""
        reason: str = self.cleaned_data["reason"].strip()
        if is_personal(reason):
            raise ValidationError(_("The reason holds an address or a phone number, and is kept: refer by ID."))
        return reason

    def clean_expires_after(self) -> timedelta | None:
        """Refuse what would end everything before its first retry, or nothing for years."""
        span: timedelta | None = self.cleaned_data["expires_after"]
        if span is not None and not SHORTEST <= span <= LONGEST:
            raise ValidationError(_("From one minute to 365 days."))
        return span

    def clean(self) -> dict[str, Any]:
        """Refuse to overwrite what somebody else changed meanwhile; the database looks once more, under its lock."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        newest = in_force(self.instance.pk)
        now = newest.revision if newest else 0
        if not self.errors and given["seen"] != now:
            raise ValidationError(
                _("Somebody changed this type meanwhile (now revision %(revision)s): reload the page."),
                params={"revision": now},
            )
        return given

    def wanted(self) -> dict[str, Any]:
        """Give the override as the database keeps it."""
        given, found = self.cleaned_data, dict[str, Any]()
        if given["is_off"]:
            found["enabled"] = False
        if given["needs_approval"]:
            found["approval"] = Approval.REQUIRED.value
        if given["expires_after"] is not None:
            found["expires_s"] = given["expires_after"].total_seconds()
        return found

    def save_as(self, actor: str) -> bool:
        """Write the override and its revision in the caller's transaction; False where somebody was faster."""
        given = self.cleaned_data
        values = [self.instance.pk, given["seen"], json.dumps(self.wanted()), actor[:200], given["reason"]]
        with connection.cursor() as cursor:
            cursor.execute("SELECT notifyops_private.override_type_v1(%s, %s, %s, %s, %s)", values)
            return cursor.fetchone()[0] is not None
