"""What a decision came to, in a sentence."""

from __future__ import annotations

from notifications.states import Known, State
from reviews.record import Done
from reviews.refusals import Sentence
from reviews.words import DONE, DONE_OTHERWISE

# What was set aside is asked about when it comes back where this is known (delivery/discovery.py).
ASKED_WHEN_BACK = frozenset({Known.UNKNOWN, Known.CONFLICT, Known.ACCEPTED})


def done_sentence(done: Done) -> Sentence:
    """Say what a decision came to; honest about what may be out already."""
    after = done.after
    if after.get("state") == State.CANCELLED and done.verb == "undo":
        return DONE_OTHERWISE["correction_undone"]
    if done.verb == "correct" and after.get("held"):
        return DONE_OTHERWISE["correction_held"]
    if done.verb == "withdraw" and after.get("maybe_sent"):
        return DONE_OTHERWISE["maybe_sent"]
    if done.verb == "wait" and after.get("attempt_count") and after.get("known") in ASKED_WHEN_BACK:
        return DONE_OTHERWISE["wait_and_ask"]
    if done.verb in ("approve", "decline"):
        return DONE_OTHERWISE.get(str(after.get("resend", "")), DONE[done.verb])
    return DONE[done.verb]
