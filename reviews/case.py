"""Everything on the page of one case, read in at most six queries."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Subquery
from django.utils.translation import gettext as _

from notifications.models import Intent, LogEntry, Prepared, Question
from notifications.policy.recipients import mask
from notifications.policy.windows import Protection, protection
from notifications.states import NextAction, State
from notifications.types import registry
from reviews import evidence, hints, rules, story
from reviews.actions import situation_of
from reviews.forms import Typed, VerbForm, choices, verb_form
from reviews.models import Note, Review
from reviews.person import Person
from reviews.record import Done
from reviews.refusals import UnknownCase
from reviews.standing import Standing
from reviews.words import DELIVERY, DONE, KNOWN, NEXT_ACTIONS, STATES


def read(intent_id: int, person: Person, standing: Standing, typed: Typed | None = None) -> dict[str, Any]:
    """Give the page's facts. Raises UnknownCase."""
    intent = _intent(intent_id)
    log = list(LogEntry.objects.filter(intent_id=intent.pk, month=intent.month).order_by("seq"))
    reviews = list(Review.objects.filter(intent_id=intent.pk).order_by("id"))
    notes = list(Note.objects.filter(intent_id=intent.pk).order_by("id"))
    question = Question.objects.filter(intent_id=intent.pk).first()
    situation = situation_of(intent, log, question)
    attempts = story.attempts(log)
    return {
        **_facts(intent, standing.now),
        "asked": situation.asked,
        "answers": evidence.told(log, situation.asked.proof),
        "attempts": attempts,
        "picture_width": story.picture_width(attempts),
        "manual_count": sum(attempt.is_manual for attempt in attempts),
        "deeds": story.deeds(reviews, notes),
        "lines": story.lines(log),
        "left_out": max(len(log) - story.MAX_ENTRIES, 0),
        "forms": _forms(intent, situation, person, standing.now, typed),
        "risk": hints.risk(intent, standing.now, rules.absent_at(situation, standing.now)),
        "standing": standing,
    }


def done_notice(done: Done) -> str:
    """Say what was done, or that this very form did it before, and when."""
    if done.repeated:
        return _("Already done by you at %(at)s UTC; nothing was done twice.") % {"at": f"{done.at:%H:%M:%S}"}
    return str(DONE[done.verb])


def _intent(intent_id: int) -> Intent:
    current = Prepared.objects.filter(intent_id=OuterRef("pk"), generation=OuterRef("generation"))
    intent = (
        Intent.objects.select_related("account", "content")
        .defer("head", "content__data", "content__commitment")
        .annotate(
            body_hash=Subquery(current.values("sha256")[:1]),
            template_version=Subquery(current.values("template_version")[:1]),
        )
        .filter(pk=intent_id)
        .first()
    )
    if intent is None:
        raise UnknownCase
    return intent


def _facts(intent: Intent, now: datetime) -> dict[str, Any]:
    kind = registry.get(intent.type)
    digest = getattr(intent, "body_hash", None)
    return {
        "intent": intent,
        "state": STATES[intent.state],
        "known": KNOWN.get(intent.known or ""),
        "delivery": DELIVERY[intent.delivery_status],
        "meaning": hints.meaning(intent.error_code),
        "sentence": hints.sentence(intent, now),
        "next_action": NEXT_ACTIONS.get(intent.next_action or "", "") if intent.state == State.NEEDS_REVIEW else "",
        "recipient": _recipient(intent),
        "loss_model": kind.loss_model if kind else "",
        "body_hash": bytes(digest).hex() if digest else "",
        "protection": protection(intent.safe_until, now).value,
        "protected": protection(intent.safe_until, now) is Protection.OPEN,
    }


def _recipient(intent: Intent) -> str:
    """Give the mask: the address itself goes no further than this function."""
    content = getattr(intent, "content", None)
    if content is None or content.recipient is None:
        return _("erased")
    return mask(content.recipient)


def _forms(
    intent: Intent, situation: rules.Situation, person: Person, now: datetime, typed: Typed | None
) -> list[VerbForm]:
    first = rules.recommended(situation, intent.next_action, now)
    # An undo stands first since it is urgent, not since it is wise; nor is a retry before the provider was asked.
    is_advice = first != "undo" and (first != "retry" or intent.next_action != NextAction.QUERY_PROVIDER)
    risky = {"retry"} if rules.absent_at(situation, now) else set()
    return [
        verb_form(
            choice,
            is_recommended=is_advice and choice.verb == first,
            is_risky=choice.verb in risky,
            typed=typed,
        )
        for choice in choices(situation, person, now, first)
    ]
