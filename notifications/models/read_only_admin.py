"""How Django's admin shows rows that nobody edits there. It stands beside the models, where both apps may import it."""

from __future__ import annotations

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property

# A full count of millions of rows takes seconds; nobody pages that far.
MOST_ROWS = 10_000


class CappedPaginator(Paginator):  # type: ignore[type-arg]
    """Pages through the newest rows, and counts no further."""

    @cached_property
    def count(self) -> int:
        """Count up to the cap."""
        return min(self._seen, MOST_ROWS)

    @property
    def is_cut(self) -> bool:
        """Tell whether there are more rows than are listed."""
        return self._seen > MOST_ROWS

    @cached_property
    def _seen(self) -> int:
        rows: QuerySet[Model] = self.object_list  # type: ignore[assignment]  # the admin pages through querysets
        return rows.order_by()[: MOST_ROWS + 1].count()


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # Django has no such brackets at run time
    """Shows rows; offers no way to add, change or delete one, to a superuser either."""

    actions = None
    paginator = CappedPaginator
    change_list_template = "admin/read_only_list.html"
    show_full_result_count = False
    ordering = ("-id",)

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse."""
        return False
