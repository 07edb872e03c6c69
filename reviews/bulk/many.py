"""One decision on many cases, in the caller's transaction: judged one by one, then one call of the door, one insert.

What reviews/actions.py does for one: permission → rules → door → Review. A refusal concerns its own case only, and is
on record beside the others; its row stands in the same transaction, since nobody fills in a form again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

from notifications import door
from notifications.models import Intent
from reviews import actions, holds, reading, steps
from reviews.bulk import judge
from reviews.bulk.models import BulkRun
from reviews.models import Review
from reviews.person import Person
from reviews.record import Order, review_fields, snapshot
from reviews.refusals import ChangedMeanwhile, Refused
from reviews.words import changed_sentence


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one case: the version behind the decision, or the word of its refusal."""

    seq_after: int | None
    word: str = ""


def perform_many(bulk: BulkRun, seqs: Mapping[int, int], person: Person) -> dict[int, Fate]:
    """Carry out the run's verb on cases that are still in the version given; tell what became of each.

    The caller has opened the transaction.
    """
    holds.lock_many(seqs)
    intents = list(Intent.objects.filter(pk__in=reading.among(list(seqs))).order_by("pk"))
    now, wanted, refused = reading.now(), dict[int, steps.Step](), dict[int, Refused]()
    for judged in judge.judge(bulk.verb, intents, person, now):
        intent = judged.intent
        order = Order(token=uuid4(), seq=seqs[intent.pk], reason_code=bulk.reason_code, reason=bulk.reason)
        step = steps.Step(bulk.verb, intent, judged.situation, order, person, bulk.reason_code, now)
        try:
            _check(judged, step)
        except Refused as refusal:
            refused[intent.pk] = refusal
        wanted[intent.pk] = step
    _append(bulk, [step for pk, step in wanted.items() if pk not in refused], refused)
    return _write(bulk, wanted, refused) | {pk: Fate(None, "unknown") for pk in seqs.keys() - wanted.keys()}


def _check(judged: judge.Judged, step: steps.Step) -> None:
    """Raise Refused where the case may not be decided so, or is another than it was at the plan.

    The run's remark is no text about this case: it outweighs nothing that the application says of it.
    """
    if step.intent.seq != step.order.seq:
        raise ChangedMeanwhile(changed_sentence([]))
    if judged.refused is not None:
        raise judged.refused
    actions.check_rules(step, "")


def _append(bulk: BulkRun, allowed: list[steps.Step], refused: dict[int, Refused]) -> None:
    entries = []
    for step in allowed:
        kind, entry = steps.entry_of(step)
        entries.append(entry._replace(detail={**(entry.detail or {}), "bulk": bulk.pk}))
    if not entries:
        return
    intents = {step.intent.pk: step.intent for step in allowed}
    for appended in door.append(kind, entries, actor=allowed[0].person.name):
        if appended.refused:
            intent = intents[appended.intent_id]
            refused[intent.pk] = actions.door_refusal(appended.refused, intent)


def _write(bulk: BulkRun, wanted: Mapping[int, steps.Step], refused: Mapping[int, Refused]) -> dict[int, Fate]:
    moved = reading.among(list(wanted.keys() - refused.keys()))
    after = {intent.pk: intent for intent in Intent.objects.filter(pk__in=moved)}
    rows, fates = [], dict[int, Fate]()
    for pk, step in wanted.items():
        row = Review(**review_fields(bulk.verb, step.intent, step.order, step.person), bulk=bulk)
        row.reason_code, row.reason = bulk.reason_code, bulk.reason
        if pk in refused:
            row.outcome, row.refusal = "refused", refused[pk].word
            word = judge.Judged(step.intent, step.situation, refused[pk], "").word
            fates[pk] = Fate(None, word)
        else:
            row.outcome, row.action_token = "done", step.order.token
            row.seq_after, row.after = after[pk].seq, snapshot(after[pk])
            fates[pk] = Fate(after[pk].seq)
        rows.append(row)
    Review.objects.bulk_create(rows)
    return fates
