"""What people decided in the last day, and what came of it: each decision beside what the log says since."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection

from notifications.states import State
from reviews.refusals import Sentence
from reviews.words import DELIVERY, ENTRIES, KNOWN, OUTCOMES, REASONS, STATES, Badge, person_name
from reviews.words import VERBS as VERB_WORDS

SPAN: Final = timedelta(hours=24)
SHOWN: Final = 100
COUNTED: Final = 10_000

# A later decision on the same case: what comes of the case is that one's. A question decides nothing.
_LATER: Final = """EXISTS (
    SELECT FROM notifyops_private.reviews_review n
    WHERE n.intent_id = {d}.intent_id AND n.id > {d}.id AND n.outcome = 'done'
      AND n.action NOT IN ('take', 'release', 'take_over', 'query'))"""
# The newest decisions of the span; for each the first end of an attempt behind it, and the last entry of all. An
# attempt behind another order of a person is not this one's.
_SQL: Final = f"""
WITH d AS MATERIALIZED (
    SELECT r.id, r.at, r.actor, r.action, r.intent_id, r.reason_code, r.seq_after
    FROM notifyops_private.reviews_review r
    WHERE r.outcome = 'done' AND r.at > %(from)s AND r.action NOT IN ('take', 'release', 'take_over') {{mine}}
    ORDER BY r.at DESC, r.id DESC LIMIT %(limit)s
)
SELECT d.id, d.at, d.actor, d.action, d.intent_id, i.notification_id, d.reason_code, i.state, i.known,
    i.delivery_status, i.error_code, a.outcome, a.code, l.kind, l.at, i.seq, {_LATER.format(d="d")},
    coalesce(a.kind = 'undone', false)
FROM d JOIN notifyops_private.notifications_intent i ON i.id = d.intent_id
LEFT JOIN LATERAL (
    SELECT e.kind, e.outcome, e.code FROM notifyops_private.notifications_logentry e
    WHERE e.intent_id = d.intent_id AND e.month = i.month AND e.seq > d.seq_after
      AND (e.kind IN ('result', 'lease_lost') OR (e.actor IS NOT NULL AND e.from_state <> e.to_state))
      AND d.action IN ('retry', 'approve', 'correct')
    ORDER BY e.seq LIMIT 1
) a ON true
LEFT JOIN LATERAL (
    SELECT e.kind, e.at FROM notifyops_private.notifications_logentry e
    WHERE e.intent_id = d.intent_id AND e.month = i.month AND e.seq > d.seq_after ORDER BY e.seq DESC LIMIT 1
) l ON true
ORDER BY d.at DESC, d.id DESC
"""
# All of the span, by verb and by what the case is now; each case at the last decision on it.
_COUNTS: Final = f"""
SELECT d.action, d.is_past, i.state, i.delivery_status = 'delivered', count(*)
FROM (
    SELECT r.action, r.intent_id, {_LATER.format(d="r")} AS is_past FROM notifyops_private.reviews_review r
    WHERE r.outcome = 'done' AND r.at > %(from)s AND r.action NOT IN ('take', 'release', 'take_over') {{mine}}
    ORDER BY r.at DESC, r.id DESC LIMIT %(counted)s
) d JOIN notifyops_private.notifications_intent i ON i.id = d.intent_id GROUP BY 1, 2, 3, 4
"""
_KINDS: Final = ("delivered", "accepted", "queued", "back", "ended", "past")


@dataclass(frozen=True, slots=True)
class Watched:
    """One decision, the attempt that it led to, what the case is now, and when anything last happened to it.

    `is_past`: somebody decided on the case again since, so that what it is now came of that. `is_undone`: it was taken
    back before any attempt.
    """

    at: datetime
    who: str
    what: Sentence
    why: Sentence
    intent_id: int
    seq: int
    key: str
    attempt: Badge | None
    code: str
    case_code: str
    now: Badge
    aside: Badge | None
    last: Sentence
    last_at: datetime | None
    is_past: bool
    is_undone: bool


@dataclass(frozen=True, slots=True)
class Sum:
    """How many decisions of one verb there were, and what their cases are now; `past`: of how many it is not theirs."""

    what: Sentence
    count: int
    delivered: int
    accepted: int
    queued: int
    back: int
    ended: int
    past: int


def read(now: datetime, actor: str) -> dict[str, Any]:
    """Give the page's facts, in two queries. `actor`: whose decisions; everybody's where it is empty."""
    values: dict[str, Any] = {"from": now - SPAN, "limit": SHOWN + 1, "counted": COUNTED + 1, "actor": actor}
    mine = "AND r.actor = %(actor)s" if actor else ""
    with connection.cursor() as cursor:
        cursor.execute(_SQL.format(mine=mine), values)
        rows = cursor.fetchall()
        cursor.execute(_COUNTS.format(mine=mine), values)
        sums = _sums(cursor.fetchall())
    counted = sum(one.count for one in sums)
    return {
        "watched": [_watched(row) for row in rows[:SHOWN]],
        "was_cut": len(rows) > SHOWN,
        "limit": SHOWN,
        "sums": sums,
        "total": f"{COUNTED:,}+" if counted > COUNTED else f"{counted:,}",
    }


def _watched(row: tuple[Any, ...]) -> Watched:
    _id, at, actor, action, intent_id, key, reason, *case = row
    state, known, delivery, error_code, outcome, code, kind, last_at, seq, is_past, is_undone = case
    aside = None
    if state == State.NEEDS_REVIEW:
        aside = KNOWN.get(known or "")
    elif state == State.ACCEPTED:
        aside = DELIVERY.get(delivery)
    return Watched(
        at=at,
        who=person_name(actor),
        what=VERB_WORDS.get(action, action),
        why=REASONS.get(reason, reason),
        intent_id=intent_id,
        seq=seq,
        key=key,
        attempt=OUTCOMES.get(outcome or ""),
        code=(code or "") if outcome else "",
        case_code=(error_code or "") if state == State.NEEDS_REVIEW else "",
        now=STATES[state],
        aside=aside,
        last=ENTRIES.get(kind, kind) if kind else "",
        last_at=last_at,
        is_past=is_past,
        is_undone=is_undone,
    )


def _sums(rows: list[tuple[str, bool, str, bool, int]]) -> list[Sum]:
    """Gather the counts in the order of the verbs. Delivered is counted apart from accepted: they are two words."""
    found: dict[str, dict[str, int]] = {}
    for action, is_past, state, delivered, count in rows:
        kinds = found.setdefault(action, dict.fromkeys(_KINDS, 0))
        kinds["past" if is_past else _kind(state, is_delivered=delivered)] += count
    return [
        Sum(what=VERB_WORDS[action], count=sum(found[action].values()), **found[action])
        for action in VERB_WORDS
        if action in found
    ]


def _kind(state: str, *, is_delivered: bool) -> str:
    if state == State.ACCEPTED:
        return "delivered" if is_delivered else "accepted"
    if state == State.NEEDS_REVIEW:
        return "back"
    return "ended" if state in (State.CLOSED, State.CANCELLED) else "queued"
