"""The queue's filters: all of their state stands in the URL; a filter that cannot be read lists nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

import django_filters
from django.db.models import Q, QuerySet
from django.forms import TextInput
from django.utils.translation import gettext_lazy as _

from notifications.models import Intent
from notifications.states import Known, NextAction, State
from notifications.types import registry
from reviews.search import MAX_PASTED, matching_ids
from reviews.words import KNOWN, NEXT_ACTIONS, STATES

# What stands in the URL beside the filters.
PAGING: Final = frozenset({"after", "before", "size", "sort"})
ANY_STATE: Final = "any"
_ANY: Final = _("any")
_HOURS: Final = {"1h": 1, "1d": 24, "1w": 168}
# The shortest span in which an operator who sees the queue once an hour still acts in time.
_CLOSING: Final = timedelta(hours=2)


def _words(labels: dict[str, Any], members: Any) -> list[tuple[str, Any]]:
    return [(member.value, getattr(labels[member], "word", labels[member])) for member in members]


def _suggests(datalist: str) -> TextInput:
    return TextInput(attrs={"list": datalist, "autocomplete": "off"})


class QueueFilter(django_filters.FilterSet):  # type: ignore[misc]  # it ships no types
    """Reads one query string. `state` left out means: what needs review; a search looks at every state."""

    q = django_filters.CharFilter(
        label=_("Search by ID, report ID or provider message ID"),
        method="search",
        max_length=MAX_PASTED * 202,
        widget=TextInput(attrs={"type": "search", "autocomplete": "off"}),
    )
    code = django_filters.CharFilter(
        label=_("Error code"), field_name="error_code", max_length=100, widget=_suggests("codes")
    )
    known = django_filters.ChoiceFilter(label=_("Known"), choices=_words(KNOWN, Known), empty_label=_ANY)
    next = django_filters.ChoiceFilter(
        label=_("Next action"), field_name="next_action", choices=_words(NEXT_ACTIONS, NextAction), empty_label=_ANY
    )
    provider = django_filters.CharFilter(label=_("Provider"), field_name="account__name", max_length=64)
    channel = django_filters.CharFilter(label=_("Channel"), max_length=32)
    type = django_filters.CharFilter(label=_("Type"), max_length=64, widget=_suggests("types"))
    workspace = django_filters.CharFilter(
        label=_("Workspace"), method="in_workspace", max_length=64, help_text=_("“-” is the default one")
    )
    window = django_filters.ChoiceFilter(
        label=_("Safe window"),
        method="by_window",
        empty_label=_ANY,
        choices=[
            ("open", _("open")),
            ("closing", _("ends in 2 hours")),
            ("closed", _("closed")),
            ("none", _("none")),
        ],
    )
    age = django_filters.ChoiceFilter(
        label=_("In review for"),
        method="by_age",
        empty_label=_ANY,
        choices=[("1h", _("over 1 hour")), ("1d", _("over 1 day")), ("1w", _("over 1 week"))],
    )
    attempts = django_filters.NumberFilter(
        label=_("Attempts, at least"), field_name="attempt_count", lookup_expr="gte", min_value=0, max_value=10000
    )
    state = django_filters.ChoiceFilter(
        label=_("State"),
        method="by_state",
        empty_label=_("needs review; in a search, any"),
        choices=[*_words(STATES, State), (ANY_STATE, _("any"))],
    )

    class Meta:
        model = Intent
        fields: tuple[str, ...] = ()

    def __init__(self, *args: Any, now: datetime, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.now = now
        self.search_was_cut = False

    @property
    def unknown(self) -> list[str]:
        """Names in the URL that are no filter: ignoring a misspelt one would show cases that were not asked for."""
        return sorted(set(self.data) - set(self.filters) - PAGING)

    @property
    def searches_every_state(self) -> bool:
        """Tell whether the list holds more than what needs review although no state was chosen."""
        return bool(self.data.get("q")) and not self.data.get("state")

    def readable(self) -> bool:
        """Tell whether every part of the query string was understood."""
        return bool(self.is_valid()) and not self.unknown

    def cases(self) -> QuerySet[Intent]:
        """Give what the filters choose; nothing where one cannot be read."""
        if not self.readable():
            return Intent.objects.none()
        found: QuerySet[Intent] = self.qs
        if not self.data.get("state") and not self.data.get("q"):
            found = found.filter(state=State.NEEDS_REVIEW)
        return found

    def search(self, found: QuerySet[Intent], name: str, value: str) -> QuerySet[Intent]:
        """Look in every state: who pastes an ID wants to know what became of it."""
        ids = matching_ids(value)
        self.search_was_cut = len(ids) > MAX_PASTED
        return found.filter(pk__in=ids[:MAX_PASTED])

    def by_state(self, found: QuerySet[Intent], name: str, value: str) -> QuerySet[Intent]:
        """`any` leaves the state open."""
        return found if value == ANY_STATE else found.filter(state=value)

    def in_workspace(self, found: QuerySet[Intent], name: str, value: str) -> QuerySet[Intent]:
        """`-` stands for the default workspace, whose name is empty."""
        return found.filter(workspace="" if value == "-" else value)

    def by_window(self, found: QuerySet[Intent], name: str, value: str) -> QuerySet[Intent]:
        """Margins are taken off already: what is past is closed."""
        conditions = {
            "open": Q(safe_until__gt=self.now),
            "closing": Q(safe_until__gt=self.now, safe_until__lte=self.now + _CLOSING),
            "closed": Q(safe_until__lte=self.now),
            "none": Q(safe_until__isnull=True),
        }
        return found.filter(conditions[value])

    def by_age(self, found: QuerySet[Intent], name: str, value: str) -> QuerySet[Intent]:
        """Count from when the case came into review the last time."""
        return found.filter(review_since__lte=self.now - timedelta(hours=_HOURS[value]))


def type_names() -> list[str]:
    """Give the names that the type's field suggests."""
    return [kind.name for kind in registry]
