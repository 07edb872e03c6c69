"""What is suggested for a case: one decision for the queue's column, the case's head, its forms and the terminal.

Pure: what the rules know of the case, and who looks at it; `advised.py` reads the same facts for rows of the queue.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.text import format_lazy

from notifications.states import CLAIMABLE, Known, NextAction, State
from reviews import rules
from reviews.person import Person
from reviews.refusals import Sentence
from reviews.situation import Situation
from reviews.suggestions import ASK_AND_WAIT, ASK_TO, FOR_OTHERS, NEXT_ACTIONS, SUGGESTIONS

_HOPELESS: Final = frozenset({Known.BOUNCED, Known.COMPLAINED, Known.SUPPRESSED})
_RETRIES: Final = frozenset({NextAction.RETRY_SAME_KEY, NextAction.RETRY_NEW_KEY})
# A retry before anything was mended is refused again.
_MENDED_FIRST: Final = frozenset({NextAction.FIX_CONFIG, NextAction.FIX_CONTENT, NextAction.FIND_CAUSE})


@dataclass(frozen=True, slots=True)
class Advice:
    """The verb to show first, None where no verb of the console settles the case yet, and the same in words.

    Outside of review there are no words: an undo stands first since it is urgent, not since it is wise.
    """

    verb: str | None
    words: Sentence = ""


def advise(situation: Situation, person: Person, now: datetime) -> Advice:
    """Give what this person is advised to do about the case now."""
    if situation.state in CLAIMABLE:
        is_new = bool(situation.corrected_by) and not situation.attempted
        return Advice("undo" if situation.manual or is_new else None)
    if situation.state != State.NEEDS_REVIEW:
        return Advice(None)
    found = _settling(situation, now)
    return found if found.verb is None else _for(person, found, situation)


def _for(person: Person, found: Advice, situation: Situation) -> Advice:
    """Give the advice to this person: who may not do what would settle the case is told who may, and ends nothing."""
    wants_lead = found.verb == "close" and situation.next_action == NextAction.ASK_LEAD and not person.leads
    # Of a complaint nobody can do anything but close it.
    if wants_lead and situation.known != Known.COMPLAINED and "wait" in person.verbs:
        return Advice("wait", ASK_AND_WAIT)
    if found.verb in person.verbs or found.verb is None:
        return found
    if not person.verbs or found.verb not in ASK_TO:
        return Advice(None, format_lazy(FOR_OTHERS, what=found.words))
    # What stands on an answer that soon is too old is not set aside, nor what waits for a lead in the queue.
    verb = "wait" if found.verb == "correct" and "wait" in person.verbs else None
    return Advice(verb, ASK_TO[found.verb])


def _settling(situation: Situation, now: datetime) -> Advice:
    adopts = rules.against("adopt", situation, now) is None
    if situation.barred:
        # The recovery settles what it can by itself; of what it cannot, a person knows as much as there is to know.
        if situation.barred != "forgotten":
            return Advice(None, SUGGESTIONS[situation.barred])
        return _said("adopt") if adopts else Advice("close", SUGGESTIONS["forgotten"])
    if situation.known == Known.AWAITING_APPROVAL or situation.open_request(now) is not None:
        return _said("approve")
    if situation.wants_other_address and not situation.is_expired(now) and situation.known != Known.SOFT_BOUNCED:
        return Advice("correct", NEXT_ACTIONS[NextAction.CORRECT_ADDRESS])
    if adopts:
        return _said("adopt")
    if rules.against("retry", situation, now) is not None:
        return _without_retry(situation, now)
    return _with_retry(situation, now)


def _with_retry(situation: Situation, now: datetime) -> Advice:
    action = situation.next_action or ""
    if situation.is_past_window(now):
        return _said("retry")  # on fresh evidence, or it would be forbidden
    if action == NextAction.QUERY_PROVIDER:
        # Inside the window the same key protects a retry, whatever the provider has just said of what it holds.
        return _said("retry") if situation.asked.last_is_fresh(now) else _question(situation, now, otherwise="retry")
    if action in _MENDED_FIRST:
        is_mended = action == NextAction.FIX_CONFIG and situation.mended
        return Advice("retry", SUGGESTIONS["mended"]) if is_mended else Advice(None, NEXT_ACTIONS[action])
    return Advice("retry", NEXT_ACTIONS[action]) if action in _RETRIES else _closing(action)


def _without_retry(situation: Situation, now: datetime) -> Advice:
    if situation.earlier in ("given_up", "disputed") and not situation.may_be_there:
        return Advice(None, SUGGESTIONS["two_leads"])  # to end it may leave the recipient without any
    # Where something may have arrived, only evidence settles it; from here another mode's provider has none.
    is_closed = situation.known in _HOPELESS or situation.is_bound_elsewhere or not situation.may_be_there
    return _closing(situation.next_action or "") if is_closed else _question(situation, now, otherwise="wait")


def _question(situation: Situation, now: datetime, *, otherwise: str) -> Advice:
    """Ask the provider; where it answered a moment ago, the other verb; while its answer is about to come, nothing."""
    if rules.against("query", situation, now) is None:
        return Advice("query", NEXT_ACTIONS[NextAction.QUERY_PROVIDER])
    return Advice(None, SUGGESTIONS["awaited"]) if situation.asked.is_awaited(now) else _said(otherwise)


def _closing(action: str) -> Advice:
    says_so = action in (NextAction.CLOSE_DUPLICATE, NextAction.ENQUEUE_ANEW)
    return Advice("close", NEXT_ACTIONS[action] if says_so else SUGGESTIONS["close"])


def _said(verb: str) -> Advice:
    return Advice(verb, SUGGESTIONS[verb])
