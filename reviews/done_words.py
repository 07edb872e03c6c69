"""What a decision came to, in a sentence."""

from __future__ import annotations

from notifications.states import Known, State
from reviews import not_called
from reviews.record import Done
from reviews.refusals import Sentence
from reviews.words import DONE, DONE_HELD, DONE_OTHERWISE

# What was set aside is asked about when it comes back where this is known (delivery/discovery.py).
ASKED_WHEN_BACK = frozenset({Known.UNKNOWN, Known.CONFLICT, Known.ACCEPTED})
# The door retries none of these: a block that is lifted concerns what is sent later.
NOT_RETRIED = frozenset({Known.BOUNCED, Known.SUPPRESSED})


def done_sentence(done: Done) -> Sentence:
    """Say what a decision came to; honest about what may be out already, and about when the rest can happen."""
    said = _otherwise(done)
    word = said or done.verb
    if word in DONE_HELD:
        when = not_called.when(done.intent_id, asks=done.verb == "query")
        if when:
            return f"{DONE_HELD[word]} {when}"
    return DONE_OTHERWISE[said] if said else DONE[done.verb]


def _otherwise(done: Done) -> str:
    """Give the word of what the verb came to where that is not what it says; empty where it is."""
    after = done.after
    if after.get("state") == State.CANCELLED and done.verb == "undo":
        return "correction_undone"
    if done.verb == "correct" and after.get("held"):
        return "correction_held"
    if done.verb == "withdraw" and after.get("maybe_sent"):
        return "maybe_sent"
    if done.verb == "wait" and after.get("attempt_count") and after.get("known") in ASKED_WHEN_BACK:
        return "wait_and_ask"
    if done.verb == "unblock" and after.get("known") in NOT_RETRIED:
        return "came_back"
    resend = str(after.get("resend", ""))
    return resend if done.verb in ("approve", "decline") and resend in DONE_OTHERWISE else ""
