"""What the pages of a plan and of a run show: counts of outcomes, never of orders alone, and the cases behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django.db import connection
from django.db.models import Count, Exists, OuterRef
from django.http import QueryDict
from django.urls import reverse

from notifications.models import Intent, Run
from notifications.policy.reasons import MAX_REASON, MIN_REASON
from reviews import hints, listing
from reviews.bulk import deeds, follow, judge, limits, order, outcomes, pace, words
from reviews.bulk.models import RATES, BulkItem, BulkRun
from reviews.bulk.plan import filter_of
from reviews.deed_words import DEEDS
from reviews.forms import offered
from reviews.models import Review
from reviews.person import Person
from reviews.reasons import CODES_THAT_WANT_TEXT
from reviews.refusal_words import REFUSALS
from reviews.refusals import Refused, Sentence
from reviews.standing import Standing
from reviews.words import KNOWN, REASONS, Badge, person_name

SAMPLE: Final = 10
PAGE: Final = 100
_COUNTS: Final = """
SELECT CASE WHEN t.outcome <> 'accepted' THEN t.outcome WHEN i.state = 'needs_review' THEN 'came_back'
    WHEN i.delivery_status = 'delivered' THEN 'delivered' ELSE t.outcome END AS shown, count(*)
FROM notifyops_private.reviews_bulkitem t
LEFT JOIN notifyops_private.notifications_intent i ON i.id = t.intent_id WHERE t.bulk_id = %s GROUP BY 1
"""
_PLANNED: Final = """
SELECT t.outcome, t.code, t.risk, i.workspace, count(*) FROM notifyops_private.reviews_bulkitem t
JOIN notifyops_private.notifications_intent i ON i.id = t.intent_id WHERE t.bulk_id = %s GROUP BY 1, 2, 3, 4
"""
_PACE: Final = """
SELECT count(*) / 10.0 FROM notifyops_private.reviews_bulkitem t
WHERE t.bulk_id = %s AND t.released_at > %s::timestamptz - interval '10 seconds'
"""
_ENDED: Final = ("accepted", "delivered", "came_back", "closed", "failed", "skipped", "moved")
_WITH_A_WHY: Final = ("skipped", "moved", "failed")
_CLEAN: Final = frozenset({"accepted", "delivered", "closed", "excluded"})


@dataclass(frozen=True, slots=True)
class Line:
    """One case of the list."""

    item: BulkItem
    intent: Intent | None
    badge: Badge
    known: Badge | None
    why: Sentence
    risk: Sentence


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody said of the plan or run as a whole; `refusal` says why it was not done."""

    at: datetime
    who: str
    what: Sentence
    refusal: Sentence
    reason: str


def read(bulk: BulkRun, person: Person, standing: Standing, query: QueryDict) -> dict[str, Any]:
    """Give what the page of a plan or a run shows."""
    counts = _counts(bulk) if bulk.run else {}
    common = {
        "bulk": bulk,
        "standing": standing,
        "verb": words.VERBS[bulk.verb],
        "badge": words.badge(bulk, is_clean=not counts.keys() - _CLEAN),
        "chips": _chips(bulk, standing.now),
        "is_capped": bulk.matched_count > limits.MANY,
        "most": f"{limits.MANY:,}",
        "said": [_said(row) for row in deeds.said_of(bulk)] if bulk.run else [],
    }
    if bulk.run is None:
        return common | _plan(bulk, person, standing.now)
    return common | _progress(bulk, bulk.run, person, standing.now, counts) | _lines(bulk, query)


def _said(row: Review) -> Said:
    refusal = REFUSALS.get(row.refusal, row.refusal)
    return Said(row.at, person_name(row.actor), DEEDS.get(row.action, row.action), refusal, row.reason)


def _chips(bulk: BulkRun, now: datetime) -> list[listing.Chip]:
    if not bulk.query:
        return []
    try:
        return listing.chips(filter_of(bulk.query, now), QueryDict(bulk.query))
    except Refused:  # a filter that this release does not know any more
        return [listing.Chip("", bulk.query[:200], "")]


def _counts(bulk: BulkRun) -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, [bulk.pk])
        return dict(cursor.fetchall())


def _plan(bulk: BulkRun, person: Person, now: datetime) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(_PLANNED, [bulk.pk])
        rows = cursor.fetchall()
    risks, excluded, places = dict.fromkeys(words.RISKS, 0), dict[str, int](), dict[str, int]()
    for outcome, code, risk, workspace, count in rows:
        if outcome == "excluded":
            excluded[code] = excluded.get(code, 0) + count
        else:
            risks[risk] = risks.get(risk, 0) + count
            places[workspace] = places.get(workspace, 0) + count
    left = BulkItem.objects.filter(bulk=bulk, outcome="left")
    sample = left.order_by("place")[:SAMPLE]
    before = Review.objects.filter(intent=OuterRef("intent"), action="retry", outcome="done")
    by_hand = left.filter(Exists(before)).count() if bulk.verb == "retry" else 0
    return {
        "by_hand": by_hand,
        "by_hand_shown": f"{by_hand:,}",
        "risks": [(words.RISKS.get(risk, risk), count) for risk, count in risks.items()],
        "excluded": [(judge.why(code), count) for code, count in sorted(excluded.items(), key=lambda one: -one[1])],
        "workspaces": sorted(places.items(), key=lambda one: (-one[1], one[0]))[:20],
        "more_workspaces": max(len(places) - 20, 0),
        "sample": _shown(list(sample)),
        "duration": _duration(bulk, bulk.rate),
        "durations": [(rate, _duration(bulk, rate)) for rate in RATES],
        "codes": [(code, offered(code), code in CODES_THAT_WANT_TEXT) for code in order.REASONS[bulk.verb]],
        "stops": order.STOPS,
        "most_canary": order.CANARIES[-1],
        "must_type": bulk.eligible_count > order.TYPED_ABOVE,
        "is_mine": bulk.actor == person.name,
        "is_old": now - bulk.planned_at > order.GOOD_FOR,
        "is_forgotten": not rows and bulk.total_count > 0,
        "least_text": MIN_REASON,
        "most_text": MAX_REASON,
    }


def _duration(bulk: BulkRun, rate: int) -> str:
    return hints.span(timedelta(seconds=pace.planned_s(bulk.verb, bulk.eligible_count, rate, bulk.canary)))


def _progress(bulk: BulkRun, run: Run, person: Person, now: datetime, counts: Mapping[str, int]) -> dict[str, Any]:
    ended = sum(counts.get(name, 0) for name in _ENDED)
    left = counts.get("left", 0)
    with connection.cursor() as cursor:
        cursor.execute(_PACE, [bulk.pk, now])
        speed = float(cursor.fetchone()[0])
    last_code, last_id = outcomes.last_failure(bulk)
    may = limits.may_steer(bulk, person)
    is_running = run.state == "running"
    return {
        "share": 100 * ended // max(1, bulk.eligible_count),
        "shown": follow.mark(run, counts),
        "every_s": follow.every_s(run, counts, now),
        "whys": _whys(bulk) if counts.keys() & _WITH_A_WHY else [],
        "ended": ended,
        "counts": [(name, badge, counts[name]) for name, badge in words.OUTCOMES.items() if counts.get(name)],
        "pace": f"{speed:.1f}",
        "eta": _eta(bulk, left, now) if is_running and not run.wish and (left or counts.get("released")) else "",
        "last_code": last_code,
        "last_meaning": hints.meaning(last_code),
        "last_id": last_id,
        "why_stopped": words.why_stopped(run),
        "may_pause": may and is_running,
        "may_resume": may and run.state in ("paused", "failed", "interrupted"),
        "may_cancel": may and run.state in ("running", "paused", "failed", "interrupted"),
        "is_running": is_running,
        "reason_word": REASONS.get(bulk.reason_code, bulk.reason_code),
    }


def _eta(bulk: BulkRun, left: int, now: datetime) -> str:
    """Give in how long the last outcome is known; nothing of orders that are overdue: an account holds them back."""
    stand = pace.read(bulk, left, now)
    return "" if not left and stand.out.keys() == {1} else hints.span(timedelta(seconds=pace.ends_in_s(stand)))


def _whys(bulk: BulkRun) -> list[tuple[Badge, Sentence, int]]:
    """Say why cases did not come to what was ordered, with how many there are of each."""
    found = BulkItem.objects.filter(bulk=bulk, outcome__in=_WITH_A_WHY).values_list("outcome", "code")
    rows = found.annotate(count=Count("id")).order_by("-count", "outcome", "code")
    return [(words.OUTCOMES[outcome], words.why(outcome, code), count) for outcome, code, count in rows]


def _lines(bulk: BulkRun, query: QueryDict) -> dict[str, Any]:
    """Give one page of the list, by place: at any depth one range of an index."""
    chosen = query.get("outcome", "")
    items = BulkItem.objects.filter(bulk=bulk).order_by("place")
    if chosen in words.OUTCOMES:
        items = items.filter(outcome="accepted" if chosen in ("delivered", "came_back") else chosen)
    after = query.get("after", "")
    if after.isascii() and after.isdigit() and len(after) < 9:
        items = items.filter(place__gt=int(after))
    found = list(items[: PAGE + 1])
    more = {"after": str(found[PAGE - 1].place)} if len(found) > PAGE else {}
    if more and chosen:
        more["outcome"] = chosen
    here = reverse("reviews:bulk", args=[bulk.pk])
    return {
        "lines": _shown(found[:PAGE]),
        "next_url": f"{here}?{urlencode(more)}" if more else "",
        "is_first": not after,
        "chosen": chosen if chosen in words.OUTCOMES else "",
    }


def _shown(items: list[BulkItem]) -> list[Line]:
    ids = [item.intent_id for item in items]
    intents = Intent.objects.select_related("account").defer("head").in_bulk(ids)
    return [_line(item, intents.get(item.intent_id)) for item in items]


def _line(item: BulkItem, intent: Intent | None) -> Line:
    shown = item.outcome
    if shown == "accepted" and intent is not None:
        is_back = intent.state == "needs_review"
        shown = "came_back" if is_back else "delivered" if intent.delivery_status == "delivered" else shown
    known = KNOWN.get(intent.known or "") if intent is not None else None
    return Line(
        item,
        intent,
        words.OUTCOMES[shown],
        known,
        words.why(item.outcome, item.code),
        words.RISKS.get(item.risk, item.risk),
    )
