"""Notification types in Django's admin: what is declared, what is overridden and why, and a preview of messages."""

from __future__ import annotations

import json
from typing import Any, Final

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.cache import add_never_cache_headers
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from notifications.models import NotificationTypeRow, TypeRevision
from notifications.models.read_only_admin import ReadOnlyAdmin
from notifications.outbox_errors import SchemaError
from notifications.outbox_json import holds_all, plain
from notifications.overrides import OverrideForm, overridden
from notifications.preview import Preview, preview, sample
from notifications.providers.base import Unsendable
from notifications.types import NotificationType, registry

# Room for a message's data; what is larger has its place in `notify preview`.
_MOST_DATA: Final = 20_000
_FACTS: Final = ("name", "channel", "loss_model", "template", "data", "counts_now")


class PreviewForm(forms.Form):
    """The made-up message to look at. Nothing of it is kept."""

    locale = forms.ChoiceField(label=_("Language"), required=False)
    report_id = forms.CharField(label=capfirst(_("report ID")), max_length=200, initial="demo-001")
    values = forms.CharField(
        label=_("Data, as JSON"),
        max_length=_MOST_DATA,
        widget=forms.Textarea(attrs={"rows": 8, "cols": 80, "spellcheck": "false"}),
        help_text=_("Made up: type nobody's name or address here. It is not kept."),
    )

    def __init__(self, kind: NotificationType, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind
        self.fields["locale"].choices = [("", _("as the code writes it")), *settings.LANGUAGES]  # type: ignore[attr-defined]
        self.fields["values"].initial = json.dumps(sample(kind), ensure_ascii=False, indent=2)

    def clean_values(self) -> dict[str, Any]:
        """Give the data. Refuses what is no JSON object of the type's schema."""
        try:
            found = plain(json.loads(self.cleaned_data["values"]), "data")
        except (ValueError, RecursionError, SchemaError):
            raise ValidationError(_("This is no JSON object.")) from None
        if not isinstance(found, dict):
            raise ValidationError(_("This is no JSON object."))
        wrong = self.kind.problems(found)
        if wrong:
            wants = ", ".join(f"{key}: {self.kind.fields()[key][0]}" for key in wrong)
            raise ValidationError(_("The data does not fit the type, which wants %(wants)s."), params={"wants": wants})
        return found

    def clean_report_id(self) -> str:
        """Refuse characters that no report's number could hold."""
        given: str = self.cleaned_data["report_id"]
        if not holds_all(given):
            raise ValidationError(_("It holds a character that cannot be kept."))
        return given

    def seen(self) -> Preview:
        """Render it. Raises Unsendable."""
        given = self.cleaned_data
        return preview(self.kind, given["values"], report_id=given["report_id"], locale=given["locale"] or None)


@admin.register(NotificationTypeRow)
class TypeAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Types are declared in code. Here they are overridden with a reason, and previewed."""

    form = OverrideForm
    list_display = ("name", "channel", "loss_model", "enabled", "approval", "expires_after", "look")
    ordering = ("name",)
    actions = None
    change_form_template = "admin/notifications/notificationtyperow/change.html"
    readonly_fields = _FACTS
    fieldsets = (
        (None, {"fields": _FACTS}),
        (_("Override"), {"fields": ("is_off", "needs_approval", "expires_after")}),
        (_("Why"), {"fields": ("reason", "seen")}),
    )

    @admin.display(description=_("preview"))
    def look(self, row: NotificationTypeRow) -> SafeString | str:
        """Link the preview, where this release knows the type."""
        if registry.get(row.pk) is None:
            return "–"
        place = reverse("admin:notifications_notificationtyperow_preview", args=[row.pk])
        return format_html('<a href="{}">{}</a>', place, _("Preview"))

    @admin.display(description=_("templates in"))
    def template(self, row: NotificationTypeRow) -> str:
        """Give the folder of the templates."""
        kind = registry.get(row.pk)
        return f"{kind.template}/" if kind else "–"

    @admin.display(description=_("data"))
    def data(self, row: NotificationTypeRow) -> str:
        """Give the schema of the data."""
        kind = registry.get(row.pk)
        fields = kind.fields().items() if kind else ()
        return ", ".join(f"{key}{'' if needed else '?'}: {form}" for key, (form, needed) in fields) or "–"

    @admin.display(description=_("now ← as the code declares it"))
    def counts_now(self, row: NotificationTypeRow) -> SafeString:
        """Give what counts, and where that differs what the code says."""
        told: dict[str, dict[Any, Any]] = {
            "enabled": {True: _("new ones are taken"), False: _("new ones are refused")},
            "approval": {"none": _("no approval"), "required": _("approval required")},
            "expires_after": {None: _("no expiry")},
        }
        lines = [
            [told[name].get(value, value) for value in dict.fromkeys(both)] for name, both in overridden(row).items()
        ]
        return format_html_join("; ", "{}", ((" ← ".join(map(str, line)),) for line in lines))

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Refuse: types are declared in code."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: NotificationTypeRow | None = None) -> bool:
        """Refuse."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: NotificationTypeRow | None = None) -> bool:
        """Let nobody override what this release does not declare."""
        known = obj is None or registry.get(obj.pk) is not None
        return known and super().has_change_permission(request, obj)

    def get_fieldsets(self, request: HttpRequest, obj: NotificationTypeRow | None = None) -> Any:
        """Show who may only look the facts alone."""
        return self.fieldsets if self.has_change_permission(request, obj) else self.fieldsets[:1]

    def save_model(self, request: HttpRequest, obj: NotificationTypeRow, form: Any, change: bool) -> None:
        """Write the override and its revision; the admin's view has opened the transaction."""
        assert isinstance(form, OverrideForm)
        if not form.save_as(f"user:{request.user.get_username()}"):
            raise PermissionDenied(_("Somebody changed this type meanwhile: reload the page."))

    def construct_change_message(self, request: HttpRequest, form: Any, *_rest: Any) -> Any:
        """Say what was overridden, by name; the revision has the rest."""
        return [{"changed": {"fields": sorted(form.wanted()) or ["as declared"]}}]

    def get_urls(self) -> list[URLPattern]:
        """Add the preview, before what takes any name."""
        view = self.admin_site.admin_view(self.preview_view)
        return [
            path("<path:object_id>/preview/", view, name="notifications_notificationtyperow_preview"),
            *super().get_urls(),
        ]

    def preview_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show a made-up message; neither GET nor POST writes or sends anything."""
        row, kind = self.get_object(request, object_id), registry.get(object_id)
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        if row is None or kind is None:
            raise Http404
        form = PreviewForm(kind, request.POST or None)
        seen, fault = self._seen(form, kind)
        about = {
            **self.admin_site.each_context(request),
            "title": _("Preview"),
            "subtitle": kind.name,
            "opts": self.opts,
            "original": row,
            "form": form,
            "seen": seen,
            "fault": fault,
        }
        status = 200 if request.method != "POST" or (form.is_valid() and seen) else 422
        template = "admin/notifications/notificationtyperow/preview.html"
        answer = TemplateResponse(request, template, about, status=status)
        add_never_cache_headers(answer)
        return answer

    def _seen(self, form: PreviewForm, kind: NotificationType) -> tuple[Preview | None, str]:
        try:
            if form.is_bound:
                return (form.seen() if form.is_valid() else None), ""
            return preview(kind, sample(kind), report_id="demo-001", locale=None), ""
        except Unsendable as refusal:
            # What a template raises is said by its class: its text may hold what was typed.
            return None, f"{refusal.code}: {type(refusal.__cause__).__name__}"

    def response_change(self, request: HttpRequest, obj: NotificationTypeRow) -> HttpResponse:
        """Say that it counts from now on."""
        self.message_user(request, _("The override counts from now on, for what is enqueued."), messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:notifications_notificationtyperow_changelist"))


@admin.register(TypeRevision)
class TypeRevisionAdmin(ReadOnlyAdmin):
    """Who overrode what of which type, and why."""

    list_display = ("type_id", "revision", "at", "actor", "reason")
    fields = ("type", "revision", "at", "actor", "reason", "before", "after")
