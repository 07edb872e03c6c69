"""Figures of the queue: what comes and goes, how old it is, of which codes, and which causes come again and again."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django.db import connection
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from reviews import charts, hints
from reviews.charts import Chart
from reviews.queue import COUNT_CAP
from reviews.refusals import Sentence

HOURS: Final = 24
DAYS: Final = 14
CODES: Final = 20
# The newest of what came into review, among which repeated causes are looked for; each costs a look at its intent.
LOOKED_AT: Final = 20_000
WEEK: Final = timedelta(days=7)

# By the quarter: hours and days of every zone begin at one, and the database need not know the reader's.
_FLOW: Final = """
SELECT date_bin('15 minutes', l.at, timestamptz '2000-01-01 00:00Z'),
    count(*) FILTER (WHERE l.to_state = 'needs_review'), count(*) FILTER (WHERE l.to_state <> 'needs_review')
FROM notifyops_private.notifications_logentry l
WHERE (l.from_state = 'needs_review') <> (l.to_state = 'needs_review') AND l.at >= %(from)s
GROUP BY 1
"""
# How long something has been in review, each band counted to the cap along the order of waiting.
_BANDS: Final[tuple[tuple[str, Sentence, timedelta | None, timedelta | None], ...]] = (
    ("", _("under 1 hour"), None, timedelta(hours=1)),
    ("", _("1 to 4 hours"), timedelta(hours=1), timedelta(hours=4)),
    ("", _("4 to 24 hours"), timedelta(hours=4), timedelta(days=1)),
    ("", _("1 to 3 days"), timedelta(days=1), timedelta(days=3)),
    ("", _("3 to 7 days"), timedelta(days=3), timedelta(days=7)),
    ("1w", _("over 7 days"), timedelta(days=7), None),
)
_AGES: Final = """
SELECT b.place, (SELECT count(*) FROM (
    SELECT FROM notifyops_private.notifications_intent i WHERE i.state = 'needs_review'
      AND i.review_since <= b.newest AND i.review_since > b.oldest LIMIT %(cap)s) c)
FROM unnest(%(places)s::int[], %(newest)s::timestamptz[], %(oldest)s::timestamptz[]) AS b(place, newest, oldest)
"""
# From one code to the next along the index, each counted to the cap.
_BY_CODE: Final = """
WITH RECURSIVE hop AS (
    (SELECT error_code FROM notifyops_private.notifications_intent
     WHERE state = 'needs_review' ORDER BY error_code LIMIT 1)
    UNION ALL
    SELECT (SELECT i.error_code FROM notifyops_private.notifications_intent i
            WHERE i.state = 'needs_review' AND i.error_code > hop.error_code ORDER BY i.error_code LIMIT 1)
    FROM hop WHERE hop.error_code IS NOT NULL
)
SELECT hop.error_code, (SELECT count(*) FROM (
    SELECT FROM notifyops_private.notifications_intent i
    WHERE i.state = 'needs_review' AND i.error_code = hop.error_code LIMIT %(cap)s) c) AS n
FROM hop WHERE hop.error_code IS NOT NULL ORDER BY n DESC, hop.error_code LIMIT %(limit)s
"""
# One cause: a code of one type at one account. Twice: the case came back after somebody had decided it.
_CAUSES: Final = """
WITH came AS MATERIALIZED (
    SELECT l.code, l.intent_id, l.at FROM notifyops_private.notifications_logentry l
    WHERE (l.from_state = 'needs_review') <> (l.to_state = 'needs_review') AND l.to_state = 'needs_review'
      AND l.at >= %(from)s ORDER BY l.at DESC LIMIT %(looked)s
), each AS (
    SELECT c.intent_id, coalesce(c.code, '') AS code, count(*) AS times, max(c.at) AS last FROM came c GROUP BY 1, 2
)
SELECT e.code, a.name, i.type, count(*) AS cases, count(*) FILTER (WHERE e.times > 1) AS again, max(e.last),
    count(*) FILTER (WHERE i.state = 'needs_review') AS open,
    (SELECT count(*) FROM came) AS looked
FROM each e JOIN notifyops_private.notifications_intent i ON i.id = e.intent_id
JOIN notifyops_private.notifications_provideraccount a ON a.id = i.account_id
GROUP BY 1, 2, 3 HAVING count(*) > 1 OR count(*) FILTER (WHERE e.times > 1) > 0
ORDER BY cases DESC, e.code LIMIT 20
"""


@dataclass(frozen=True, slots=True)
class Slot:
    """An hour or a day, what came into review in it, and what left."""

    at: datetime
    came: int
    went: int


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a table with its bar: `share` in hundredths of the largest, `count` as it is printed."""

    label: Sentence
    count: str
    share: int
    url: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause that made more than one case within a week, or one case more than once."""

    code: str
    provider: str
    type: str
    cases: int
    again: int
    last_at: datetime
    open: int
    url: str
    meaning: str
    cure: str


def read(now: datetime) -> dict[str, Any]:
    """Give the page's facts, in four queries, each bounded by an index of what is in review, came to it or left it."""
    hours, days = _flows(now)
    causes, looked = _causes(now)
    return {
        "hours": hours,
        "days": days,
        "hours_chart": _chart(hours),
        "days_chart": _chart(days),
        "ages": _ages(now),
        "codes": _by_code(),
        "codes_limit": CODES,
        "causes": causes,
        "causes_were_cut": f"{LOOKED_AT:,}" if looked >= LOOKED_AT else "",
    }


def _chart(slots: list[Slot]) -> Chart:
    return charts.pairs([(slot.at, slot.came, slot.went) for slot in slots])


def _flows(now: datetime) -> tuple[list[Slot], list[Slot]]:
    """Give the hours and the days of the reader's zone up to the present ones, which are not over.

    Slots in which nothing happened stand there as well.
    """
    own = timezone.localtime(now)
    zone = own.tzinfo
    hour = own.replace(minute=0, second=0, microsecond=0).astimezone(UTC)
    hours = [hour - timedelta(hours=HOURS - 1 - place) for place in range(HOURS)]
    today = own.date()
    days = [datetime.combine(today - timedelta(days=DAYS - 1 - place), time(), zone) for place in range(DAYS)]
    with connection.cursor() as cursor:
        cursor.execute(_FLOW, {"from": min(hours[0], days[0])})
        quarters = cursor.fetchall()
    return _slots(hours, quarters), _slots(days, quarters)


def _slots(begins: list[datetime], quarters: list[tuple[datetime, int, int]]) -> list[Slot]:
    """Count each quarter of an hour to the slot in which it lies; what lies before the first one is left out."""
    instants = [at.astimezone(UTC) for at in begins]
    came, went = [0] * len(begins), [0] * len(begins)
    for at, comes, goes in quarters:
        place = bisect_right(instants, at) - 1
        if place >= 0:
            came[place] += comes
            went[place] += goes
    return [Slot(at, *pair) for at, *pair in zip(begins, came, went, strict=True)]


def _ages(now: datetime) -> list[Line]:
    newest = [now - young if young else now for _age, _word, young, _old in _BANDS]
    oldest = [now - old if old else datetime.min.replace(tzinfo=now.tzinfo) for _age, _word, _young, old in _BANDS]
    values: dict[str, Any] = {
        "places": list(range(len(_BANDS))),
        "newest": newest,
        "oldest": oldest,
        "cap": COUNT_CAP + 1,
    }
    with connection.cursor() as cursor:
        cursor.execute(_AGES, values)
        counts = dict(cursor.fetchall())
    found = [counts.get(place, 0) for place in range(len(_BANDS))]
    urls = [_queue_url(age=age) if age else "" for age, *_rest in _BANDS]
    rows = zip(_BANDS, found, charts.shares(found), urls, strict=True)
    return [Line(band[1], _printed(count), share, url) for band, count, share, url in rows]


def _by_code() -> list[Line]:
    with connection.cursor() as cursor:
        cursor.execute(_BY_CODE, {"cap": COUNT_CAP + 1, "limit": CODES})
        rows = cursor.fetchall()
    lengths = charts.shares([count for _code, count in rows])
    return [
        Line(code, _printed(count), share, _queue_url(code=code), hints.meaning(code))
        for (code, count), share in zip(rows, lengths, strict=True)
    ]


def _causes(now: datetime) -> tuple[list[Cause], int]:
    with connection.cursor() as cursor:
        cursor.execute(_CAUSES, {"from": now - WEEK, "looked": LOOKED_AT})
        rows = cursor.fetchall()
    return [_cause(row) for row in rows], int(rows[0][-1]) if rows else 0


def _cause(row: tuple[Any, ...]) -> Cause:
    code, provider, kind, cases, again, last_at, still_open, _looked = row
    url = _queue_url(code=code, provider=provider, type=kind, taken="any")
    return Cause(
        *(code, provider, kind, cases, again, last_at, still_open, url),
        meaning=hints.meaning(code),
        cure=hints.cure(code),
    )


def _queue_url(**filters: str) -> str:
    return f"{reverse('reviews:queue')}?{urlencode({name: value for name, value in filters.items() if value})}"


def _printed(count: int) -> str:
    return f"{COUNT_CAP:,}+" if count > COUNT_CAP else f"{count:,}"
