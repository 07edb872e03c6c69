"""Carries a run out, in the cluster: a canary first, then batches at the rate that was ordered, until all is known.

Each batch is one step: its decisions, their record and its checkpoint commit together. Whoever dies in one has done
nothing of it; whoever takes the run up goes on with what is left.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from django.db import InterfaceError, OperationalError, connection, transaction

from notifications import runs
from notifications.models import Run
from reviews import asking
from reviews.bulk import limits, outcomes, pace
from reviews.bulk.many import Fate, perform_many
from reviews.bulk.models import BulkItem, BulkRun
from reviews.bulk.order import find
from reviews.person import Person, carrier
from reviews.refusals import NotPermitted

logger = logging.getLogger(__name__)

# One transaction holds no more, so that nobody waits long for its locks.
BATCH: Final = 200
# A smooth pace of small batches: a run of five a second releases five each second.
TICK_S: Final = 1.0
# How soon the page learns what came of a case, and a person's wish is obeyed.
LOOK_S: Final = 0.5
NAP_S: Final = 0.1
# Fewer outcomes than this say little, unless the canary is smaller.
ENOUGH: Final = 5
_OUTCOME: Final = """
UPDATE notifyops_private.reviews_bulkitem t SET outcome = f.outcome, code = f.code, seq_after = f.seq_after,
    released_at = CASE WHEN f.outcome <> 'skipped' THEN c.now END,
    settled_at = CASE WHEN f.outcome <> 'released' THEN c.now END
FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::int[]) AS f(id, outcome, code, seq_after),
    (SELECT notifyops_private.clock_v1() AS now) c
WHERE t.id = f.id
"""


@dataclass(slots=True)
class Carrying:
    """One run under way in this process. `leaving`: the process must let go of it."""

    bulk: BulkRun
    person: Person
    run: runs.Running
    leaving: Callable[[], bool]
    next_at: float = 0.0
    look_at: float = 0.0
    place: int = field(init=False)

    def __post_init__(self) -> None:
        """Go on behind the last step."""
        self.place = int(self.run.checkpoint.get("place", 0))


def carry(bulk_id: int, leaving: Callable[[], bool]) -> None:
    """Go on with a run until it ends, a person stops it, or this process must let go of it.

    Of one that was stopped only what became of its last orders is noted.
    """
    bulk = find(bulk_id)
    if bulk.run is None:
        return
    if bulk.run.state not in runs.GOES_ON:
        with transaction.atomic():
            outcomes.settle(bulk)  # what was ordered before it stopped
        return
    try:
        with runs.taken_up(bulk.run.pk) as run:
            try:
                _carry(Carrying(bulk, _still_permitted(bulk), run, leaving))
            except (OperationalError, InterfaceError):
                # Whatever is the matter with the database: nothing of the step is done, and the next look goes on.
                raise runs.HandedOver from None
    except (runs.AlreadyRuns, runs.Stopped, runs.HandedOver, runs.GaveUp):
        return


def _still_permitted(bulk: BulkRun) -> Person:
    """Give who ordered it, with what they may do now. Raises GaveUp where that is not enough any more."""
    person = carrier(bulk.actor, bulk.user)
    try:
        limits.check(bulk.verb, person, bulk.eligible_count)
    except (NotPermitted, limits.TooMany):
        raise runs.GaveUp("not_permitted") from None
    return person


def _carry(one: Carrying) -> None:
    while True:
        if one.leaving():
            raise runs.HandedOver
        if time.monotonic() >= one.look_at:
            one.look_at = time.monotonic() + LOOK_S
            one.run.step(lambda: _settle(one))
            stop = _why_stop(one.bulk)
            if stop:
                logger.error("bulk run stops: %s", stop, extra={"action": "bulk_stopped", "bulk": one.bulk.pk})
                # Unless a person has just wished for something: that stands.
                own = Run.objects.filter(pk=one.run.pk, state="running", wish="")
                own.update(wish="pause", wished_by=f"rule:{stop}")
                one.look_at = 0.0
                continue
            if _is_over(one.bulk):
                return
        count = _room(one)
        if count:
            _decide(one, count)
        _nap(one)


def _settle(one: Carrying) -> runs.Done:
    """Note what became of what was released."""
    found = outcomes.settle(one.bulk)
    tally: dict[str, int] = {}
    for each in found:
        tally[each.outcome] = tally.get(each.outcome, 0) + 1
    failed = [runs.Failed(each.place, each.code) for each in found if each.outcome == "failed"]
    return runs.Done(0, {"place": one.place}, tally, failed)


def _room(one: Carrying) -> int:
    """Give how many may be released now: by the canary first, then by the rate and by what is known."""
    if time.monotonic() < one.next_at:
        return 0
    most = max(1, min(BATCH, int(one.bulk.rate * TICK_S)))
    canary = outcomes.canary(one.bulk)
    if canary.released < one.bulk.canary:
        return min(most, one.bulk.canary - canary.released)
    ahead = max(pace.AHEAD, canary.accepted) - canary.unknown
    if (canary.released == one.bulk.canary and canary.waiting) or ahead <= 0:
        one.next_at = time.monotonic() + LOOK_S
        return 0
    return min(most, ahead)


def _decide(one: Carrying, count: int) -> None:
    """Do one step about the next cases of the list; what their applications say of them is asked before."""
    left = BulkItem.objects.filter(bulk=one.bulk, outcome="left").order_by("place")
    ids = list(left.values_list("intent_id", flat=True)[:count])
    cases = asking.to_ask(ids) if one.bulk.verb == "retry" else {}
    if len(cases) > asking.AT_ONCE:
        beyond = [pk for pk in ids if pk in cases][asking.AT_ONCE]
        ids = ids[: ids.index(beyond)]
        cases = {pk: cases[pk] for pk in ids if pk in cases}
    with asking.ahead(cases):
        one.run.step(lambda: _release(one, ids))


def _release(one: Carrying, ids: list[int]) -> runs.Done:
    """Decide these cases of the list, in the step's transaction. Raises GaveUp."""
    # Each time anew: who loses the permission while it runs orders nothing more.
    one.person = _still_permitted(find(one.bulk.pk))
    # Still left: a step whose commit was not heard of is done again.
    left = BulkItem.objects.filter(bulk=one.bulk, outcome="left", intent_id__in=ids).order_by("place")
    items = list(left.only("id", "place", "intent_id", "seq"))
    if not items:
        one.next_at = time.monotonic() + LOOK_S
        return runs.Done(0, {"place": one.place})
    fates = perform_many(one.bulk, {item.intent_id: item.seq for item in items}, one.person)
    done = "closed" if one.bulk.verb == "close" else "released"
    rows = [(item.pk, *_noted(fates[item.intent_id], done)) for item in items]
    with connection.cursor() as cursor:
        cursor.execute(_OUTCOME, [list(column) for column in zip(*rows, strict=True)])
    one.place = items[-1].place
    one.next_at = time.monotonic() + len(items) / one.bulk.rate
    tally = {"ordered": sum(not fate.word for fate in fates.values())}
    tally["skipped"] = len(items) - tally["ordered"]
    return runs.Done(len(items), {"place": one.place}, tally)


def _noted(fate: Fate, done: str) -> tuple[str, str, int | None]:
    return ("skipped", fate.word, None) if fate.word else (done, "", fate.seq_after)


def _why_stop(bulk: BulkRun) -> str:
    """Give why the run must stop by itself: the database's own trouble, the last outcomes, an account that is off.

    A restored or copied database does not know what of the list was carried out: going on would burn the list.
    """
    if outcomes.site_trouble():
        return "site"
    recent = outcomes.recent(bulk)
    if recent.count >= min(ENOUGH, bulk.canary) and recent.is_too_bad(bulk.max_bad):
        return "outcomes"
    if bulk.verb == "retry" and outcomes.open_breaker(bulk):
        return "breaker"
    return ""


def _is_over(bulk: BulkRun) -> bool:
    return not BulkItem.objects.filter(bulk=bulk, outcome__in=("left", "released")).exists()


def _nap(one: Carrying) -> None:
    """Rest until there is something to do: the next batch is due, or it is time to look at what came of the last."""
    while not one.leaving():
        rest_s = min(t for t in (one.next_at, one.look_at) if t) - time.monotonic()
        if rest_s <= 0:
            return
        time.sleep(min(rest_s, NAP_S))
