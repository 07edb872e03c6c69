"""What the ways out need beside a retry, a close and the provider's word: a person's rules, of which each says why not.

Approve and decline, correct, resend, wait and resume, withdraw, undo; take, release and take over. Pure, as
reviews/rules.py.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from notifications.states import FINAL, Found, Known, State
from reviews import times
from reviews.person import Person, identity
from reviews.refusals import NotAllowedNow, NotPermitted, Refused, Sentence, TakenByOther
from reviews.situation import Situation
from reviews.words import person_name

SENDING_NOW: Final = _("A worker is sending this now: wait for its answer, then decide.")
EXPIRED: Final = _("Its expiry has passed, so the next claim would cancel it: close it, or enqueue a new notification.")
# What a restore bars, by the word of the database's `forgotten_v1`.
BARRED: Final[dict[str, Sentence]] = {
    "recovering": _(
        "The database was restored, and the provider is asked first what was sent since: a recovery is open, or must "
        "be opened. On the server, “manage.py notify recover” says how far it is."
    ),
    "forgotten": _(
        "The database was restored, and the provider has a message of this notification that is forgotten here: one "
        "more could be a second one. Look at it at the provider; then adopt its answer, or close this."
    ),
    "unlisted": _(
        "The database was restored, and the provider's long list is still being read for messages that are forgotten "
        "here: wait for its end, at most a day. On the server, “manage.py notify recover” says how far it is."
    ),
}
ARRIVED: Final = _("The recipient has a message of this notification already: a new one would be a second one.")
NOT_UNDONE: Final = _("Only a retry that a person ordered, and no worker has taken yet, can be undone.")
OTHERS_RETRY: Final = _("Somebody else ordered this retry: only they or a lead can undo it.")
OWN_NOTIFICATION: Final = _("You asked for this notification yourself: somebody else must approve it.")
NOT_THE_ADDRESS: Final = _("It is not the address that keeps this from arriving.")
_ENDED: Final = _("This has ended already: there is nothing to take back.")
NOT_WITHDRAWN: Final[dict[str, Sentence]] = {
    State.SENDING: SENDING_NOW,
    State.ACCEPTED: _("The provider has accepted this: it cannot be taken back."),
    State.CLOSED: _ENDED,
    State.CANCELLED: _ENDED,
}
NOT_IN_REVIEW: Final[dict[str, Sentence]] = {
    "retry": _("Only a case that needs review can be retried."),
    "adopt": _("Only a case that needs review can adopt an answer."),
    "correct": _("Only a case that needs review can get another address."),
    "resend": _("Only a case that needs review can be sent anew."),
    "wait": _("Only a case that needs review can be set aside."),
    "unblock": _("Only at a case that needs review can the block of an address be lifted."),
    "take": _("Only a case that needs review can be taken."),
    "take_over": _("Only a case that needs review can be taken."),
}


def undo(situation: Situation, person: Person, now: datetime) -> Refused | None:
    """Only what a person ordered and no worker has taken: a retry, or the message to a corrected address."""
    if situation.state == State.PENDING and situation.corrected_by and not situation.attempted:
        by = situation.corrected_by
    elif situation.state == State.RETRY and situation.manual:
        by = situation.retried_by or ""
    else:
        return NotAllowedNow(NOT_UNDONE, word="not_undone")
    if by != person.name and not person.leads:
        return NotPermitted(OTHERS_RETRY, word="others_retry")
    return None


def barred(situation: Situation) -> Refused | None:
    """Give what a restore has against sending this once more."""
    if not situation.barred:
        return None
    return NotAllowedNow(BARRED[situation.barred], word=situation.barred)


def approve(situation: Situation, person: Person, now: datetime) -> Refused | None:
    """What was held, or a resend that another lead asked for; never one's own."""
    request = situation.open_request(now)
    if situation.barred and (request is not None or _is_held(situation)):
        return barred(situation)
    if _is_held(situation):
        asked_by = (situation.asked_by, situation.corrected_by)
        if any(one and identity(one) == identity(person.name) for one in asked_by):
            return NotPermitted(OWN_NOTIFICATION, word="own_notification")
        return NotAllowedNow(EXPIRED, word="expired") if situation.is_expired(now) else None
    if request is None:
        return NotAllowedNow(_("This does not wait for approval."), word="not_held")
    if identity(request.asked_by) == identity(person.name):
        return NotPermitted(_("You asked for this resend yourself: a second lead must confirm it."), word="same_person")
    return NotAllowedNow(EXPIRED, word="expired") if situation.is_expired(now) else None


def decline(situation: Situation, person: Person, now: datetime) -> Refused | None:
    """What waits for approval, or for a second person. One's own as well: that takes it back."""
    if _is_held(situation) or situation.open_request(now) is not None:
        return None
    return NotAllowedNow(_("This does not wait for approval."), word="not_held")


def correct(situation: Situation, person: Person, now: datetime) -> Refused | None:
    """What an address keeps from arriving, and of which nothing may be on its way."""
    refused = _not_in_review("correct", situation) or barred(situation)
    if refused:
        return refused
    if not situation.wants_other_address:
        return NotAllowedNow(NOT_THE_ADDRESS, word="not_the_address")
    if situation.earlier in ("arrived", "disputed"):
        return NotAllowedNow(ARRIVED, word="arrived")
    return NotAllowedNow(EXPIRED, word="expired") if situation.is_expired(now) else None


def resend(situation: Situation, person: Person, now: datetime) -> Refused | None:
    """What nobody can settle: the provider was asked just now, and does not know."""
    refused = _not_in_review("resend", situation) or barred(situation)
    if refused:
        return refused
    if not _is_for_a_resend(situation, now):
        return NotAllowedNow(
            _("A resend is for what may have arrived and is protected by no key any more."), word="window_open"
        )
    if situation.is_expired(now):
        return NotAllowedNow(EXPIRED, word="expired")
    unclear = _not_unclear(situation, now) if situation.ambiguous else None
    if unclear is None and situation.open_request(now) is not None:
        return NotAllowedNow(_("A resend is asked for already: a second lead must confirm it."), word="asked")
    return unclear


def _is_for_a_resend(situation: Situation, now: datetime) -> bool:
    """What may be out and no key protects: an attempt, or something earlier that two persons may overrule."""
    if situation.earlier in ("given_up", "disputed") and situation.known in _SENDABLE:
        absent = situation.asked.last_answer == Found.NOT_FOUND
        return situation.is_past_window(now) or absent or not situation.ambiguous
    return not situation.earlier and situation.known == Known.UNKNOWN and situation.is_past_window(now)


def _not_unclear(situation: Situation, now: datetime) -> Refused | None:
    """The provider was asked about the present attempt just now, and does not know."""
    sentence = _NOT_INCONCLUSIVE.get(situation.asked.last_answer)
    if situation.earlier and situation.asked.last_answer == Found.NOT_FOUND:
        sentence = None  # of the earlier one that says nothing
    if situation.asked.was_found:
        sentence = _NOT_INCONCLUSIVE[Found.FOUND]
    if sentence or not situation.asked.last_answer:
        return NotAllowedNow(sentence or _NEVER_ASKED, word="no_evidence")
    if not situation.asked.last_is_fresh(now):
        return NotAllowedNow(
            _("The provider's answer is more than ten minutes old: ask it again."), word="evidence_old"
        )
    return None


_SENDABLE: Final = frozenset({Known.UNKNOWN, Known.NOT_SENT, Known.INVALID, Known.SOFT_BOUNCED})
_NEVER_ASKED: Final = _("The provider must be asked first: a resend is for what it cannot tell.")
_NOT_INCONCLUSIVE: Final[dict[str, Sentence]] = {
    Found.FOUND: _("The provider has this message: adopt its answer."),
    Found.NOT_FOUND: _("The provider does not have this message: a retry on that evidence is enough."),
    Found.UNAVAILABLE: _("The provider could not be asked: a resend is for what it was asked and cannot tell."),
}


def wait(situation: Situation, person: Person, now: datetime) -> Refused | None:
    """Any case in review, also one that is set aside already: the new time counts."""
    return _not_in_review("wait", situation)


def resume(situation: Situation, person: Person, now: datetime) -> Refused | None:
    """What is set aside."""
    if situation.is_snoozed(now):
        return None
    return NotAllowedNow(_("This is not set aside."), word="not_snoozed")


def withdraw(situation: Situation, person: Person, now: datetime) -> Refused | None:
    """What has not left, or may not have."""
    if situation.state == State.SENDING:
        return NotAllowedNow(NOT_WITHDRAWN[State.SENDING], word="move")
    if situation.state == State.ACCEPTED:
        return NotAllowedNow(NOT_WITHDRAWN[State.ACCEPTED], word="move")
    if situation.state in FINAL:
        return NotAllowedNow(NOT_WITHDRAWN[State.CLOSED], word="move")
    return None


def take(situation: Situation, person: Person, now: datetime) -> Refused | None:
    """What is free, or one's own already: then the time begins anew."""
    held = situation.held
    if held is None or not held.keeps_out(person, now):
        return _not_in_review("take", situation)
    if "take_over" in person.verbs:
        sentence = _("{who} has this case until {until}: you may take it over, with a reason.")
    else:
        sentence = _("{who} has this case until {until}: a lead may take it over, with a reason.")
    return TakenByOther(format_lazy(sentence, who=person_name(held.by), until=times.clock(held.until, "%H:%M")))


def release(situation: Situation, person: Person, now: datetime) -> Refused | None:
    """What one has taken, and still has."""
    held = situation.held
    if held is not None and held.stands(now) and not held.keeps_out(person, now):
        return None
    return NotAllowedNow(_("You have not taken this case, or your time is over: it is free."), word="not_taken")


def take_over(situation: Situation, person: Person, now: datetime) -> Refused | None:
    """What somebody else has taken."""
    held = situation.held
    if held is not None and held.keeps_out(person, now):
        return _not_in_review("take_over", situation)
    return NotAllowedNow(_("Nobody else has this case: take it."), word="not_taken")


def _is_held(situation: Situation) -> bool:
    return situation.state == State.NEEDS_REVIEW and situation.known == Known.AWAITING_APPROVAL


def _not_in_review(verb: str, situation: Situation) -> Refused | None:
    if situation.state == State.NEEDS_REVIEW:
        return None
    return NotAllowedNow(NOT_IN_REVIEW[verb], word="move")


WAYS: Final[dict[str, Callable[[Situation, Person, datetime], Refused | None]]] = {
    "undo": undo,
    "approve": approve,
    "decline": decline,
    "correct": correct,
    "resend": resend,
    "wait": wait,
    "resume": resume,
    "withdraw": withdraw,
    "take": take,
    "release": release,
    "take_over": take_over,
}
