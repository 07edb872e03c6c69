"""What the record's words of refusal mean: why a person's try was not carried out, told long after its sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.utils.translation import gettext_lazy as _

from notifications.states import FINAL, State
from reviews import consent, reasons, rules, ways
from reviews.door_words import NEVER_RETRIED, REFUSED_BY_THE_DOOR, REFUSED_SOMEHOW
from reviews.refusals import Sentence

REFUSALS: Final[dict[str, Sentence]] = REFUSED_BY_THE_DOOR | {
    "refused": REFUSED_SOMEHOW,
    "not_allowed": _("What is known forbids this."),
    "not_permitted": _("The permission for it was missing."),
    "second_factor": _("The second factor had not been shown a short while before."),
    "role": _("The process had a database role that may not decide."),
    "changed": _("The case had changed since the page was read."),
    "taken": _("Somebody else had taken the case."),
    "not_taken": _("The case was free, or its time was over."),
    "seq": _("The case had changed since the page was read."),
    "move": _("The case was not in a state for it."),
    "known": _("What is known forbids this."),
    "own_decision": _("A retry of this may be a second message: it needs a decision of its own."),
    "bad_reason": _("The reason was missing, or its text could not be kept."),
    "no_reason": _("No reason was chosen."),
    "no_such_reason": _("The reason was none of those on offer."),
    "no_text": reasons.NO_TEXT,
    "text_length": reasons.TEXT_LENGTH,
    "text_personal": reasons.TEXT_PERSONAL,
    "text_unprintable": reasons.UNPRINTABLE,
    "only_evidence": consent.ONLY_EVIDENCE,
    "no_such_evidence": consent.NO_SUCH_EVIDENCE,
    "not_undone": ways.NOT_UNDONE,
    "others_retry": ways.OTHERS_RETRY,
    "own_notification": ways.OWN_NOTIFICATION,
    "not_the_address": ways.NOT_THE_ADDRESS,
    "came_back": rules.CAME_BACK,
    "complaint_stays": rules.COMPLAINT_STAYS,
    "not_blocked": rules.NOT_BLOCKED,
    "bad_form": _("The form could not be read."),
    "unknown": _("There was no such notification."),
    "not_confirmed": _("The mark that the risk was read was missing."),
    "not_typed": _("The report ID was not typed as it is."),
    "still_wanted": _("The application did not say that this is still wanted."),
    "not_sent": _("Nothing had reached the provider: there was nothing to ask about."),
    "window_over": _("No key protected a repeat any more, and no evidence that nothing arrived was given."),
    "window_open": _("A resend is for what may have arrived and is protected by no key any more."),
    "no_evidence": _("The provider had not said what this needs."),
    "evidence_old": _("The provider's answer was too old."),
    "evidence_used": _("The evidence had served for one retry."),
    "asked": _("It was asked for already, a moment before."),
    "not_held": _("It did not wait for approval."),
    "not_adopted": _("It was not accepted by an adopted answer."),
    "not_retried": _("There was no retry to undo."),
    "not_snoozed": _("It was not set aside."),
    "site": _("The database had been restored or copied, and its recovery was not over."),
    "too_many": _("More cases were chosen than this person may decide together."),
    "none_chosen": _("No case was chosen, or none was eligible."),
    "bad_filter": _("The filter could not be read."),
    "bounds": _("Rate, canary or stop rule was not one of those on offer."),
    "ambiguous": _("An earlier attempt may have been accepted."),
}


def told(word: str, verb: str, before: Mapping[str, Any] | None) -> Sentence:
    """Give what a refused try was told, where its word alone says less: by the verb, and by what it met."""
    met = before or {}
    if word == "known" and verb == "retry":
        return NEVER_RETRIED.get(str(met.get("known")), REFUSALS[word])
    if word == "move":
        return _not_in_that_state(verb, str(met.get("state")))
    return REFUSALS.get(word, word)


def _not_in_that_state(verb: str, state: str) -> Sentence:
    if verb == "close":
        return rules.NOT_CLOSED.get(state, REFUSALS["move"])
    if verb == "withdraw":
        return ways.NOT_WITHDRAWN.get(state, REFUSALS["move"])
    if verb == "reopen":
        return rules.NOT_REOPENED
    if verb == "query":
        settled = rules.SETTLED if state in FINAL else REFUSALS["move"]
        return ways.SENDING_NOW if state == State.SENDING else settled
    return ways.NOT_IN_REVIEW.get(verb, REFUSALS["move"])
