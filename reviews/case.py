"""Everything on the page of one case, read in at most six queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db.models import CharField, F, Func, OuterRef, Subquery
from django.db.models.lookups import IsNull
from django.utils.translation import gettext as _

from notifications.models import Intent, LogEntry, Prepared, Question
from notifications.policy.codes import FORGOTTEN_MESSAGE, SECOND_MESSAGE
from notifications.policy.recipients import mask
from notifications.states import CLAIMABLE, FINAL, EntryKind, State
from notifications.types import registry
from reviews import (
    advice,
    evidence,
    groups_page,
    hints,
    holding_page,
    links,
    not_called,
    picture,
    risks,
    rules,
    shield,
    story,
    times,
)
from reviews.done_words import done_sentence
from reviews.forms import SPANS, Typed, VerbForm, choices, verb_form
from reviews.models import Note, Review
from reviews.person import Person
from reviews.record import Done
from reviews.refusals import Sentence, UnknownCase
from reviews.situation import EARLIER, Situation, situation_of
from reviews.standing import Standing
from reviews.ways import BARRED
from reviews.words import DELIVERY, KNOWN, STATES


def read(intent_id: int, person: Person, standing: Standing, typed: Typed | None = None) -> dict[str, Any]:
    """Give the page's facts. Raises UnknownCase."""
    intent = _intent(intent_id, standing.now)
    log = list(LogEntry.objects.filter(intent_id=intent.pk, month=intent.month).order_by("seq"))
    reviews = list(Review.objects.filter(intent_id=intent.pk).order_by("id"))
    notes = list(Note.objects.filter(intent_id=intent.pk).order_by("id"))
    before, after = links.read(intent, log)
    replaced = after is not None and after.is_correction and not after.is_cancelled
    mended = groups_page.mended(intent) if intent.state == State.NEEDS_REVIEW else None
    held = holding_page.held(intent)
    situation = replace(_situation(intent, log, replaced=replaced), held=held, mended=mended is not None)
    advised = advice.advise(situation, person, standing.now)
    return {
        **_facts(intent, standing.now),
        **_told(log, intent.state),
        **holding_page.read(intent, situation, person, standing.now),
        "sentence": _sentence(intent, standing, log),
        "shield": shield.shield(intent, log, standing.now),
        "asked": situation.asked,
        "awaited": situation.asked.is_awaited(standing.now),
        "answers": evidence.told(log, situation.asked.proof),
        "deeds": story.deeds(reviews, notes),
        "next_action": advised.words,
        "recommended": advised.verb,
        "mended": mended,
        "barred": _barred(intent, situation),
        "forms": _forms(intent, situation, standing.now, (person, advised.verb, typed)),
        "risk": risks.risk(intent, standing.now, rules.absent_at(situation, standing.now)),
        "standing": standing,
        "before": before,
        "after": after,
        "request_open": situation.open_request(standing.now),
        "snoozed_until": intent.snoozed_until if situation.is_snoozed(standing.now) else None,
        "is_expired": intent.state == State.NEEDS_REVIEW and situation.is_expired(standing.now),
        "spans": SPANS,
        "is_moving": _is_moving(intent, standing.now),
        "undo_left_ms": _undo_left_ms(intent, standing.now),
    }


def _told(log: list[LogEntry], state: str) -> dict[str, Any]:
    """Give what the log alone tells."""
    attempts = story.attempts(log)
    ends = [entry for entry in log if entry.kind == EntryKind.RESULT]
    return {
        "attempts": attempts,
        "picture": picture.draw(attempts, state),
        "manual_count": sum(attempt.is_manual for attempt in attempts),
        "lines": story.lines(log),
        "left_out": max(len(log) - story.MAX_ENTRIES, 0),
        "field": story.field_of(ends[-1] if ends else None),
        "may_duplicate": any(entry.reason_code == "forced_resend" for entry in log),
    }


def _situation(intent: Intent, log: list[LogEntry], *, replaced: bool) -> Situation:
    question = getattr(intent, "question", None)  # read with its intent, as what a restore bars
    found = situation_of(intent, log, question, _body(intent), replaced=replaced)
    return replace(found, barred=getattr(intent, "barred", None) or "")


def _body(intent: Intent) -> tuple[str, bool] | None:
    mode = getattr(intent, "body_mode", None)
    return None if mode is None else (mode, bool(getattr(intent, "body_is_erased", False)))


def awaits_answer(intent_id: int, standing: Standing) -> bool:
    """Tell whether a page that shows the case should go on waiting for the provider's answer."""
    question = Question.objects.filter(intent_id=intent_id).first()
    return evidence.asked((), 0, question).is_awaited(standing.now)


def is_moving(intent_id: int, standing: Standing) -> bool:
    """Tell whether a page that shows the case should go on waiting for the end of an attempt that is due or runs."""
    intent = Intent.objects.only("state", "next_attempt_at").filter(pk=intent_id).first()
    return intent is not None and _is_moving(intent, standing.now)


def _is_moving(intent: Intent, now: datetime) -> bool:
    """An attempt is queued or runs, and is due or ends about now, by the time for which a page watches."""
    at = intent.next_attempt_at
    return at is not None and abs(at - now) < evidence.WATCHED


def moved_notice(intent_id: int, standing: Standing) -> str:
    """Say what became of the attempt that a page waited for."""
    intent = Intent.objects.only("state", "next_attempt_at").filter(pk=intent_id).first()
    if intent is None:
        return ""
    if intent.next_attempt_at is not None and intent.next_attempt_at <= standing.now:
        return _("No worker has ended this yet, and this page looks no more by itself.")
    return _("The case has moved on: %(state)s.") % {"state": STATES[intent.state].word}


def _undo_left_ms(intent: Intent, now: datetime) -> int:
    """Give how long the order surely waits for an undo; 0 where any worker may take it already."""
    if intent.state not in CLAIMABLE or intent.next_attempt_at is None:
        return 0
    return max(int((intent.next_attempt_at - now).total_seconds() * 1000), 0)


def done_notice(done: Done) -> str:
    """Say what was done, or that this very form did it before, and when."""
    if done.repeated:
        return _("Already done by you at %(at)s; nothing was done twice.") % {"at": times.clock(done.at)}
    return str(done_sentence(done))


def _intent(intent_id: int, now: datetime) -> Intent:
    current = Prepared.objects.filter(intent_id=OuterRef("pk"), generation=OuterRef("generation"))
    intent = (
        Intent.objects.select_related("account", "content", "question")
        .defer("head", "content__data", "content__commitment")
        .annotate(
            body_hash=Subquery(current.values("sha256")[:1]),
            body_mode=Subquery(current.values("site_mode")[:1]),
            body_is_erased=Subquery(current.values(gone=IsNull(F("body"), True))[:1]),
            template_version=Subquery(current.values("template_version")[:1]),
            barred=Func(F("pk"), function="notifyops_private.forgotten_v1", output_field=CharField()),
            **holding_page.columns(now),
            earlier=EARLIER,
        )
        .filter(pk=intent_id)
        .first()
    )
    if intent is None:
        raise UnknownCase
    return intent


def _sentence(intent: Intent, standing: Standing, log: Sequence[LogEntry]) -> str:
    was_sent_anew = any(
        entry.kind == EntryKind.RE_PREPARED and "may_duplicate" in (entry.detail or {}) for entry in log
    )
    told = hints.Told(was_sent_anew, _double(log), story.unclear(log, intent.generation))
    said = hints.sentence(intent, standing.now, told)
    return " ".join([said, *(not_called.waits(intent, standing) if intent.state in CLAIMABLE else ())])


def _double(log: Sequence[LogEntry]) -> str:
    """Give the code by which the log speaks of another message of this notification, whatever came since."""
    for entry in reversed(log):
        if entry.code in (SECOND_MESSAGE, FORGOTTEN_MESSAGE):
            return entry.code
        if "second" in (entry.detail or {}):
            return SECOND_MESSAGE
    return ""


def _facts(intent: Intent, now: datetime) -> dict[str, Any]:
    kind = registry.get(intent.type)
    digest = getattr(intent, "body_hash", None)
    return {
        "intent": intent,
        "state": STATES[intent.state],
        "known": KNOWN.get(intent.known or ""),
        "delivery": DELIVERY[intent.delivery_status],
        "code": hints.standing_code(intent),
        "meaning": hints.meaning(hints.standing_code(intent)),
        "recipient": _recipient(intent),
        "is_configuration": groups_page.is_of_configuration(intent.error_code, intent.next_action),
        "is_of_type": kind is not None and groups_page.is_of_type(intent.error_code, intent.next_action),
        "loss_model": kind.loss_model if kind else "",
        "body_hash": bytes(digest).hex() if digest else "",
    }


def _recipient(intent: Intent) -> str:
    """Give the mask: the address itself goes no further than this function."""
    content = getattr(intent, "content", None)
    if content is None or content.recipient is None:
        return _("erased")
    return mask(content.recipient)


def _barred(intent: Intent, situation: Situation) -> Sentence:
    """Say why nobody may have it sent once more after a restore; that a message is forgotten, wherever it stands."""
    passes = situation.barred in ("recovering", "unlisted")
    if intent.state in FINAL or (passes and intent.state != State.NEEDS_REVIEW):
        return ""
    return BARRED.get(situation.barred, "")


def _forms(
    intent: Intent, situation: Situation, now: datetime, asked: tuple[Person, str | None, Typed | None]
) -> list[VerbForm]:
    person, first, typed = asked
    # An undo stands first since it is urgent, not since it is wise.
    is_advice = first != "undo"
    risky = {"resend"} | ({"retry"} if rules.absent_at(situation, now) else set())
    if situation.open_request(now) is not None:
        risky.add("approve")
    return [
        verb_form(
            choice,
            is_recommended=is_advice and choice.verb == first,
            is_risky=choice.verb in risky,
            typed=typed,
            report_id=intent.report_id,
        )
        for choice in choices(situation, person, now, first)
    ]
