"""The queue's filters: all of their state stands in the URL; a filter that cannot be read lists nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

import django_filters
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.forms import TextInput
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from notifications.models import Intent
from notifications.states import CLAIMABLE, Known, NextAction, State
from notifications.types import registry
from reviews import code_classes, queue
from reviews.code_classes import CLASSES
from reviews.models import ApprovalRequest, Hold
from reviews.search import MAX_PASTED, matching_ids
from reviews.suggestions import NEXT_ACTIONS
from reviews.words import KNOWN, STATES

# What stands in the URL beside the filters.
PAGING: Final = frozenset({"after", "before", "size", "sort"})
ANY_STATE: Final = "any"
CLAIMABLE_OR_SENDING: Final = frozenset({*CLAIMABLE, State.SENDING})
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
    kind = django_filters.ChoiceFilter(
        label=_("Kind of error"), method="by_kind", choices=list(CLASSES.items()), empty_label=_ANY
    )
    known = django_filters.ChoiceFilter(label=_("Known"), choices=_words(KNOWN, Known), empty_label=_ANY)
    next = django_filters.ChoiceFilter(
        label=_("First suggestion"),
        field_name="next_action",
        choices=_words(NEXT_ACTIONS, NextAction),
        empty_label=_ANY,
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

    waiting = django_filters.ChoiceFilter(
        label=_("Waiting"),
        method="by_waiting",
        empty_label=_("not set aside"),
        choices=[
            ("aside", _("set aside")),
            ("second", _("for a second person")),
            (ANY_STATE, _("set aside or not")),
        ],
    )

    taken = django_filters.ChoiceFilter(
        label=_("Taken"),
        method="by_taken",
        empty_label=_("free, or by me"),
        choices=[
            ("mine", _("by me")),
            ("free", _("by nobody")),
            ("others", _("by somebody else")),
            (ANY_STATE, _("taken or not")),
        ],
    )

    class Meta:
        model = Intent
        fields: tuple[str, ...] = ()

    def __init__(self, *args: Any, now: datetime, me: str = "", **kwargs: Any) -> None:
        """`me`: whose list it is, by identity; empty where it is nobody's."""
        super().__init__(*args, **kwargs)
        self.now, self.me = now, me
        self.search_was_cut = False

    @cached_property
    def codes(self) -> list[str]:
        """The error codes in review, read once."""
        return queue.codes_in_review()

    @property
    def unknown(self) -> list[str]:
        """Names in the URL that are no filter: ignoring a misspelt one would show cases that were not asked for."""
        return sorted(set(self.data) - set(self.filters) - PAGING)

    @property
    def searches_every_state(self) -> bool:
        """Tell whether the list holds more than what needs review although no state was chosen."""
        return bool(self.data.get("q")) and not self.data.get("state")

    @property
    def is_of_review(self) -> bool:
        """Tell whether all that is listed needs review, so that it has an order of urgency."""
        state = self.data.get("state") or ("" if self.data.get("q") else State.NEEDS_REVIEW)
        return state == State.NEEDS_REVIEW

    @property
    def is_bounded(self) -> bool:
        """Tell whether the list looks at the newest rows only."""
        return not self.is_of_review and not self.data.get("q") and self.data.get("state") not in CLAIMABLE_OR_SENDING

    def readable(self) -> bool:
        """Tell whether every part of the query string was understood."""
        return bool(self.is_valid()) and not self.unknown

    def cases(self) -> QuerySet[Intent]:
        """Give what the filters choose; nothing where one cannot be read."""
        if not self.readable():
            return Intent.objects.none()
        found: QuerySet[Intent] = self.qs
        if self.is_bounded:
            return found.filter(pk__gte=queue.newest_from(self.data["state"]))
        if not self.data.get("state") and not self.data.get("q"):
            found = found.filter(state=State.NEEDS_REVIEW)
            if not self.data.get("waiting"):
                found = found.exclude(snoozed_until__gt=self.now)
            if not self.data.get("taken"):
                found = found.exclude(pk__in=self._held(theirs=True))
        return found

    def _held(self, *, mine: bool = False, theirs: bool = False) -> QuerySet[Hold, int]:
        """Give what is taken now: by me, by others, or by anybody.

        Left out by `NOT IN`, it is a set that is read once and asked for each row: no plan can make a join of it, and
        sort the list afterwards.
        """
        held = Hold.objects.filter(expires_at__gt=self.now).order_by()
        if mine:
            held = held.filter(holder=self.me)
        if theirs:
            held = held.exclude(holder=self.me)
        return held.values_list("intent_id", flat=True)

    def search(self, found: QuerySet[Intent], name: str, value: str) -> QuerySet[Intent]:
        """Look in every state: who pastes an ID wants to know what became of it."""
        ids = matching_ids(value)
        self.search_was_cut = len(ids) > MAX_PASTED
        return found.filter(pk__in=ids[:MAX_PASTED])

    def by_state(self, found: QuerySet[Intent], name: str, value: str) -> QuerySet[Intent]:
        """`any` leaves the state open."""
        if value in CLAIMABLE_OR_SENDING:  # these have a due time, and so an index of their own among all that is done
            found = found.filter(next_attempt_at__isnull=False)
        return found if value == ANY_STATE else found.filter(state=value)

    def in_workspace(self, found: QuerySet[Intent], name: str, value: str) -> QuerySet[Intent]:
        """`-` stands for the default workspace, whose name is empty."""
        return found.filter(workspace="" if value == "-" else value)

    def by_window(self, found: QuerySet[Intent], name: str, value: str) -> QuerySet[Intent]:
        """Margins are taken off already: what is past is closed."""
        ends = queue.safe_rank()
        found = found.alias(safe_rank=ends)  # the order's own expression, so that a window is a range of its index
        conditions = {
            "open": Q(safe_rank__gt=self.now, safe_until__isnull=False),
            "closing": Q(safe_rank__gt=self.now, safe_rank__lte=self.now + _CLOSING),
            "closed": Q(safe_rank__lte=self.now),
            "none": Q(safe_rank=queue.never()),
        }
        return found.filter(conditions[value])

    def by_waiting(self, found: QuerySet[Intent], name: str, value: str) -> QuerySet[Intent]:
        """Set aside by a person until later, or waiting for the second one who confirms a resend."""
        if value == "aside":
            return found.filter(snoozed_until__gt=self.now)
        if value == "second":
            asked = ApprovalRequest.objects.filter(intent=OuterRef("pk"), outcome="", expires_at__gt=self.now)
            return found.filter(Exists(asked))
        return found

    def by_taken(self, found: QuerySet[Intent], name: str, value: str) -> QuerySet[Intent]:
        """By somebody who looks after it now; what has run out is free."""
        if value == "mine":
            return found.filter(pk__in=self._held(mine=True))
        if value == "others":
            return found.filter(pk__in=self._held(theirs=True))
        return found.exclude(pk__in=self._held()) if value == "free" else found

    def by_kind(self, found: QuerySet[Intent], name: str, value: str) -> QuerySet[Intent]:
        """In review by the codes that are there, each a range of the index; elsewhere by the code's form."""
        return found.filter(
            code_classes.among(value, self.codes) if self.is_of_review else code_classes.anywhere(value)
        )

    def by_age(self, found: QuerySet[Intent], name: str, value: str) -> QuerySet[Intent]:
        """Count from when the case came into review the last time."""
        return found.filter(review_since__lte=self.now - timedelta(hours=_HOURS[value]))


def type_names() -> list[str]:
    """Give the names that the type's field suggests."""
    return [kind.name for kind in registry]
