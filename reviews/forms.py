"""The one form of every decision, and how its fields are read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID, uuid4

from django.http import QueryDict

from notifications.states import FINAL, Found, Known, State
from reviews import rules
from reviews.models import VERBS
from reviews.person import Person
from reviews.reasons import CODE_OPTIONAL, CODES, CODES_THAT_WANT_TEXT, MAX_TEXT, MIN_TEXT, VERBS_THAT_WANT_TEXT
from reviews.record import Order
from reviews.refusals import Refused, Sentence
from reviews.words import REASONS
from reviews.words import VERBS as VERB_WORDS

_SEQ: Final = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class VerbForm:
    """One verb as the case page shows it: a form, or (where `why_not` is set) a disabled button and what is missing."""

    verb: str
    word: Sentence
    token: str
    codes: list[tuple[str, Sentence]]
    code_is_optional: bool
    text_is_required: bool
    wants_text: bool
    is_recommended: bool
    why_not: Sentence = ""
    code: str = ""
    text: str = ""
    must_confirm: bool = False
    min_text: int = MIN_TEXT
    max_text: int = MAX_TEXT


@dataclass(frozen=True, slots=True)
class Typed:
    """What the person had entered in a form that was refused; it is shown again."""

    verb: str
    code: str
    text: str


def read_order(data: QueryDict) -> Order:
    """Read a posted decision; the action refuses what could not be read, once it knows who asks."""
    try:
        token = UUID(data.get("action_token", ""))
    except ValueError:
        token = None
    seq = data.get("seq", "")
    return Order(
        token=token,
        seq=int(seq) if _SEQ.fullmatch(seq) else None,
        reason_code=data.get("reason_code", ""),
        reason=data.get("reason", ""),
        confirmed=data.get("confirmed") == "yes",
    )


@dataclass(frozen=True, slots=True)
class Choice:
    """A verb, and the refusal that forbids it now, if any."""

    verb: str
    forbidden: Refused | None


def choices(situation: rules.Situation, person: Person, now: datetime, recommended: str | None) -> list[Choice]:
    """Give the verbs in the order of the page: recommended, allowed, forbidden with what is missing.

    All but retry, close and note are left out where the case is no matter for them at all.
    """
    found = [Choice(verb, rules.missing(verb, situation, person, now)) for verb in VERBS]
    shown = [choice for choice in found if choice.forbidden is None or not _is_beside_the_point(choice.verb, situation)]
    return sorted(shown, key=lambda choice: (choice.forbidden is not None, choice.verb != recommended))


def _is_beside_the_point(verb: str, situation: rules.Situation) -> bool:
    matters = {
        "undo": situation.state == State.RETRY,
        "approve": situation.known == Known.AWAITING_APPROVAL and situation.state == State.NEEDS_REVIEW,
        "reopen": situation.state == State.CLOSED or situation.adopted,
        "query": situation.may_be_there and situation.state not in FINAL,
        "adopt": situation.state == State.NEEDS_REVIEW and situation.proof_answer == Found.FOUND,
    }
    return not matters.get(verb, True)


def verb_form(choice: Choice, *, is_recommended: bool, is_risky: bool, typed: Typed | None) -> VerbForm:
    """Give the form of one verb, with a fresh token, and what was typed before a refusal. No reason is preselected.

    A risky one wants its text, and a mark that the risk was read.
    """
    verb = choice.verb
    again = typed if typed is not None and typed.verb == verb else Typed(verb, "", "")
    return VerbForm(
        verb=verb,
        word=VERB_WORDS[verb],
        token=str(uuid4()),
        codes=[(code, REASONS[code]) for code in CODES[verb]],
        code_is_optional=verb in CODE_OPTIONAL,
        text_is_required=verb in VERBS_THAT_WANT_TEXT or is_risky,
        wants_text=verb in VERBS_THAT_WANT_TEXT or bool(set(CODES[verb]) & CODES_THAT_WANT_TEXT),
        is_recommended=is_recommended,
        why_not=choice.forbidden.sentence if choice.forbidden else "",
        code=again.code,
        text=again.text[:MAX_TEXT],
        must_confirm=is_risky,
    )
