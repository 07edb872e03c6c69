"""One page of the queue: keyset paging, capped counts, and no OFFSET at any depth."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection
from django.db.models import BooleanField, Count, F, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce

from notifications.models import Intent, LogEntry
from reviews.models import Review

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
    rank = _RANKS[sort]
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
    way = [order.desc(), F("id").desc()] if backwards else [order.asc(), F("id").asc()]
    rows = list(_shown(cases).order_by(*way)[: size + 1])
    has_more = len(rows) > size
    rows = rows[:size]
    if backwards:
        rows.reverse()
    return Page(
        rows,
        older=_cursor(rows[-1], sort) if rows and (has_more or backwards) else "",
        newer=_cursor(rows[0], sort) if rows and (has_more if backwards else place is not None) else "",
    )


def _shown(cases: QuerySet[Intent]) -> QuerySet[Intent]:
    """Add what the columns need; manual attempts are counted in the log, a short index range for each row."""
    claims = LogEntry.objects.filter(
        intent_id=OuterRef("pk"), month=OuterRef("month"), kind="claimed", trigger="manual"
    ).order_by()
    by_hand = claims.values("intent_id").annotate(n=Count("seq")).values("n")
    return (
        cases.select_related("account")
        .annotate(manual_attempts=Coalesce(Subquery(by_hand, output_field=IntegerField()), 0))
        .defer("head")
    )


def _cursor(row: Intent, sort: str) -> str:
    at = row.safe_until if sort == "safe" else row.review_since
    return f"{at.isoformat() if at else _NEVER}_{row.pk}"


def count_capped(cases: QuerySet[Intent]) -> int:
    """Count up to one more than the cap."""
    return cases.order_by()[: COUNT_CAP + 1].count()


def last_decision_at() -> datetime | None:
    """Give when a person last decided a case, for the page that has nothing to show."""
    return Review.objects.filter(outcome="done").order_by("-at").values_list("at", flat=True).first()


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
