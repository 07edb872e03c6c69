"""What stands on the help page: codes with meaning and cure, what is known, risks, shortcuts, and what one may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext_lazy as _

from notifications.policy.codes import CASE_CODES
from reviews import code_classes, hints, rules
from reviews.models import POWERS, VERBS
from reviews.person import Person
from reviews.refusals import Sentence
from reviews.words import KNOWN, Badge
from reviews.words import VERBS as VERB_WORDS

RISKS: Final[tuple[tuple[str, Sentence, Sentence], ...]] = (
    (
        "none",
        _("none"),
        _("Nothing that could arrive has left, or nothing was accepted: a retry is the first message."),
    ),
    (
        "low",
        _("low"),
        _("The provider's key still protects the message: the same bytes go out, and it answers as before."),
    ),
    (
        "medium",
        _("medium"),
        _("No key protects it any more, and the provider says that it has nothing: read the risk, say why."),
    ),
    (
        "forced",
        _("forced"),
        _("Nobody can tell: a new key, perhaps a second message. Two leads must order it."),
    ),
)
SHORTCUTS: Final[tuple[tuple[str, Sentence], ...]] = (
    ("/", _("search")),
    ("j k", _("next and previous row")),
    ("Enter", _("open the row")),
    ("x", _("select the row")),
    ("a", _("the button that takes the case")),
    ("p", _("the button that asks the provider")),
    ("r, 1–6, Enter", _("the retry's form, its reason, and the order")),
    ("r", _("on the groups: to the plan for the row, or for the first one")),
    ("c", _("the closing's form")),
    ("e", _("the form that corrects the address")),
    ("w", _("the withdrawal's form")),
    ("1–9", _("in a list of reasons: choose one by its place")),
    ("Ctrl+Enter", _("in a text: order what its form says")),
    ("n b", _("the button that takes the next case; the previous one")),
    ("u", _("the button that undoes")),
    (".", _("show what is new")),
    ("?", _("the list of shortcuts, and its off switch")),
)
# What else there is to be allowed, by its permission.
_POWERS: Final[dict[str, Sentence]] = {
    "view_case": _("See the queue and its cases"),
    "share_view": _("Share a saved view"),
    "drop_view": _("Delete what others share"),
    "export_log": _("Export the log of human actions"),
}


@dataclass(frozen=True, slots=True)
class Code:
    """One error code: what it means, what kind of trouble it is, and what a person does about it."""

    code: str
    kind: Sentence
    meaning: str
    cure: str


@dataclass(frozen=True, slots=True)
class May:
    """Something that one may do, or why not. `permission` is what an administrator would give."""

    word: Sentence
    permission: str
    is_allowed: bool
    why_not: Sentence


@dataclass(frozen=True, slots=True)
class Meaning:
    """What is known of a message, in a word and in a sentence."""

    badge: Badge
    sentence: str


def read(person: Person) -> dict[str, Any]:
    """Give the page's facts; no query beside the header's."""
    return {
        "codes": [_code(code) for code in CASE_CODES],
        "known": [Meaning(badge, hints.known_sentence(known)) for known, badge in KNOWN.items()],
        "risks": RISKS,
        "shortcuts": SHORTCUTS,
        "may": [*(_power(power, person) for power in POWERS), *(_verb(verb, person) for verb in VERBS)],
    }


def _code(code: str) -> Code:
    kind = code_classes.CLASSES.get(code_classes.class_of(code), "")
    return Code(code, kind, hints.meaning(code), hints.cure(code))


def _verb(verb: str, person: Person) -> May:
    is_allowed = verb in person.verbs
    why_not = "" if is_allowed else rules.not_permitted(verb).sentence
    return May(VERB_WORDS[verb], f"reviews.{verb}_intent", is_allowed, why_not)


def _power(power: str, person: Person) -> May:
    is_allowed = power in person.powers
    ask = _("Your account does not have the permission for this; ask a lead.")
    if power == "share_view":
        ask = _("Your account does not have the permission for this; ask an operator or a lead.")
    return May(_POWERS[power], f"reviews.{power}", is_allowed, "" if is_allowed else ask)
