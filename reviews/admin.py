"""Django's admin: the record of decisions, to look at. The database refuses changes too."""

from __future__ import annotations

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from notifications.models.read_only_admin import ReadOnlyAdmin
from reviews.models import Note, Review


class RecordAdmin(ReadOnlyAdmin):
    """Rows of the record, each with a link to its case."""

    readonly_fields = ("case",)

    @admin.display(description=_("case"))
    def case(self, row: Review | Note) -> SafeString:
        """Link the case that was decided."""
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
