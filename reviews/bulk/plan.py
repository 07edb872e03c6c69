"""Freezes which cases a decision would be about, and judges each as it is now. Nothing of it is carried out here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID, uuid4

from django.db import connection
from django.db.models.expressions import RawSQL
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from notifications.models import Intent
from reviews import queue
from reviews.bulk import limits
from reviews.bulk.judge import Judged, judge
from reviews.bulk.models import BULK_VERBS, BulkRun
from reviews.filters import PAGING, QueueFilter
from reviews.person import Person
from reviews.reading import among
from reviews.refusals import NotAllowedNow, UnreadableForm

# How many are judged at once: enough that queries cost little, few enough that none takes a page's whole time.
_CHUNK: Final = 1000
# What the rules look at, and the frozen list keeps.
_NEEDED: Final = (
    *("seq", "state", "known", "error_code", "next_action", "month", "generation", "attempt_count", "manual", "actor"),
    *("first_ambiguous_at", "safe_until", "expires_at", "snoozed_until", "created_by", "notification_id"),
)
_LONGEST_QUERY: Final = 2000
_FREEZE: Final = """
INSERT INTO notifyops_private.reviews_bulkitem (bulk_id, place, intent_id, seq, risk, outcome, code)
SELECT %s, f.* FROM unnest(%s::int[], %s::bigint[], %s::int[], %s::text[], %s::text[], %s::text[]) AS f
"""
# The list of a plan that nobody started goes after a week (forget_plans_v1), a part each hour: no long transaction.
FORGET: Final = "SELECT notifyops_private.forget_plans_v1(20000)"
FORGET_EVERY_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants to decide together: all that a filter matches, or (no filter) the cases by their numbers.

    `token` is of the form that asks: sent twice, it makes one plan.
    """

    verb: str
    token: UUID | None
    ids: tuple[int, ...] = ()
    query: str | None = None


def filter_of(query: str, now: datetime, me: str = "") -> QueueFilter:
    """Read a filter as the queue of `me` reads its URL; places in the list are no part of it. Raises NotAllowedNow."""
    filters = asked_of(query, now, me)
    if not filters.readable():
        raise NotAllowedNow(_("This filter cannot be read, so that nothing is planned for it."), word="bad_filter")
    return filters


def asked_of(query: str, now: datetime, me: str = "") -> QueueFilter:
    """Give the filters of a query, readable or not."""
    kept = QueryDict(query, mutable=True)
    for name in PAGING:
        kept.pop(name, None)
    return QueueFilter(kept, queryset=Intent.objects.all(), now=now, me=me)


def kept_query(query: str) -> str:
    """Give the filter's part of a query string."""
    kept = QueryDict(query, mutable=True)
    for name in [name for name, value in kept.items() if name in PAGING or not value]:
        kept.pop(name)
    return kept.urlencode()


def make(wish: Wish, person: Person, now: datetime) -> BulkRun:
    """Write the plan and its frozen list; the caller has opened the transaction. Raises Refused.

    The same form sent again gives the plan that it made before.
    """
    if wish.token is None or wish.verb not in BULK_VERBS:
        raise UnreadableForm
    earlier = BulkRun.objects.filter(plan_token=wish.token).first()
    if earlier is not None:
        if earlier.actor != person.name:
            raise UnreadableForm
        return earlier
    limits.check(wish.verb, person, len(wish.ids))
    ids, matched = _chosen(wish, limits.limit_of(person), now, person)
    if not ids:
        raise NotAllowedNow(_("No case was chosen: select some, or filter for some."), word="none_chosen")
    judged = [one for chunk in _read(ids) for one in judge(wish.verb, chunk, person, now)]
    bulk = BulkRun.objects.create(
        verb=wish.verb,
        actor=person.name,
        user=person.user,
        planned_at=now,
        query=kept_query(wish.query or ""),
        by_hand=wish.query is None,
        matched_count=matched,
        was_cut=matched > len(judged),
        total_count=len(judged),
        eligible_count=sum(one.refused is None for one in judged),
        plan_token=wish.token,
        start_token=uuid4(),
    )
    _freeze(bulk, judged)
    return bulk


def _chosen(wish: Wish, most: int, now: datetime, person: Person) -> tuple[list[int], int]:
    """Give the cases in the queue's order, and how many matched; that count stops behind the cap."""
    if wish.query is None:
        ids = list(dict.fromkeys(wish.ids))
        return ids, len(ids)
    query = kept_query(wish.query)
    if len(query) > _LONGEST_QUERY:
        raise NotAllowedNow(_("This filter is too long to be kept: paste fewer IDs."), word="bad_filter")
    cases = filter_of(query, now, person.identity).cases()
    order = RawSQL("coalesce(notifications_intent.safe_until, 'infinity'::timestamptz)", [])
    chosen = list(cases.order_by(order, "id").values_list("pk", flat=True)[: most + 1])
    matched = queue.count_capped(cases) if len(chosen) > most else len(chosen)
    return chosen[:most], matched


def _read(ids: Sequence[int]) -> Iterator[list[Intent]]:
    for start in range(0, len(ids), _CHUNK):
        chunk = ids[start : start + _CHUNK]
        found = {intent.pk: intent for intent in Intent.objects.filter(pk__in=among(chunk)).only(*_NEEDED)}
        yield [found[pk] for pk in chunk if pk in found]


def _freeze(bulk: BulkRun, judged: Sequence[Judged]) -> None:
    places = list(range(1, len(judged) + 1))
    with connection.cursor() as cursor:
        cursor.execute(
            _FREEZE,
            [
                bulk.pk,
                places,
                [one.intent.pk for one in judged],
                [one.intent.seq for one in judged],
                [one.risk for one in judged],
                ["left" if one.refused is None else "excluded" for one in judged],
                [one.word for one in judged],
            ],
        )
