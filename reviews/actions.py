"""Every decision of a person: permission → door → Review, in one transaction. The only writer of both.

A refusal is recorded too, in a transaction of its own, without the form's token: the same form can be sent again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.utils.translation import gettext as _

from notifications import door
from notifications.delivery import reconcile
from notifications.models import Intent, LogEntry, Question
from notifications.states import EntryKind, Known, NextAction, State
from reviews import evidence, rules
from reviews.consent import check_risk, check_still_wanted
from reviews.models import Note, Review
from reviews.person import Person
from reviews.reasons import check_reason
from reviews.record import Done, Order, done_before, review_fields, snapshot, write_note, write_refusal, write_review
from reviews.refusals import (
    ChangedMeanwhile,
    NotAllowedNow,
    NotPermitted,
    Refused,
    UnknownCase,
    UnreadableForm,
)
from reviews.words import changed_sentence


class Reason(NamedTuple):
    """Why, as it is stored."""

    code: str
    text: str


_MOVES = {
    "retry": (EntryKind.RETRIED, State.RETRY),
    "undo": (EntryKind.UNDONE, State.NEEDS_REVIEW),
    "adopt": (EntryKind.ADOPTED, State.ACCEPTED),
    "approve": (EntryKind.RELEASED, State.PENDING),
    "close": (EntryKind.CLOSED, State.CLOSED),
    "reopen": (EntryKind.REOPENED, State.NEEDS_REVIEW),
}


def perform(verb: str, intent_id: int, order: Order, person: Person) -> Done:
    """Carry out one decision in a transaction of its own. Raises Refused, which is on record then."""
    try:
        with transaction.atomic():
            return _decide(verb, intent_id, order, person)
    except Refused as refused:
        intent = Intent.objects.filter(pk=intent_id).first()
        if intent is not None:
            write_refusal(verb, intent, order, person, refused)
        raise


def situation_of(intent: Intent, log: Sequence[LogEntry], question: Question | None) -> rules.Situation:
    """Give what the rules need of an intent; `log` holds at least what evidence.KINDS names, in order."""
    return rules.Situation(
        state=intent.state,
        known=intent.known,
        ambiguous=intent.first_ambiguous_at is not None,
        safe_until=intent.safe_until,
        manual=intent.manual,
        retried_by=next((entry.actor for entry in reversed(log) if entry.kind == EntryKind.RETRIED), None),
        asked_by=intent.actor,
        attempted=intent.attempt_count > 0,
        adopted=intent.state == State.ACCEPTED and evidence.was_adopted(log),
        asked=evidence.asked(log, intent.generation, question),
    )


def _decide(verb: str, intent_id: int, order: Order, person: Person) -> Done:
    intent = _intent(intent_id)
    if verb not in person.verbs:
        raise NotPermitted(_("Your account does not have the permission for this; ask a lead."))
    _token, seq = order.checked()
    earlier = done_before(verb, intent_id, order, person)
    if earlier:
        return earlier
    code, text = check_reason(verb, order.reason_code, order.reason)
    if verb == "note":
        return _write_note(intent_id, order, text, person)
    if intent.seq != seq and verb != "query":  # a question moves nothing, whatever has moved since
        raise ChangedMeanwhile(changed_sentence(_news(intent, seq)))
    _check_rules(verb, intent, order, person, Reason(code, text))
    if verb == "query":
        return _ask(intent, order, person)
    return _move(verb, intent, order, person, Reason(code, text))


def _check_rules(verb: str, intent: Intent, order: Order, person: Person, reason: Reason) -> None:
    """Raise Refused where the case, the evidence or the application forbids the verb now."""
    situation, now = _situation(intent), _now()
    forbidden = rules.missing(verb, situation, person, now)
    if forbidden:
        raise forbidden
    if verb == "retry":
        if situation.is_past_window(now):
            check_risk(order, reason.code, reason.text)
        check_still_wanted(intent, reason.text)


def _situation(intent: Intent) -> rules.Situation:
    entries = LogEntry.objects.filter(intent_id=intent.pk, month=intent.month, kind__in=evidence.KINDS).order_by("seq")
    return situation_of(intent, list(entries), Question.objects.filter(intent_id=intent.pk).first())


def _ask(intent: Intent, order: Order, person: Person) -> Done:
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


def _move(verb: str, intent: Intent, order: Order, person: Person, reason: Reason) -> Done:
    kind, to_state = _MOVES[verb]
    entry = _entry(verb, intent, to_state, reason.code)
    (appended,) = door.append(kind, [entry], actor=person.name)
    if appended.refused:
        # Somebody held the intent's lock while we waited for it: perhaps the twin of this very form.
        earlier = done_before(verb, intent.pk, order, person)
        if earlier:
            return earlier
        raise _door_refusal(appended.refused, intent)
    review = Review(**review_fields(verb, intent, order, person), outcome="done", action_token=order.token)
    review.reason_code, review.reason = reason.code, reason.text
    review.seq_after, review.after = appended.new_seq, snapshot(_intent(intent.pk))
    try:
        return write_review(review)
    except IntegrityError:  # its token was used for another case in this very moment: the move is rolled back
        raise UnreadableForm from None


def _entry(verb: str, intent: Intent, to_state: State, code: str) -> door.Entry:
    plain: dict[str, Any] = {"id": intent.pk, "to_state": to_state, "seq": intent.seq, "reason_code": code or None}
    if verb == "retry":
        plain["delay_s"] = settings.NOTIFYOPS_UNDO_S
    elif verb == "adopt":
        plain["provider_message_id"] = _named(intent)
    elif verb == "reopen":
        plain |= {
            "code": intent.error_code or "reopened",
            "known": intent.known or _known_of(intent),
            "next_action": intent.next_action or NextAction.ASK_LEAD,
        }
    return door.Entry(**plain)


def _named(intent: Intent) -> str:
    """Give the message to adopt: the one on record where the provider names it, else the first that it took."""
    proof = _situation(intent).asked.proof
    ids = proof.ids if proof else ()
    return intent.provider_message_id if intent.provider_message_id in ids and intent.provider_message_id else ids[0]


def _known_of(intent: Intent) -> Known:
    """Give what is proven where a case was closed before anything about it was recorded."""
    if intent.provider_message_id:
        return Known.ACCEPTED
    return Known.UNKNOWN if intent.attempt_count else Known.NOT_SENT


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


def _door_refusal(word: str, intent: Intent) -> Refused:
    if word in ("seq", "move", "not_retried"):
        return ChangedMeanwhile(changed_sentence(_news(intent, intent.seq)))
    if word == "role":
        return NotPermitted(_("This process's database role may not decide; run it as the web role."), word=word)
    if word == "known":
        return NotAllowedNow(rules.NEVER_RETRIED.get(intent.known or "", _("What is known forbids this.")), word=word)
    return NotAllowedNow(rules.REFUSED_BY_THE_DOOR.get(word, rules.REFUSED_SOMEHOW), word=word)


def _intent(intent_id: int) -> Intent:
    intent = Intent.objects.filter(pk=intent_id).first()
    if intent is None:
        raise UnknownCase
    return intent


def _news(intent: Intent, seq: int) -> list[LogEntry]:
    return list(LogEntry.objects.filter(intent_id=intent.pk, month=intent.month, seq__gt=seq).order_by("seq"))


def _now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT notifyops_private.clock_v1()")
        now: datetime = cursor.fetchone()[0]
    return now
