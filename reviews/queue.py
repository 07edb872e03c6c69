"""One page of the queue: keyset paging, capped counts, and no OFFSET at any depth."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection
from django.db.models import (
    BooleanField,
    Count,
    DateTimeField,
    F,
    IntegerField,
    OuterRef,
    QuerySet,
    Subquery,
)
from django.db.models.expressions import OrderBy, RawSQL
from django.db.models.functions import Coalesce

from notifications.models import Intent, LogEntry
from notifications.states import State
from reviews import advised
from reviews.models import ApprovalRequest, Hold, Review

# Counting on costs 8 ms at this cap and a second at a million rows; the page prints "10,000+".
COUNT_CAP: Final = 10_000
SIZES: Final = (25, 50, 100)
DEFAULT_SIZE: Final = 50
_NEVER: Final = "infinity"

_RANKS: Final = {
    "safe": "coalesce(notifications_intent.safe_until, 'infinity'::timestamptz)",
    "oldest": "notifications_intent.review_since",
}
SORTS: Final = tuple(_RANKS)
# Outside of review nothing is urgent: the newest stand first, by the primary key.
NEWEST: Final = "newest"
# How many of the newest a list outside of review looks at: whatever the filter, 50,000 rows are read within 0.1 s.
LOOKED_AT: Final = 50_000
# Few among all that was accepted, with an index of their own.
_INDEXED: Final = frozenset({State.CLOSED, State.CANCELLED})


class BadCursor(ValueError):
    """The place in the list that the URL names cannot be read."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page begins: behind (or, going back, before) one row of the order."""

    rank: str
    id: int
    backwards: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """The rows in order, and the cursors of the neighbours; an empty one means that there is none."""

    rows: list[Intent]
    older: str = ""
    newer: str = ""


def read_place(after: str, before: str) -> Place | None:
    """Give the place that the URL names. Raises BadCursor."""
    text = after or before
    if not text:
        return None
    rank, _, number = text.rpartition("_")
    if not number.isascii() or not number.isdigit() or len(number) > 18:
        raise BadCursor
    if rank != _NEVER:
        try:
            found = datetime.fromisoformat(rank)
        except ValueError:
            raise BadCursor from None
        if found.tzinfo is None:
            raise BadCursor
    return Place(rank, int(number), backwards=not after)


def read_page(cases: QuerySet[Intent], place: Place | None, size: int, sort: str) -> Page:
    """Read one page: the index gives the rows in order from the place on, however deep it is."""
    backwards = place is not None and place.backwards
    cases, way = _from_newest(cases, place) if sort == NEWEST else _from_place(cases, place, _RANKS[sort])
    rows = list(_shown(cases).order_by(*way)[: size + 1])
    has_more = len(rows) > size
    rows = rows[:size]
    advised.tell(rows)
    if backwards:
        rows.reverse()
    return Page(
        rows,
        older=_cursor(rows[-1], sort) if rows and (has_more or backwards) else "",
        newer=_cursor(rows[0], sort) if rows and (has_more if backwards else place is not None) else "",
    )


def ids_behind(cases: QuerySet[Intent], place: Place | None, limit: int, sort: str) -> list[int]:
    """Give the ids of what stands next in the order, without reading the rows."""
    found, way = _from_newest(cases, place) if sort == NEWEST else _from_place(cases, place, _RANKS[sort])
    return list(found.order_by(*way).values_list("pk", flat=True)[:limit])


def place_of(row: Intent, sort: str, *, backwards: bool = False) -> Place:
    """Give the place of a row in the order, to look behind or before it."""
    rank, _, number = _cursor(row, sort).rpartition("_")
    return Place(rank, int(number), backwards=backwards)


def _from_place(cases: QuerySet[Intent], place: Place | None, rank: str) -> tuple[QuerySet[Intent], list[OrderBy]]:
    backwards = place is not None and place.backwards
    if place is not None:
        sign = "<" if backwards else ">"
        behind = RawSQL(  # noqa: S611 (constants of this file; the values are bound)
            f"({rank}, notifications_intent.id) {sign} (%s::timestamptz, %s)",
            [place.rank, place.id],
            output_field=BooleanField(),
        )
        cases = cases.filter(behind)
    # Not selected: Python has no time for `infinity`.
    order = RawSQL(rank, [])  # noqa: S611 (a constant of this file)
    return cases, [order.desc(), F("id").desc()] if backwards else [order.asc(), F("id").asc()]


def _from_newest(cases: QuerySet[Intent], place: Place | None) -> tuple[QuerySet[Intent], list[OrderBy]]:
    if place is None:
        return cases, [F("id").desc()]
    if place.backwards:
        return cases.filter(pk__gt=place.id), [F("id").asc()]
    return cases.filter(pk__lt=place.id), [F("id").desc()]


def newest_from(state: str) -> int:
    """Give the id from which on a list of this state looks, outside of review."""
    chosen = Intent.objects.filter(state=state) if state in _INDEXED else Intent.objects.all()
    first = chosen.order_by("-pk").values_list("pk", flat=True)[LOOKED_AT - 1 : LOOKED_AT].first()
    return first or 0


def safe_rank() -> RawSQL:
    """Give the expression of the default order: when protection ends, `infinity` where there is none."""
    return RawSQL(_RANKS["safe"], [], output_field=DateTimeField())  # noqa: S611 (a constant of this file)


def never() -> RawSQL:
    """Give the time that a case without a window has in that order."""
    return RawSQL("'infinity'::timestamptz", [], output_field=DateTimeField())


def _shown(cases: QuerySet[Intent]) -> QuerySet[Intent]:
    """Add what the columns need; what the log knows, by a short index range for each row."""
    claims = LogEntry.objects.filter(
        intent_id=OuterRef("pk"), month=OuterRef("month"), kind="claimed", trigger="manual"
    ).order_by()
    by_hand = claims.values("intent_id").annotate(n=Count("seq")).values("n")
    # Not EXISTS: for the rows that a list might have, the planner would read the whole log once and keep it.
    forced = LogEntry.objects.filter(
        intent_id=OuterRef("pk"), month=OuterRef("month"), kind="retried", reason_code="forced_resend"
    ).order_by()
    asked = ApprovalRequest.objects.filter(intent=OuterRef("pk"), outcome="").order_by()
    held = Hold.objects.filter(pk=OuterRef("pk")).order_by()
    return (
        cases.select_related("account")
        .annotate(
            manual_attempts=Coalesce(Subquery(by_hand, output_field=IntegerField()), 0),
            forced_at=Subquery(forced.values("at")[:1]),
            resend_until=Subquery(asked.values("expires_at")[:1]),
            taken_by=Subquery(held.values("taken_by")[:1]),
            taken_until=Subquery(held.values("expires_at")[:1]),
            **advised.columns(),
        )
        .defer("head")
    )


def _cursor(row: Intent, sort: str) -> str:
    if sort == NEWEST:
        return f"{_NEVER}_{row.pk}"
    at = row.safe_until if sort == "safe" else row.review_since
    return f"{at.isoformat() if at else _NEVER}_{row.pk}"


def count_capped(cases: QuerySet[Intent]) -> int:
    """Count up to one more than the cap."""
    return cases.order_by()[: COUNT_CAP + 1].count()


def last_decision_at() -> datetime | None:
    """Give when a person last decided a case, for the page that has nothing to show."""
    return (
        Review.objects.filter(outcome="done", intent__isnull=False).order_by("-at").values_list("at", flat=True).first()
    )


def codes_in_review(limit: int = 100) -> list[str]:
    """Give the error codes in review by hopping along the index: one probe for each code, however many cases."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH RECURSIVE hop AS (
                (SELECT error_code FROM notifyops_private.notifications_intent
                 WHERE state = 'needs_review' ORDER BY error_code LIMIT 1)
                UNION ALL
                SELECT (SELECT i.error_code FROM notifyops_private.notifications_intent i
                        WHERE i.state = 'needs_review' AND i.error_code > hop.error_code
                        ORDER BY i.error_code LIMIT 1)
                FROM hop WHERE hop.error_code IS NOT NULL
            )
            SELECT error_code FROM hop WHERE error_code IS NOT NULL LIMIT %s
            """,
            [limit],
        )
        return [row[0] for row in cursor.fetchall()]
