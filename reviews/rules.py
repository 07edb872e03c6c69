"""What may be done with a case now, and what is missing where it may not. Pure: facts in, a refusal or nothing out.

The same rules choose the page's buttons and guard the action; the database's door has the last word.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from notifications.states import FINAL, Found, Known, State
from reviews import times
from reviews.door_words import NEVER_RETRIED, REFUSED_BY_THE_DOOR
from reviews.evidence import PAUSE
from reviews.holds import Held
from reviews.models import HOLDING, OPERATOR_VERBS
from reviews.person import Person
from reviews.reasons import CODES
from reviews.refusals import NotAllowedNow, NotPermitted, NotProven, Refused, Sentence, TakenByOther
from reviews.situation import Situation
from reviews.ways import EXPIRED, NOT_IN_REVIEW, SENDING_NOW, WAYS, barred
from reviews.words import person_name

# A lead's decisions that reach a recipient, or take something away, for good.
PROVEN: Final = frozenset({"resend", "withdraw", "correct", "adopt"})
# What the holder of a case is asked about; a question and a remark move nothing, and an undo takes back one's own.
_PAST_HOLDS: Final = frozenset({*HOLDING, "query", "note", "undo"})
_HOPELESS: Final = frozenset({Known.BOUNCED, Known.COMPLAINED, Known.SUPPRESSED})
SETTLED: Final = _("This is settled; reopen it to go on with it.")
_CAME_BACK: Final = frozenset({*_HOPELESS, Known.SOFT_BOUNCED, Known.AWAITING_APPROVAL})
CAME_BACK: Final = _("It was accepted, and came back: there is nothing to adopt.")
# Not "within seconds": an account that is not called now is not asked either.
BEING_ASKED: Final = _("The provider is being asked: as soon as its account is called, the answer stands in the log.")
COMPLAINT_STAYS: Final = _("A complaint is the recipient's own word: its block is not lifted.")
NOT_BLOCKED: Final = _("Nothing that a provider said blocks its address here.")
NOT_REOPENED: Final = _("Only a closed case can be reopened, or an answer that was adopted.")
NOT_CLOSED: Final[dict[str, Sentence]] = {
    State.SENDING: SENDING_NOW,
    State.CLOSED: _("This is closed already."),
    State.CANCELLED: _("This was cancelled; nothing is open."),
}


def missing(verb: str, situation: Situation, person: Person, now: datetime) -> Refused | None:
    """Give what forbids the verb, or None where it may be done."""
    if verb not in person.verbs:
        return not_permitted(verb)
    refused = _refused(verb, situation, person, now)
    if refused is None and not person.is_proven and wants_proof(verb, situation, now):
        return NotProven()
    return refused


def wants_proof(verb: str, situation: Situation, now: datetime) -> bool:
    """Tell whether a verb cannot be taken back, so that whoever orders it shows the second factor once more."""
    return verb in PROVEN or (verb == "approve" and situation.open_request(now) is not None)


def _refused(verb: str, situation: Situation, person: Person, now: datetime) -> Refused | None:
    if verb not in _PAST_HOLDS and situation.held is not None and situation.held.keeps_out(person, now):
        return taken(situation.held, person)
    if verb in WAYS:
        return WAYS[verb](situation, person, now)
    if verb in _RULES:
        return _RULES[verb](situation, now)
    if verb == "close" and situation.state in NOT_CLOSED:
        return NotAllowedNow(NOT_CLOSED[situation.state], word="move")
    return None


def not_permitted(verb: str) -> NotPermitted:
    """Give the refusal of a verb that the account lacks; it names who may do it by the groups' first making."""
    if verb in OPERATOR_VERBS:
        return NotPermitted(_("Your account does not have the permission for this; ask an operator or a lead."))
    return NotPermitted(_("Your account does not have the permission for this; ask a lead."))


def taken(held: Held, person: Person) -> TakenByOther:
    """Give the refusal of what somebody else looks after, in words for who may take it over and for who may not."""
    if "take_over" in person.verbs:
        sentence = _("{who} has taken this case until {until}: ask them, wait for it, or take it over first.")
    else:
        sentence = _("{who} has taken this case until {until}: ask them, wait for it, or have a lead take it over.")
    return TakenByOther(format_lazy(sentence, who=person_name(held.by), until=times.clock(held.until, "%H:%M")))


def _reopen(situation: Situation, now: datetime) -> Refused | None:
    if situation.state != State.CLOSED and not situation.adopted:
        return NotAllowedNow(NOT_REOPENED, word="move")
    return NotAllowedNow(REFUSED_BY_THE_DOOR["replaced"], word="replaced") if situation.replaced else None


def _unblock(situation: Situation, now: datetime) -> Refused | None:
    if situation.state != State.NEEDS_REVIEW:
        return NotAllowedNow(NOT_IN_REVIEW["unblock"], word="move")
    if situation.block == Known.COMPLAINED:
        return NotAllowedNow(COMPLAINT_STAYS, word="complaint_stays")
    return None if situation.block else NotAllowedNow(NOT_BLOCKED, word="not_blocked")


def _retry(situation: Situation, now: datetime) -> Refused | None:
    if situation.state != State.NEEDS_REVIEW:
        return NotAllowedNow(NOT_IN_REVIEW["retry"], word="move")
    if situation.barred:
        return barred(situation)
    sentence = NEVER_RETRIED.get(situation.known or "")
    if sentence:
        return NotAllowedNow(sentence, word="known")
    if situation.is_expired(now):
        return NotAllowedNow(EXPIRED, word="expired")
    if situation.earlier:
        word = "given_up" if situation.earlier == "given_up" else "arrived"
        return NotAllowedNow(REFUSED_BY_THE_DOOR[word], word=word)
    if situation.is_bound_elsewhere:
        return _bound_elsewhere(situation.bound_to)
    if situation.lacks_its_bytes:
        return NotAllowedNow(REFUSED_BY_THE_DOOR["bytes_erased"], word="bytes_erased")
    return _evidence_missing(situation, now) if situation.is_past_window(now) else None


def _bound_elsewhere(mode: str) -> Refused:
    sentence = _(
        "The message was prepared in site mode “{mode}”, where an attempt may have been accepted, and this site is in "
        "another mode now: the same bytes cannot go out here. Put the site back into that mode first, or close this."
    )
    return NotAllowedNow(format_lazy(sentence, mode=mode), word="site_mode")


def absent_at(situation: Situation, now: datetime) -> datetime | None:
    """Give when the provider said that it has no such message, where a retry past the window may rest on it now."""
    if not situation.is_past_window(now) or _retry(situation, now) is not None or situation.asked.proof is None:
        return None
    return situation.asked.proof.at


def _evidence_missing(situation: Situation, now: datetime) -> Refused | None:
    """Say what is missing of the provider's word that nothing arrived; the door asks for the same."""
    proof = situation.asked.proof
    if proof is None or proof.answer != Found.NOT_FOUND:
        return NotAllowedNow(
            _(
                "An attempt may have been accepted, and the provider's key no longer prevents a second message: "
                "a retry needs evidence from the provider that nothing arrived."
            ),
            word="window_over",
        )
    if proof.used:
        return NotAllowedNow(_("This evidence has served for one retry: ask the provider again."), word="evidence_used")
    if not proof.counts(now):
        return NotAllowedNow(
            _("The provider's answer is more than ten minutes old: ask it again."), word="evidence_old"
        )
    return None


def reasons(verb: str, situation: Situation, now: datetime) -> tuple[str, ...]:
    """Give the reason codes that can pass for the verb now; evidence is one only where it is on record and matters."""
    if verb != "retry":
        return CODES[verb]
    if situation.is_past_window(now):
        return ("evidence_not_sent",)
    has_evidence = situation.ambiguous and _evidence_missing(situation, now) is None
    return tuple(code for code in CODES[verb] if code != "evidence_not_sent" or has_evidence)


def _query(situation: Situation, now: datetime) -> Refused | None:
    asked = situation.asked
    if not situation.may_be_there:
        return NotAllowedNow(_("Nothing has reached the provider: there is nothing to ask about."), word="not_sent")
    if situation.state in FINAL:
        return NotAllowedNow(SETTLED, word="move")
    if situation.state == State.SENDING:
        return NotAllowedNow(SENDING_NOW, word="move")
    if asked.wanted_at is not None:
        return NotAllowedNow(BEING_ASKED, word="asked")
    if asked.asked_at is not None and now - asked.asked_at < PAUSE:
        return NotAllowedNow(_("The provider was asked less than 30 seconds ago: wait a moment."), word="asked")
    return None


def _adopt(situation: Situation, now: datetime) -> Refused | None:
    if situation.state != State.NEEDS_REVIEW:
        return NotAllowedNow(NOT_IN_REVIEW["adopt"], word="move")
    if situation.known in _CAME_BACK:
        return NotAllowedNow(CAME_BACK, word="came_back")
    proof = situation.asked.proof
    if proof is None or proof.answer != Found.FOUND or not proof.ids:
        return NotAllowedNow(_("The provider has not said that it has this message: ask it."), word="no_evidence")
    if not proof.counts(now):
        return NotAllowedNow(
            _("The provider's answer is more than ten minutes old: ask it again."), word="evidence_old"
        )
    return None


_RULES: Final[dict[str, Callable[[Situation, datetime], Refused | None]]] = {
    "retry": _retry,
    "query": _query,
    "adopt": _adopt,
    "reopen": _reopen,
    "unblock": _unblock,
}


def against(verb: str, situation: Situation, now: datetime) -> Refused | None:
    """Give what the case itself has against a verb, whoever asks."""
    return _RULES[verb](situation, now)
