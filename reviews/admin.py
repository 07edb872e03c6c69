"""Django's admin: the record of decisions, to look at. The database refuses changes too."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.admin.exceptions import NotRegistered
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

# Imported first, so that what they register can be taken out again.
from django_otp.plugins.otp_static.admin import StaticDevice
from django_otp.plugins.otp_totp.admin import TOTPDevice

from notifications.models.read_only_admin import ReadOnlyAdmin
from reviews.bulk.models import BulkRun
from reviews.models import ApprovalRequest, Note, Review
from reviews.signin.models import AccessRecord

# Their pages show the secrets; `manage.py people` resets, and keeps why.
for _model in (TOTPDevice, StaticDevice):
    try:
        admin.site.unregister(_model)
    except NotRegistered:
        continue


class RecordAdmin(ReadOnlyAdmin):
    """Rows of the record, each with a link to its case."""

    readonly_fields = ("case",)

    @admin.display(description=_("case"))
    def case(self, row: Review | Note | ApprovalRequest) -> SafeString | str:
        """Link the case that was decided; what was said of a run in bulk has none."""
        if row.intent_id is None:
            return "–"
        return format_html('<a href="{}">#{}</a>', reverse("reviews:case", args=[row.intent_id]), row.intent_id)


@admin.register(Review)
class ReviewAdmin(RecordAdmin):
    """Who decided what, refused tries included."""

    list_display = ("at", "case", "action", "actor", "outcome", "refusal", "reason_code")
    fields = (
        *("case", "at", "action", "actor", "outcome", "refusal", "seq_seen", "seq_after", "reason_code", "reason"),
        *("before", "after"),
    )


@admin.register(Note)
class NoteAdmin(RecordAdmin):
    """Remarks on cases."""

    list_display = ("at", "case", "actor", "text")
    fields = ("case", "at", "actor", "text")


@admin.register(ApprovalRequest)
class ApprovalRequestAdmin(RecordAdmin):
    """Resends that one lead asked for, and what a second one said."""

    list_display = ("asked_at", "case", "asked_by", "expires_at", "outcome", "decided_by")
    fields = ("case", "asked_at", "asked_by", "expires_at", "outcome", "decided_by", "decided_at")


@admin.register(AccessRecord)
class AccessRecordAdmin(ReadOnlyAdmin):
    """What was done about second factors, recovery codes and locks."""

    list_display = ("at", "user", "deed", "actor", "reason")
    list_select_related = ("user",)
    fields = ("user", "at", "deed", "actor", "reason")


@admin.register(BulkRun)
class BulkRunAdmin(ReadOnlyAdmin):
    """Plans and runs in bulk; their pages in the console say what came of them."""

    list_display = ("id", "verb", "actor", "planned_at", "eligible_count", "total_count", "reason_code")
    fields = (
        *("verb", "actor", "planned_at", "query", "by_hand", "matched_count", "total_count", "eligible_count"),
        *("reason_code", "reason", "rate", "canary", "max_bad", "since"),
    )
