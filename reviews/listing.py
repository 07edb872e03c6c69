"""Everything on the queue's page: rows, chips, counts, and what could not be read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from notifications.models import Intent
from notifications.policy.windows import Protection, protection
from notifications.states import DeliveryStatus, State
from reviews import hints, queue
from reviews.filters import QueueFilter, type_names
from reviews.refusals import Sentence
from reviews.standing import Standing
from reviews.words import DELIVERY, KNOWN, NEXT_ACTIONS, STATES, Badge


@dataclass(frozen=True, slots=True)
class Row:
    """One case as the queue shows it. No name, address or subject."""

    intent: Intent
    state: Badge
    known: Badge | None
    delivery: Badge | None
    code_label: str
    meaning: str
    next_action: Sentence
    protection: str
    left: str
    manual_attempts: int
    in_review: bool


@dataclass(frozen=True, slots=True)
class Chip:
    """One active filter, and the address of the list without it."""

    label: Sentence
    value: str
    without: str


def read(query: QueryDict, standing: Standing) -> dict[str, Any]:
    """Give the page's facts: at most four queries beside the header's."""
    filters = QueueFilter(query, queryset=Intent.objects.all(), now=standing.now)
    problems = _problems(filters)
    size, sort = _size(query, problems), _sort(query, problems)
    place = _place(query, problems)
    cases = filters.cases() if not problems else Intent.objects.none()
    page = queue.read_page(cases, place, size, sort) if not problems else queue.Page([])
    count = queue.count_capped(cases) if not problems else 0
    return {
        "filters": filters,
        "problems": problems,
        "chips": _chips(filters, query),
        "rows": [_row(intent, standing.now) for intent in page.rows],
        "next_url": _url(query, after=page.older) if page.older else "",
        "previous_url": _url(query, before=page.newer) if page.newer else "",
        "count": f"{queue.COUNT_CAP:,}+" if count > queue.COUNT_CAP else f"{count:,}",
        "has_any": count > 0,
        "search_was_cut": filters.search_was_cut,
        "codes": queue.codes_in_review(),
        "types": type_names(),
        "last_decision_at": None if page.rows else queue.last_decision_at(),
        "sort": sort,
        "size": size,
        "sizes": queue.SIZES,
        "standing": standing,
    }


def _row(intent: Intent, now: datetime) -> Row:
    stands = protection(intent.safe_until, now)
    is_open = stands is Protection.OPEN and intent.safe_until is not None
    in_review = intent.state == State.NEEDS_REVIEW
    return Row(
        intent=intent,
        state=STATES[intent.state],
        known=KNOWN.get(intent.known or ""),
        delivery=_delivery(intent),
        code_label=hints.label(intent.error_code),
        meaning=hints.meaning(intent.error_code),
        next_action=NEXT_ACTIONS.get(intent.next_action or "", "") if in_review else "",
        protection=stands.value,
        left=hints.span(intent.safe_until - now) if is_open and intent.safe_until else "",
        manual_attempts=getattr(intent, "manual_attempts", 0),
        in_review=in_review,
    )


def _delivery(intent: Intent) -> Badge | None:
    """Give what receipts said, where that is more than what is known says already."""
    if intent.delivery_status in (DeliveryStatus.NONE, intent.known):
        return None
    return DELIVERY[intent.delivery_status]


def _problems(filters: QueueFilter) -> list[str]:
    found = [_("There is no filter named “%(name)s”; remove it.") % {"name": name[:60]} for name in filters.unknown]
    if not filters.is_valid():
        for name, errors in filters.form.errors.items():
            label = filters.form.fields[name].label if name in filters.form.fields else name
            found += [f"{label}: {error}" for error in errors]
    return found


def _size(query: QueryDict, problems: list[str]) -> int:
    given = query.get("size", "")
    if given in ("", *(str(size) for size in queue.SIZES)):
        return int(given or queue.DEFAULT_SIZE)
    problems.append(_("The page's size must be 25, 50 or 100."))
    return queue.DEFAULT_SIZE


def _sort(query: QueryDict, problems: list[str]) -> str:
    given = query.get("sort", "") or "safe"
    if given in queue.SORTS:
        return given
    problems.append(_("The order must be “safe” or “oldest”."))
    return "safe"


def _place(query: QueryDict, problems: list[str]) -> queue.Place | None:
    try:
        return queue.read_place(query.get("after", ""), query.get("before", ""))
    except queue.BadCursor:
        problems.append(_("The place in the list cannot be read; start at the first page."))
        return None


def _chips(filters: QueueFilter, query: QueryDict) -> list[Chip]:
    chips = []
    for name, found in filters.filters.items():
        value = query.get(name, "").strip()
        if value:
            words = dict(getattr(filters.form.fields[name], "choices", ()))
            chips.append(Chip(found.label, str(words.get(value, value))[:80], _url(query, **{name: ""})))
    return chips


def _url(query: QueryDict, **changes: str) -> str:
    """Give the queue's address with some of its query changed; the place is left behind with every change."""
    changed = query.copy()
    for name in ("after", "before"):
        changed.pop(name, None)
    for name, value in changes.items():
        if value:
            changed[name] = value
        else:
            changed.pop(name, None)
    path = reverse("reviews:queue")
    return f"{path}?{changed.urlencode()}" if changed else path
