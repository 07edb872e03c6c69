"""The one form of every decision, and how its fields are read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID, uuid4

from django.http import QueryDict
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from notifications.policy.reasons import MAX_REASON, MIN_REASON
from notifications.states import CLAIMABLE, FINAL, Found, Known, State
from reviews import rules
from reviews.models import HOLDING, VERBS
from reviews.person import Person
from reviews.reasons import CODE_OPTIONAL, CODES, CODES_THAT_WANT_TEXT, VERBS_THAT_WANT_TEXT
from reviews.record import Order
from reviews.refusals import ChangedMeanwhile, NotProven, Refused, Sentence
from reviews.situation import Situation
from reviews.words import REASONS, VERBS_OTHERWISE
from reviews.words import VERBS as VERB_WORDS

_SEQ: Final = re.compile(r"[0-9]{1,9}")
_MINUTES: Final = re.compile(r"[0-9]{1,6}")
# How long a case can be set aside on the page; a command takes any number of minutes between the first and the last.
SPANS: Final[tuple[tuple[int, Sentence], ...]] = (
    (15, _("15 minutes")),
    (60, _("1 hour")),
    (240, _("4 hours")),
    (1440, _("1 day")),
    (4320, _("3 days")),
    (10080, _("7 days")),
)


@dataclass(frozen=True, slots=True)
class Typed:
    """What the person had entered in a form that was refused; it is shown again, but for an address."""

    verb: str
    code: str = ""
    text: str = ""
    confirmed: bool = False
    report_id: str = ""
    minutes: int | None = None
    erase: bool = False
    # Which field was at fault, and what its refusal said.
    bad: str = ""
    fault: Sentence = ""


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
    needs_proof: bool = False
    typed: Typed | None = None
    must_confirm: bool = False
    report_id: str = ""
    min_text: int = MIN_REASON
    max_text: int = MAX_REASON
    # Which of the codes ask for a text: a plain form cannot, so that the server says it, and the script beforehand.
    text_codes: frozenset[str] = CODES_THAT_WANT_TEXT


def read_order(data: QueryDict) -> Order:
    """Read a posted decision; the action refuses what could not be read, once it knows who asks."""
    try:
        token = UUID(data.get("action_token", ""))
    except ValueError:
        token = None
    seq, minutes = data.get("seq", ""), data.get("minutes", "")
    return Order(
        token=token,
        seq=int(seq) if _SEQ.fullmatch(seq) else None,
        reason_code=data.get("reason_code", ""),
        reason=data.get("reason", ""),
        confirmed=data.get("confirmed") == "yes",
        address=data.get("address", ""),
        typed=data.get("typed", ""),
        minutes=int(minutes) if _MINUTES.fullmatch(minutes) else None,
        erase=data.get("erase") == "yes",
    )


@dataclass(frozen=True, slots=True)
class Choice:
    """A verb, and the refusal that forbids it now, if any; `word` where it does something else than usual.

    `codes` are the reasons that can pass.
    """

    verb: str
    forbidden: Refused | None
    word: Sentence
    codes: tuple[str, ...]


def choices(situation: Situation, person: Person, now: datetime, recommended: str | None) -> list[Choice]:
    """Give the verbs in the order of the page: recommended, allowed, forbidden with what is missing.

    All but retry, close and note are left out where the case is no matter for them at all.
    """
    words = {"undo": VERBS_OTHERWISE["correction_undone"]} if situation.state == State.PENDING else {}
    found = [
        Choice(
            verb, rules.missing(verb, situation, person, now), words.get(verb, ""), rules.reasons(verb, situation, now)
        )
        for verb in VERBS
        if verb not in HOLDING  # they stand above the case, beside who else looks at it
    ]
    matters = _matters(situation, person, now)
    shown = [choice for choice in found if choice.forbidden is None or matters.get(choice.verb, True)]
    return sorted(shown, key=lambda choice: (choice.forbidden is not None, choice.verb != recommended))


def _matters(situation: Situation, person: Person, now: datetime) -> dict[str, bool]:
    """Say for each verb whether it would be looked for here; one that is not named always is."""
    in_review = situation.state == State.NEEDS_REVIEW
    waits = in_review and (situation.known == Known.AWAITING_APPROVAL or situation.open_request(now) is not None)
    return {
        "undo": situation.state == State.RETRY,
        "approve": waits,
        "decline": waits,
        "reopen": situation.state == State.CLOSED or situation.adopted,
        "query": situation.may_be_there and situation.state not in FINAL,
        "adopt": in_review and situation.proof_answer == Found.FOUND,
        "correct": in_review and situation.wants_other_address,
        "resend": in_review and situation.known == Known.UNKNOWN and situation.is_past_window(now),
        "wait": in_review and "wait" in person.verbs,
        "resume": False,
        "unblock": in_review and "unblock" in person.verbs and situation.block in ("bounced", "gone"),
        # Nobody looks for it who may not do it: it would stand on each page that an operator opens.
        "withdraw": "withdraw" in person.verbs and (in_review or situation.state in CLAIMABLE),
    }


def typed_in(verb: str, data: QueryDict, refused: Refused) -> Typed:
    """Give what was posted, to be shown again; no mark that the risk was read, where the case changed since."""
    order, changed = read_order(data), isinstance(refused, ChangedMeanwhile)
    return Typed(
        verb,
        order.reason_code,
        order.reason[:MAX_REASON],
        confirmed=order.confirmed and not changed,
        report_id=order.typed[:200],
        minutes=order.minutes,
        erase=order.erase and not changed,
        bad=refused.field,
        fault=refused.sentence if refused.field else "",
    )


def offered(code: str) -> Sentence:
    """Give a reason as a form offers it: one that asks for a text says so."""
    word = REASONS[code]
    return format_lazy(_("{reason} (explain)"), reason=word) if code in CODES_THAT_WANT_TEXT else word


def verb_form(
    choice: Choice,
    *,
    is_recommended: bool,
    is_risky: bool,
    typed: Typed | None,
    report_id: str = "",
) -> VerbForm:
    """Give the form of one verb, with a fresh token, and what was typed before a refusal. No reason is preselected.

    A risky one wants its text, and a mark that the risk was read; one that nobody may order by the way, the report ID.
    """
    verb = choice.verb
    again = typed if typed is not None and typed.verb == verb else Typed(verb)
    return VerbForm(
        verb=verb,
        word=choice.word or VERB_WORDS[verb],
        token=str(uuid4()),
        codes=[(code, offered(code)) for code in choice.codes],
        code_is_optional=verb in CODE_OPTIONAL,
        text_is_required=verb in VERBS_THAT_WANT_TEXT or (is_risky and verb == "retry"),
        wants_text=verb in VERBS_THAT_WANT_TEXT or bool(set(CODES[verb]) & CODES_THAT_WANT_TEXT),
        is_recommended=is_recommended,
        why_not=choice.forbidden.sentence if choice.forbidden else "",
        needs_proof=isinstance(choice.forbidden, NotProven),
        typed=again,
        must_confirm=is_risky,
        report_id=report_id if verb == "resend" else "",
    )
