"""Take, release, take over, and the next free case: who looks after what. The writer of these three verbs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from uuid import uuid4

from django.db import IntegrityError, transaction

from notifications.models import Intent
from notifications.states import State
from reviews import holds, rules
from reviews.holds import Held
from reviews.models import Review
from reviews.person import Person
from reviews.record import Done, Order, review_fields, taken_before, write_review
from reviews.refusals import UnreadableForm


def give(verb: str, intent: Intent, order: Order, said: tuple[Person, str, Held | None, datetime]) -> Done:
    """Write whose the case is from now on, and the record of it; the caller has the case's lock and asked the rules.

    `said`: the person, the reason's text, who has it until now, and the database's time. Raises UnreadableForm where
    the form's token has served in this very moment.
    """
    person, text, held, now = said
    review = Review(**review_fields(verb, intent, order, person), outcome="done", action_token=order.token, reason=text)
    review.seq_after = intent.seq
    if verb == "release":
        holds.drop(intent.pk)
    else:
        review.after = {"taken_until": holds.write(intent.pk, person, now).isoformat(timespec="seconds")}
    if verb == "take_over" and held is not None:
        review.before = (review.before or {}) | {"taken_by": held.by}
    try:
        with transaction.atomic():
            return write_review(review)
    except IntegrityError:
        raise UnreadableForm from None


def take_one_of(candidates: Iterable[int], order: Order, person: Person, now: datetime) -> Done | None:
    """Take the first that is free, in the caller's transaction; None where none is.

    A case whose lock somebody has is being taken or decided by them: it is passed over and not waited for, so two
    people who ask at once get two cases. Raises NotPermitted, UnreadableForm.
    """
    if "take" not in person.verbs:
        raise rules.not_permitted("take")
    earlier = taken_before(order, person)
    if earlier:
        return earlier
    for intent_id in candidates:
        if not holds.try_lock(intent_id):
            continue
        held = holds.of(intent_id)
        intent = Intent.objects.filter(pk=intent_id, state=State.NEEDS_REVIEW).first()
        if intent is not None and (held is None or not held.stands(now)):
            return give("take", intent, replace(order, seq=intent.seq), (person, "", held, now))
    return None


def give_back(intent_id: int, person: Person, now: datetime) -> None:
    """Release what the person goes on from, if it is still theirs; in the caller's transaction."""
    if "release" not in person.verbs or not holds.try_lock(intent_id):
        return
    held = holds.of(intent_id)
    intent = Intent.objects.filter(pk=intent_id).first()
    if intent is None or held is None or not held.stands(now) or held.keeps_out(person, now):
        return
    give("release", intent, Order(token=uuid4(), seq=intent.seq), (person, "", held, now))
