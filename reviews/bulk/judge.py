"""Which of many cases the verb may be used on: by the same rules as for one, but what needs a look of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.translation import gettext_lazy as _

from notifications.models import Intent
from reviews import reading, risks, rules
from reviews.door_words import NEVER_RETRIED
from reviews.person import Person
from reviews.refusal_words import REFUSALS
from reviews.refusals import NotAllowedNow, Refused, Sentence
from reviews.situation import Situation

OWN_DECISION: Final[Sentence] = _("A retry of this may be a second message: it needs a decision of its own.")
# In the order of the histogram.
RISKS: Final = ("none", "low", "medium")
# Where the word alone says too little, what is known stands behind it.
_KNOWN: Final = "known."


@dataclass(frozen=True, slots=True)
class Judged:
    """One case and what forbids the verb on it here, if anything."""

    intent: Intent
    situation: Situation
    refused: Refused | None
    risk: str

    @property
    def word(self) -> str:
        """Give the word of the refusal as the frozen list keeps it; empty where the case is eligible."""
        if self.refused is None:
            return ""
        return f"{_KNOWN}{self.intent.known}" if self.refused.word == "known" else self.refused.word


def judge(verb: str, intents: Sequence[Intent], person: Person, now: datetime) -> list[Judged]:
    """Judge the cases as they are now, in their order."""
    found = reading.situations(intents)
    judged = []
    for intent in intents:
        situation = found[intent.pk]
        refused, risk = rules.missing(verb, situation, person, now), "none"
        if refused is None and verb == "retry":
            absent_at = rules.absent_at(situation, now)
            risk = risks.risk_level(intent, now, absent_at)
            if risk not in ("none", "low"):
                refused = NotAllowedNow(OWN_DECISION, word="own_decision")
        judged.append(Judged(intent, situation, refused, risk if refused is None else ""))
    return judged


def why(word: str) -> Sentence:
    """Give the sentence for a word that the frozen list keeps."""
    if word.startswith(_KNOWN):
        return NEVER_RETRIED.get(word.removeprefix(_KNOWN), REFUSALS["known"])
    return REFUSALS.get(word, REFUSALS["refused"])
