"""Everything on the queue's page: rows, chips, counts, and what could not be read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from notifications.models import Intent
from notifications.policy.windows import Protection, protection
from notifications.states import DeliveryStatus, Known, NextAction, State
from reviews import hints, queue, saved_views
from reviews.advised import advice_on
from reviews.filters import QueueFilter, type_names
from reviews.person import Person
from reviews.refusals import Sentence
from reviews.standing import Standing
from reviews.suggestions import NEXT_ACTIONS
from reviews.words import DELIVERY, KNOWN, STATES, Badge, person_name

# What is known of a message that the provider took, by its own word.
_ANSWERED: Final = frozenset({Known.ACCEPTED, Known.BOUNCED, Known.SOFT_BOUNCED, Known.COMPLAINED, Known.SUPPRESSED})


@dataclass(frozen=True, slots=True)
class Row:
    """One case as the queue shows it. No name, address or subject. `first`: suggested before more was known."""

    intent: Intent
    state: Badge
    known: Badge | None
    delivery: Badge | None
    code: str
    code_label: str
    meaning: str
    next_action: Sentence
    rule: str
    icon: str
    first: Sentence
    protection: str
    left: str
    auto_attempts: int
    manual_attempts: int
    taken_by: str
    taken_until: datetime | None
    in_review: bool
    may_duplicate: bool
    resend_asked: bool
    snoozed: bool


@dataclass(frozen=True, slots=True)
class Chip:
    """One active filter, and the address of the list without it."""

    label: Sentence
    value: str
    without: str


def read(query: QueryDict, standing: Standing, person: Person) -> dict[str, Any]:
    """Give the page's facts: at most five queries beside the header's."""
    filters = QueueFilter(query, queryset=Intent.objects.all(), now=standing.now, me=person.identity)
    problems = problems_of(filters)
    size, sort = _size(query, problems), _sort(query, problems)
    place = _place(query, problems)
    cases = filters.cases() if not problems else Intent.objects.none()
    order = sort if filters.is_of_review else queue.NEWEST
    page = queue.read_page(cases, place, size, order) if not problems else queue.Page([])
    # What is all on this page needs no counting.
    is_whole = problems or not (page.older or page.newer or place)
    count = len(page.rows) if is_whole else queue.count_capped(cases)
    return {
        "filters": filters,
        "problems": problems,
        "chips": chips(filters, query),
        "rows": [_row(intent, standing, person) for intent in page.rows],
        "next_url": _url(query, after=page.older) if page.older else "",
        "previous_url": _url(query, before=page.newer) if page.newer else "",
        "count": f"{queue.COUNT_CAP:,}+" if count > queue.COUNT_CAP else f"{count:,}",
        "counted": count,
        "newest_first": not filters.is_of_review,
        "looked_at": f"{queue.LOOKED_AT:,}" if filters.is_bounded else "",
        "search_was_cut": filters.search_was_cut,
        "codes": filters.codes,
        "types": type_names(),
        "last_decision_at": None if page.rows else queue.last_decision_at(),
        "sort": sort,
        "size": size,
        "sizes": queue.SIZES,
        "standing": standing,
        "plan_token": str(uuid4()),
        "plan_query": query.urlencode(),
        "views": saved_views.seen_by(person),
        "may_take": "take" in person.verbs,
        "may_share": "share_view" in person.powers,
        "token": str(uuid4()),
    }


def _row(intent: Intent, standing: Standing, person: Person) -> Row:
    now = standing.now
    advice, first = advice_on(intent, person, now), _first(intent)
    said = advice.words
    rule = intent.next_action or "" if _is_rule(intent) and (not first or said == first) else ""
    stands = Protection.NOT_STARTED if _is_answered(intent) else protection(intent.safe_until, now)
    is_open = stands is Protection.OPEN and intent.safe_until is not None
    in_review = intent.state == State.NEEDS_REVIEW
    asked_until: datetime | None = getattr(intent, "resend_until", None)
    manual: int = getattr(intent, "manual_attempts", 0)
    until: datetime | None = getattr(intent, "taken_until", None)
    is_taken = in_review and until is not None and until > now
    return Row(
        intent=intent,
        state=STATES[intent.state],
        known=KNOWN.get(intent.known or ""),
        delivery=_delivery(intent),
        code=hints.standing_code(intent),
        code_label=hints.label(intent.error_code),
        meaning=hints.meaning(hints.standing_code(intent)),
        next_action=said,
        rule=rule if in_review else "",
        icon=(rule or advice.verb or "wait") if in_review and said else "",
        first=first if in_review and said != first else "",
        protection=stands.value,
        left=hints.span(intent.safe_until - now) if is_open and intent.safe_until else "",
        auto_attempts=max(intent.attempt_count - manual, 0),
        manual_attempts=manual,
        taken_by=person_name(getattr(intent, "taken_by", "")) if is_taken else "",
        taken_until=until if is_taken else None,
        in_review=in_review,
        may_duplicate=getattr(intent, "forced_at", None) is not None,
        resend_asked=in_review and asked_until is not None and asked_until > now,
        snoozed=in_review and intent.snoozed_until is not None and intent.snoozed_until > now,
    )


def _delivery(intent: Intent) -> Badge | None:
    """Give what receipts said, where that is more than what is known says already."""
    if intent.delivery_status in (DeliveryStatus.NONE, intent.known):
        return None
    return DELIVERY[intent.delivery_status]


def _is_answered(intent: Intent) -> bool:
    """Whether the provider has said that it took the message: from then on no clock says anything."""
    return intent.state == State.ACCEPTED or intent.known in _ANSWERED


def _is_rule(intent: Intent) -> bool:
    """Whether the first suggestion is still the advice: a complaint is closed by whoever may, and asks no lead."""
    return (intent.next_action, intent.known) != (NextAction.ASK_LEAD, Known.COMPLAINED)


def _first(intent: Intent) -> Sentence:
    """Give the first suggestion, where it is one that an answer or a change can have settled since."""
    can_settle = intent.next_action in (NextAction.QUERY_PROVIDER, NextAction.FIX_CONFIG)
    return NEXT_ACTIONS.get(intent.next_action or "", "") if can_settle and not getattr(intent, "barred", None) else ""


def problems_of(filters: QueueFilter) -> list[str]:
    """Say which filters cannot be read, and why."""
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


def chips(filters: QueueFilter, query: QueryDict) -> list[Chip]:
    """Give the active filters in words."""
    active = []
    for name, found in filters.filters.items():
        value = query.get(name, "").strip()
        if value:
            words = dict(getattr(filters.form.fields[name], "choices", ()))
            active.append(Chip(found.label, str(words.get(value, value))[:80], _url(query, **{name: ""})))
    return active


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
