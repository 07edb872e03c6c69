"""API tokens in Django's admin: made with a reason and shown once, revoked with a reason, never changed."""

from __future__ import annotations

import re
from typing import Any, Final

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from notifications.api import tokens
from notifications.models import ApiToken
from notifications.models.api_token import SCOPES

_REASON: Final = _("10 to 500 characters, kept for ever; people by ID, no addresses or phone numbers.")
_AREA: Final = {"rows": 2}


class _Reasoned(forms.ModelForm):  # type: ignore[type-arg]  # Django has no such brackets at run time
    def _post_clean(self) -> None:
        """Leave the row as it is: tokens.make and tokens.revoke write it."""

    def clean_reason(self) -> str:
        """Refuse a reason that is too short, or that would keep an address for ever."""
        try:
            return tokens.checked_reason(self.cleaned_data["reason"])
        except tokens.NotAToken:
            raise ValidationError(_REASON) from None


class MakeForm(_Reasoned):
    """A new token."""

    scopes = forms.MultipleChoiceField(
        label=capfirst(_("scopes")), choices=[(scope, scope) for scope in SCOPES], widget=forms.CheckboxSelectMultiple
    )
    workspaces = forms.CharField(
        label=capfirst(_("workspaces")),
        required=False,
        help_text=_("Names parted by commas; empty: the default workspace; “*”: all of them."),
    )
    reason = forms.CharField(label=_("Reason"), widget=forms.Textarea(attrs=_AREA), help_text=_REASON)

    class Meta:
        model = ApiToken
        fields = ("name", "per_minute", "expires_at")

    def clean_workspaces(self) -> tuple[str, ...]:
        """Give the names."""
        spaces = tuple(re.split(r"\s*,\s*", self.cleaned_data["workspaces"].strip()))
        if not all(tokens.WORKSPACE.fullmatch(space) for space in spaces):
            raise ValidationError(_("A workspace has up to 64 of the characters A-Z a-z 0-9 . _ -, or is “*”."))
        return spaces

    def clean(self) -> dict[str, Any]:
        """Refuse what tokens.make would refuse."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                tokens.check(self.wish())
            except tokens.NotAToken as refusal:
                raise ValidationError(str(refusal)) from None
        return given

    def wish(self) -> tokens.Wish:
        """Give what was asked for."""
        given = self.cleaned_data
        named = {name: given[name] for name in ("name", "workspaces", "reason", "per_minute", "expires_at")}
        return tokens.Wish(scopes=tuple(given["scopes"]), **named)


class RevokeForm(_Reasoned):
    """The end of a token."""

    reason = forms.CharField(label=_("Reason of the revocation"), widget=forms.Textarea(attrs=_AREA), help_text=_REASON)

    class Meta:
        model = ApiToken
        fields = ()


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Tokens are made and revoked here. Saving an existing one revokes it."""

    list_display = ("name", "prefix", "scopes", "workspaces", "per_minute", "last_used", "expires_at", "revoked_at")
    list_select_related = ("use",)
    search_fields = ("name", "prefix")
    ordering = ("-id",)
    actions = None
    change_form_template = "admin/notifications/apitoken/change.html"

    @admin.display(description=_("last used"))
    def last_used(self, token: ApiToken) -> Any:
        """Give when it was last used, to the minute."""
        use = getattr(token, "use", None)
        return use.minute_at if use else None

    def get_form(self, request: HttpRequest, obj: ApiToken | None = None, **kwargs: Any) -> Any:  # type: ignore[override]
        """Give the form to make one, or to revoke one."""
        kwargs["form"] = RevokeForm if obj else MakeForm
        return super().get_form(request, obj, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: ApiToken | None = None) -> Any:
        """Show everything of an existing token, then the reason."""
        if obj is None:
            return [(None, {"fields": ["name", "scopes", "workspaces", "per_minute", "expires_at", "reason"]})]
        ended = ["revoked_at", "revoked_by", "revoke_reason"] if obj.revoked_at else []
        kept = [name for name in self.get_readonly_fields(request, obj) if name not in ended]
        last = (None, {"fields": ended}) if ended else (_("Revoke"), {"fields": ["reason"]})
        return [(None, {"fields": kept}), last]

    def get_readonly_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> Any:
        """Let nothing of an existing token be changed."""
        if obj is None:
            return ()
        kept = ("name", "prefix", "scopes", "workspaces", "per_minute", "expires_at", "last_used", "made_at", "made_by")
        return (*kept, "why", *(("revoked_at", "revoked_by", "revoke_reason") if obj.revoked_at else ()))

    @admin.display(description=_("reason"))
    def why(self, token: ApiToken) -> str:
        """Give why it was made."""
        return token.reason

    def has_delete_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        """Refuse: whose token did what must stay known."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        """Let only a token that counts be revoked."""
        return super().has_change_permission(request, obj) and (obj is None or obj.revoked_at is None)

    def has_view_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        """Let whoever may revoke tokens look at revoked ones, too."""
        return super().has_view_permission(request, obj) or super().has_change_permission(request, None)

    def save_model(self, request: HttpRequest, obj: ApiToken, form: Any, change: bool) -> None:
        """Make or revoke, in the name of the person; the admin's view has opened the transaction."""
        by = f"user:{request.user.get_username()}"
        if change:
            tokens.revoke(obj, by=by, reason=form.cleaned_data["reason"])
            return
        made, text = tokens.make(form.wish(), by=by)
        obj.pk, obj.prefix = made.pk, made.prefix
        obj.text = text  # type: ignore[attr-defined]  # only until it is shown

    def response_add(self, request: HttpRequest, obj: ApiToken, post_url_continue: str | None = None) -> HttpResponse:
        """Show the token, this once: in no message, cookie or address."""
        about = {**self.admin_site.each_context(request), "token": obj.text, "title": _("The new token")}  # type: ignore[attr-defined]
        answer = TemplateResponse(request, "admin/notifications/apitoken/made.html", about)
        answer["Cache-Control"] = "no-store"
        return answer

    def response_change(self, request: HttpRequest, obj: ApiToken) -> HttpResponse:
        """Say that it has ended."""
        self.message_user(request, _("The token is revoked, on every host."), messages.SUCCESS)
        return self.response_post_save_change(request, obj)
