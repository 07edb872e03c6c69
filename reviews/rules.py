"""What may be done with a case now, and what is missing where it may not. Pure: facts in, a refusal or nothing out.

The same rules choose the page's buttons and guard the action; the database's door has the last word.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.translation import gettext_lazy as _

from notifications.policy.windows import Protection, protection
from notifications.states import CLAIMABLE, Known, NextAction, State
from reviews.person import Person, identity
from reviews.refusals import NotAllowedNow, NotPermitted, Refused, Sentence


@dataclass(frozen=True, slots=True)
class Situation:
    """What the rules need of an intent. `retried_by` is the actor of the last retry, `asked_by` the intent's own."""

    state: str
    known: str | None
    ambiguous: bool
    safe_until: datetime | None
    manual: bool
    retried_by: str | None = None
    asked_by: str | None = None


# The door refuses these as well, whatever the page says (delivery.md, table MOVES).
NEVER_RETRIED: Final[dict[str, Sentence]] = {
    Known.ACCEPTED: _("The provider accepted this message: a retry could reach the recipient twice."),
    Known.CONFLICT: _("The provider accepted an earlier request with this key and other content: a retry is refused."),
    Known.BOUNCED: _("The receiving server refused this address for good: the same address fails again."),
    Known.COMPLAINED: _("The recipient reported this mail as unwanted: nothing more may be sent to this address."),
    Known.SUPPRESSED: _("The provider suppresses this address: it would not send a retry either."),
    Known.AWAITING_APPROVAL: _("This was never attempted, since it waits for approval: approve it, or close it."),
}
_HOPELESS: Final = frozenset({Known.BOUNCED, Known.COMPLAINED, Known.SUPPRESSED})
_NOT_CLOSED: Final[dict[str, Sentence]] = {
    State.SENDING: _("A worker is sending this now: wait for its answer, then decide."),
    State.CLOSED: _("This is closed already."),
    State.CANCELLED: _("This was cancelled; nothing is open."),
}


def missing(verb: str, situation: Situation, person: Person, now: datetime) -> Refused | None:
    """Give what forbids the verb, or None where it may be done."""
    if verb not in person.verbs:
        return NotPermitted(_("Your account does not have the permission for this; ask a lead."))
    match verb:
        case "retry":
            return _retry(situation, now)
        case "undo":
            return _undo(situation, person)
        case "approve":
            return _approve(situation, person)
        case "close":
            sentence = _NOT_CLOSED.get(situation.state)
            return NotAllowedNow(sentence, word="move") if sentence else None
        case "reopen" if situation.state != State.CLOSED:
            return NotAllowedNow(_("Only a closed case can be reopened."), word="move")
        case _:
            return None


def _retry(situation: Situation, now: datetime) -> Refused | None:
    if situation.state != State.NEEDS_REVIEW:
        return NotAllowedNow(_("Only a case that needs review can be retried."), word="move")
    sentence = NEVER_RETRIED.get(situation.known or "")
    if sentence:
        return NotAllowedNow(sentence, word="known")
    if situation.ambiguous and protection(situation.safe_until, now) is not Protection.OPEN:
        return NotAllowedNow(
            _(
                "An attempt may have been accepted, and the provider's key no longer prevents a second message: "
                "a retry needs evidence from the provider that nothing arrived."
            ),
            word="window_over",
        )
    return None


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
    if _retry(situation, now) is not None:
        # Where something may have arrived, only evidence settles it: no button is pushed on the operator.
        return "close" if situation.known in _HOPELESS else None
    if next_action in (NextAction.RETRY_SAME_KEY, NextAction.QUERY_PROVIDER, NextAction.FIX_CONFIG):
        return "retry"
    return "close"
