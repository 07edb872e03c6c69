"""What may be done with a case now, and what is missing where it may not. Pure: facts in, a refusal or nothing out.

The same rules choose the page's buttons and guard the action; the database's door has the last word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.translation import gettext_lazy as _

from notifications.policy.windows import Protection, protection
from notifications.states import CLAIMABLE, FINAL, Found, Known, NextAction, State
from reviews.evidence import PAUSE, Asked
from reviews.person import Person, identity
from reviews.refusals import NotAllowedNow, NotPermitted, Refused, Sentence

_NOTHING_ASKED: Final = Asked()


@dataclass(frozen=True, slots=True)
class Situation:
    """What the rules need of an intent. `retried_by` is the actor of the last retry, `asked_by` the intent's own.

    `attempted`: it was tried at least once. `adopted`: it counts as accepted because a person adopted an answer.
    """

    state: str
    known: str | None
    ambiguous: bool
    safe_until: datetime | None
    manual: bool
    retried_by: str | None = None
    asked_by: str | None = None
    attempted: bool = False
    adopted: bool = False
    asked: Asked = _NOTHING_ASKED

    @property
    def may_be_there(self) -> bool:
        """Whether the provider may have the message, so that asking it can tell something."""
        told = self.known in (Known.UNKNOWN, Known.CONFLICT, Known.ACCEPTED) or self.state == State.ACCEPTED
        return self.attempted and (self.ambiguous or told)

    @property
    def proof_answer(self) -> str:
        """What the provider last proved, empty where it proved nothing."""
        return self.asked.proof.answer if self.asked.proof else ""

    def is_past_window(self, now: datetime) -> bool:
        """Whether something may have been accepted that no key protects from a second message any more."""
        return self.ambiguous and protection(self.safe_until, now) is not Protection.OPEN


# The door refuses these as well, whatever the page says (delivery.md, table MOVES).
NEVER_RETRIED: Final[dict[str, Sentence]] = {
    Known.ACCEPTED: _("The provider accepted this message: a retry could reach the recipient twice."),
    Known.CONFLICT: _("The provider accepted an earlier request with this key and other content: a retry is refused."),
    Known.BOUNCED: _("The receiving server refused this address for good: the same address fails again."),
    Known.COMPLAINED: _("The recipient reported this mail as unwanted: nothing more may be sent to this address."),
    Known.SUPPRESSED: _("The provider suppresses this address: it would not send a retry either."),
    Known.AWAITING_APPROVAL: _("This was never attempted, since it waits for approval: approve it, or close it."),
}
# What only the log shows, so that only the door can refuse it.
REFUSED_BY_THE_DOOR: Final[dict[str, Sentence]] = {
    "arrived": _("It was delivered after it had come back: a new message would be a second one."),
    "id_of_another": _("This message belongs to another notification: it proves nothing about this one."),
}
REFUSED_SOMEHOW: Final[Sentence] = _("The database refused this, because of what is known about the message.")
_HOPELESS: Final = frozenset({Known.BOUNCED, Known.COMPLAINED, Known.SUPPRESSED})
_CAME_BACK: Final = frozenset({*_HOPELESS, Known.SOFT_BOUNCED, Known.AWAITING_APPROVAL})
_NOT_CLOSED: Final[dict[str, Sentence]] = {
    State.SENDING: _("A worker is sending this now: wait for its answer, then decide."),
    State.CLOSED: _("This is closed already."),
    State.CANCELLED: _("This was cancelled; nothing is open."),
}


def missing(verb: str, situation: Situation, person: Person, now: datetime) -> Refused | None:
    """Give what forbids the verb, or None where it may be done."""
    if verb not in person.verbs:
        return NotPermitted(_("Your account does not have the permission for this; ask a lead."))
    if verb in _RULES:
        return _RULES[verb](situation, now)
    match verb:
        case "undo":
            return _undo(situation, person)
        case "approve":
            return _approve(situation, person)
        case "close":
            sentence = _NOT_CLOSED.get(situation.state)
            return NotAllowedNow(sentence, word="move") if sentence else None
        case "reopen" if situation.state != State.CLOSED and not situation.adopted:
            return NotAllowedNow(_("Only a closed case can be reopened, or an answer that was adopted."), word="move")
        case _:
            return None


def _retry(situation: Situation, now: datetime) -> Refused | None:
    if situation.state != State.NEEDS_REVIEW:
        return NotAllowedNow(_("Only a case that needs review can be retried."), word="move")
    sentence = NEVER_RETRIED.get(situation.known or "")
    if sentence:
        return NotAllowedNow(sentence, word="known")
    return _evidence_missing(situation, now) if situation.is_past_window(now) else None


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


def _query(situation: Situation, now: datetime) -> Refused | None:
    asked = situation.asked
    if not situation.may_be_there:
        return NotAllowedNow(_("Nothing has reached the provider: there is nothing to ask about."), word="not_sent")
    if situation.state in FINAL:
        return NotAllowedNow(_("This is settled; reopen it to go on with it."), word="move")
    if situation.state == State.SENDING:
        return NotAllowedNow(_("A worker is sending this now: wait for its answer, then decide."), word="move")
    if asked.wanted_at is not None:
        return NotAllowedNow(
            _("The provider is being asked: within seconds the answer stands in the log."), word="asked"
        )
    if asked.asked_at is not None and now - asked.asked_at < PAUSE:
        return NotAllowedNow(_("The provider was asked less than 30 seconds ago: wait a moment."), word="asked")
    return None


def _adopt(situation: Situation, now: datetime) -> Refused | None:
    if situation.state != State.NEEDS_REVIEW:
        return NotAllowedNow(_("Only a case that needs review can adopt an answer."), word="move")
    if situation.known in _CAME_BACK:
        return NotAllowedNow(_("It was accepted, and came back: there is nothing to adopt."), word="known")
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
}


def _undo(situation: Situation, person: Person) -> Refused | None:
    if situation.state != State.RETRY or not situation.manual:
        return NotAllowedNow(_("Only a retry that a person ordered, and no worker has taken yet, can be undone."))
    if situation.retried_by != person.name and not person.leads:
        return NotPermitted(_("Somebody else ordered this retry: only they or a lead can undo it."))
    return None


def _approve(situation: Situation, person: Person) -> Refused | None:
    if situation.state != State.NEEDS_REVIEW or situation.known != Known.AWAITING_APPROVAL:
        return NotAllowedNow(_("This does not wait for approval."), word="not_held")
    if situation.asked_by is not None and identity(situation.asked_by) == identity(person.name):
        return NotPermitted(_("You asked for this notification yourself: somebody else must approve it."))
    return None


def recommended(situation: Situation, next_action: str | None, now: datetime) -> str | None:
    """Give the verb to show first, or None where no verb of the console settles the case yet."""
    if situation.state in CLAIMABLE:
        return "undo" if situation.manual else None
    if situation.state != State.NEEDS_REVIEW:
        return None
    if situation.known == Known.AWAITING_APPROVAL:
        return "approve"
    if _adopt(situation, now) is None:
        return "adopt"
    if _retry(situation, now) is not None:
        # Where something may have arrived, only evidence settles it.
        return "close" if situation.known in _HOPELESS else _question(situation, now)
    if next_action == NextAction.QUERY_PROVIDER and not situation.is_past_window(now):
        return _question(situation, now) or "retry"
    if next_action in (NextAction.RETRY_SAME_KEY, NextAction.QUERY_PROVIDER, NextAction.FIX_CONFIG):
        return "retry"
    return "close"


def _question(situation: Situation, now: datetime) -> str | None:
    return "query" if _query(situation, now) is None else None
