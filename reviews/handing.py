"""The next free case by a filter, and the neighbours of a case in a list."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from notifications.models import Intent
from notifications.states import State
from reviews import holding, queue
from reviews.filters import QueueFilter
from reviews.person import Person
from reviews.record import Done, Order
from reviews.refusals import BadReason, UnreadableForm
from reviews.standing import read_standing

# As many people may ask in one moment, and still each gets a case in the first round.
_CANDIDATES: Final = 50
_ROUNDS: Final = 3


def take_next(query: QueryDict, order: Order, person: Person, leaving: int | None = None) -> Done | None:
    """Take the next case that nobody has, in a transaction of its own; None where none is free.

    It goes on behind `leaving`, which is given back, and begins anew at the list's end. Two people never get the same
    one, and the same form gives the same one again. Raises NotPermitted, BadReason, UnreadableForm.
    """
    for _round in range(_ROUNDS):
        try:
            with transaction.atomic():
                done, was_empty = _take(query, order, person, leaving)
        except UnreadableForm:  # where its twin was faster, what that got is what this gets
            with transaction.atomic():
                done = holding.take_one_of((), order, person, read_standing().now)
            if done is None:
                raise
            return done
        if done is not None or was_empty:
            return done
    return None


def _take(query: QueryDict, order: Order, person: Person, leaving: int | None) -> tuple[Done | None, bool]:
    """Give what was taken, and whether the list held nothing free at all."""
    now = read_standing().now
    behind = Intent.objects.filter(pk=leaving).first() if leaving is not None else None
    candidates = _free(query, person, behind, now)
    done = holding.take_one_of(candidates, order, person, now)
    if done is not None and not done.repeated and behind is not None:
        holding.give_back(behind.pk, person, now)
    return done, not candidates


def _free(query: QueryDict, person: Person, behind: Intent | None, now: datetime) -> list[int]:
    """Give what nobody has, in the list's order: what stands behind the case first, then from the beginning."""
    chosen = query.copy()
    chosen["taken"] = "free"
    cases, sort = _listed(chosen, person, now)
    cases = cases.filter(state=State.NEEDS_REVIEW)
    found: list[int] = []
    if behind is not None:
        found = queue.ids_behind(cases, queue.place_of(behind, sort), _CANDIDATES, sort)
        cases = cases.exclude(pk=behind.pk)
    if len(found) < _CANDIDATES:
        found += queue.ids_behind(cases, None, _CANDIDATES, sort)
    return list(dict.fromkeys(found))[:_CANDIDATES]


def neighbour(intent: Intent, query: QueryDict, person: Person, *, backwards: bool) -> int | None:
    """Give what stands next to the case in the list of this query, before it or behind it; None at its ends.

    In the caller's transaction. Raises BadReason.
    """
    cases, sort = _listed(query, person, read_standing().now)
    found = queue.ids_behind(cases, queue.place_of(intent, sort, backwards=backwards), 1, sort)
    return found[0] if found else None


def _listed(query: QueryDict, person: Person, now: datetime) -> tuple[QuerySet[Intent], str]:
    """Give the list and its order. Raises BadReason where its filters cannot be read."""
    filters = QueueFilter(query, queryset=Intent.objects.all(), now=now, me=person.identity)
    if not filters.readable():
        raise BadReason(_("The list has a filter that cannot be read: mend it in the queue, then go on."))
    sort = query.get("sort", "") if query.get("sort", "") in queue.SORTS else "safe"
    return filters.cases(), sort if filters.is_of_review else queue.NEWEST
