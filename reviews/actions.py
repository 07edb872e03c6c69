"""Every decision of a person: permission → door → Review, in one transaction. The only writer of both.

A refusal is recorded too, in a transaction of its own, without the form's token: the same form can be sent again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from notifications import door
from notifications.delivery import reconcile
from notifications.models import Intent, LogEntry
from reviews import door_words, holds, reading, rules, steps
from reviews.consent import NO_SUCH_EVIDENCE, check_risk, checked_way
from reviews.holding import give
from reviews.models import HOLDING, VERBS, Note, Review
from reviews.person import Person
from reviews.reasons import check_reason
from reviews.record import Done, Order, done_before, review_fields, snapshot, write_note, write_refusal, write_review
from reviews.refusals import (
    BadReason,
    ChangedMeanwhile,
    NotAllowedNow,
    NotPermitted,
    Refused,
    UnknownCase,
    UnreadableForm,
)
from reviews.words import changed_sentence

# No two remarks can contradict each other: they wait for nobody. Two questions at once would be one asked twice.
_WAITS_FOR_NOBODY: Final = frozenset({"note"})
# Whether they are right does not depend on what the page showed.
_WHATEVER_MOVED: Final = frozenset({*HOLDING, "query"})


class Reason(NamedTuple):
    """Why, as it is stored."""

    code: str
    text: str


def perform(verb: str, intent_id: int, order: Order, person: Person) -> Done:
    """Carry out one decision in a transaction of its own. Raises Refused, which is on record then."""
    try:
        with transaction.atomic():
            return _decide(verb, intent_id, order, person)
    except Refused as refused:
        intent = Intent.objects.filter(pk=intent_id).first()
        # What is no verb, and a code that nobody could choose, are slips and no decisions.
        if intent is not None and verb in VERBS and refused.is_kept:
            write_refusal(verb, intent, order, person, refused)
        raise


def _decide(verb: str, intent_id: int, order: Order, person: Person) -> Done:
    if verb not in person.verbs:
        raise rules.not_permitted(verb)
    if verb not in _WAITS_FOR_NOBODY:
        holds.lock(intent_id)
    intent = _intent(intent_id)
    _token, seq = order.checked()
    earlier = done_before(verb, intent_id, order, person)
    if earlier:
        return earlier
    code, text = check_reason(verb, order.reason_code, order.reason)
    if verb == "note":
        return _write_note(intent_id, order, text, person)
    if intent.seq != seq and verb not in _WHATEVER_MOVED:
        raise ChangedMeanwhile(changed_sentence(_news(intent, seq)))
    situation, now = reading.situations([intent])[intent.pk], reading.now()
    order = check_rules(steps.Step(verb, intent, situation, order, person, code, now), text)
    if verb in _BESIDE:
        return _BESIDE[verb](intent, order, person, text)
    if verb in HOLDING:
        return give(verb, intent, order, (person, text, situation.held, now))
    return _move(steps.Step(verb, intent, situation, order, person, code, now), Reason(code, text))


def check_rules(step: steps.Step, text: str) -> Order:
    """Give the order as it is carried out. Raises Refused where case, evidence or application forbids the verb now."""
    forbidden = rules.missing(step.verb, step.situation, step.person, step.now)
    if forbidden:
        raise forbidden
    if step.verb == "retry" and step.situation.is_past_window(step.now):
        check_risk(step.order, step.code, text)
    elif step.verb == "retry" and step.code not in rules.reasons("retry", step.situation, step.now):
        raise BadReason(NO_SUCH_EVIDENCE, word="no_such_evidence", field="reason_code")
    return checked_way(step, text)


def _ask(intent: Intent, order: Order, person: Person, _text: str) -> Done:
    """Leave the question to the chores: this process has no key that reads from the provider."""
    review = Review(**review_fields("query", intent, order, person), outcome="done", action_token=order.token)
    review.seq_after = intent.seq
    try:
        with transaction.atomic():
            done = write_review(review)
    except IntegrityError:  # the twin of this form was faster, and has committed
        return _repeated("query", intent.pk, order, person)
    reconcile.want(intent.pk, by=person.name)
    return done


def _unblock(intent: Intent, order: Order, person: Person, text: str) -> Done:
    """Lift the block of its address; the record keeps what it was. The case stays where it is: its retry is another."""
    lifted = door.unblock(intent.pk, actor=person.name, site_mode=settings.NOTIFYOPS_SITE_MODE)
    if not lifted:  # somebody was faster, or nothing is left of the address
        raise NotAllowedNow(rules.NOT_BLOCKED, word="not_blocked")
    review = Review(**review_fields("unblock", intent, order, person), outcome="done", action_token=order.token)
    review.reason, review.seq_after, review.after = text, intent.seq, snapshot(intent)
    review.before = (review.before or {}) | {"blocked": ", ".join(sorted(lifted))}
    try:
        return write_review(review)
    except IntegrityError:  # its token has served in this very moment: the block stays
        raise UnreadableForm from None


def _move(step: steps.Step, reason: Reason) -> Done:
    intent, order = step.intent, step.order
    taken = steps.take(step)
    if taken.refused:
        # Somebody held the intent's lock while we waited for it: perhaps the twin of this very form.
        earlier = done_before(step.verb, intent.pk, order, step.person)
        if earlier:
            return earlier
        raise door_refusal(taken.refused, intent)
    review = Review(**review_fields(step.verb, intent, order, step.person), outcome="done", action_token=order.token)
    review.reason_code, review.reason = reason.code, reason.text
    now = _intent(intent.pk)
    review.seq_after, review.after = now.seq, snapshot(now) | taken.after
    review.before = (review.before or {}) | taken.before
    holds.drop(intent.pk)  # decided: what comes of it is anybody's
    try:
        return write_review(review)
    except IntegrityError:  # its token was used for another case in this very moment: the move is rolled back
        raise UnreadableForm from None


def _write_note(intent_id: int, order: Order, text: str, person: Person) -> Done:
    token, _seq = order.checked()
    note = Note(intent_id=intent_id, actor=person.name, user=person.user, text=text, action_token=token)
    try:
        with transaction.atomic():
            return write_note(note)
    except IntegrityError:  # the twin of this form was faster, and has committed
        return _repeated("note", intent_id, order, person)


def _repeated(verb: str, intent_id: int, order: Order, person: Person) -> Done:
    earlier = done_before(verb, intent_id, order, person)
    if earlier is None:
        raise UnreadableForm
    return earlier


# What is done beside the case, and moves it nowhere.
_BESIDE: Final[dict[str, Callable[[Intent, Order, Person, str], Done]]] = {"query": _ask, "unblock": _unblock}


def door_refusal(word: str, intent: Intent) -> Refused:
    """Give the refusal that the door's word stands for."""
    if word in ("seq", "move", "not_retried", "not_snoozed"):
        return ChangedMeanwhile(changed_sentence(_news(intent, intent.seq)))
    if word == "role":
        return NotPermitted(_("This process's database role may not decide; run it as the web role."), word=word)
    if word == "known":
        return NotAllowedNow(
            door_words.NEVER_RETRIED.get(intent.known or "", _("What is known forbids this.")), word=word
        )
    return NotAllowedNow(door_words.REFUSED_BY_THE_DOOR.get(word, door_words.REFUSED_SOMEHOW), word=word)


def _intent(intent_id: int) -> Intent:
    intent = Intent.objects.filter(pk=intent_id).first()
    if intent is None:
        raise UnknownCase
    return intent


def _news(intent: Intent, seq: int) -> list[LogEntry]:
    return list(LogEntry.objects.filter(intent_id=intent.pk, month=intent.month, seq__gt=seq).order_by("seq"))
