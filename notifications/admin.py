"""Django's admin: intents and log to look at, accounts to edit with a recorded reason. The console decides.

The queue of background tasks is left out: its tables are a nudge for the workers, and editing them harms.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.exceptions import NotRegistered
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

# Imported first, so that what it registers can be taken out again.
from django_q import admin as django_q_admin

from notifications.account_form import AccountForm
from notifications.models import ConfigRevision, Intent, IntentKey, LogEntry, Pause, ProviderAccount
from notifications.models.read_only_admin import ReadOnlyAdmin
from notifications.token_admin import ApiTokenAdmin
from notifications.type_admin import TypeAdmin, TypeRevisionAdmin

__all__ = [
    "ApiTokenAdmin",
    "ConfigRevisionAdmin",
    "IntentAdmin",
    "LogEntryAdmin",
    "ProviderAccountAdmin",
    "TypeAdmin",
    "TypeRevisionAdmin",
]

for _model in (
    django_q_admin.Schedule,
    django_q_admin.Success,
    django_q_admin.Failure,
    django_q_admin.OrmQ,
):
    try:
        admin.site.unregister(_model)
    except NotRegistered:  # the ORM broker's queue is registered only where it is used
        continue


def _named(key: str) -> list[int]:
    """Give the intents of that notification id, one in each workspace."""
    return list(IntentKey.objects.filter(key=key.strip()).values_list("intent_id", flat=True)[:100])


@admin.register(Intent)
class IntentAdmin(ReadOnlyAdmin):
    """The newest intents, and any by its notification id. The console searches by more."""

    search_fields = ("notification_id",)

    list_display = (
        "notification_id",
        "workspace",
        "type",
        "state",
        "error_code",
        "attempt_count",
        "created_at",
        "case",
    )
    list_display_links = ("notification_id",)
    fields = (
        *("case", "notification_id", "report_id", "type", "channel", "workspace", "account", "state"),
        *("delivery_status", "known", "error_code", "next_action", "next_attempt_at", "safe_until", "review_since"),
        *("attempt_count", "generation", "provider_message_id", "expires_at", "created_at", "created_by", "seq"),
    )
    readonly_fields = ("case",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Intent], search_term: str
    ) -> tuple[QuerySet[Intent], bool]:
        """Look the id up by its index: a search by parts would read every row."""
        return (queryset.filter(pk__in=_named(search_term)) if search_term.strip() else queryset), False

    @admin.display(description=_("in the console"))
    def case(self, intent: Intent) -> SafeString:
        """Link the case, where decisions are made."""
        return format_html('<a href="{}">{}</a>', reverse("reviews:case", args=[intent.pk]), _("open case"))


@admin.register(LogEntry)
class LogEntryAdmin(ReadOnlyAdmin):
    """The newest entries of the log, and all of any one notification."""

    search_fields = ("intent__notification_id",)

    list_display = ("id", "at", "case", "seq", "kind", "from_state", "to_state", "attempt", "outcome", "code", "actor")
    fields = (
        *("case", "seq", "at", "kind", "from_state", "to_state", "attempt", "generation", "trigger", "fence", "worker"),
        *("outcome", "code", "phase", "http_status", "duration_ms", "provider_message_id", "actor", "reason_code"),
    )
    readonly_fields = ("case",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[LogEntry], search_term: str
    ) -> tuple[QuerySet[LogEntry], bool]:
        """Look the id up by its index: a search by parts would read every row."""
        return (queryset.filter(intent_id__in=_named(search_term)) if search_term.strip() else queryset), False

    @admin.display(description=_("case"))
    def case(self, entry: LogEntry) -> SafeString:
        """Link the case that the entry belongs to."""
        return format_html('<a href="{}">#{}</a>', reverse("reviews:case", args=[entry.intent_id]), entry.intent_id)


@admin.register(ConfigRevision)
class ConfigRevisionAdmin(ReadOnlyAdmin):
    """Who changed which account, and why."""

    list_display = ("account", "revision", "at", "actor", "reason")
    fields = ("account", "revision", "at", "actor", "reason", "before", "after")


@admin.register(Pause)
class PauseAdmin(ReadOnlyAdmin):
    """Who paused what, until when, and who let it go on. The console makes and ends them."""

    list_display = ("id", "scope", "name", "reason_code", "actor", "began_at", "ends_at", "resumed_at", "resumed_by")
    fields = (
        *("scope", "name", "account", "reason_code", "reason", "actor", "began_at", "ends_at"),
        *("resumed_at", "resumed_by", "resume_reason"),
    )


@admin.register(ProviderAccount)
class ProviderAccountAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Accounts are added and changed with a reason, and disabled, never deleted: the log refers to them."""

    form = AccountForm
    list_display = ("name", "kind", "channel", "enabled", "declares_receipts", "revision")
    actions = None

    def get_fieldsets(self, request: HttpRequest, obj: ProviderAccount | None = None) -> Any:
        """Put the reason last, where the change is known."""
        names = [name for name in AccountForm.base_fields if name != "reason"]
        return [(None, {"fields": names}), (_("Why"), {"fields": ["reason"]})]

    def has_delete_permission(self, request: HttpRequest, obj: ProviderAccount | None = None) -> bool:
        """Refuse."""
        return False

    def save_model(
        self, request: HttpRequest, obj: ProviderAccount, form: forms.ModelForm[ProviderAccount], change: bool
    ) -> None:
        """Write the account and its revision; the admin's view has opened the transaction for both."""
        assert isinstance(form, AccountForm)
        form.save_with_revision(f"user:{request.user.get_username()}")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ProviderAccount]:
        """Give every account, by name."""
        return super().get_queryset(request).order_by("name")
