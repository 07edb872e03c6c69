"""Why a person decided: the closed list of reason codes, and what a reason's text may hold."""

from __future__ import annotations

import re
from typing import Final

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from reviews.refusals import BadReason

# The slugs are part of the contract: they stand in the log and in exports.
CODES: Final[dict[str, tuple[str, ...]]] = {
    "retry": ("provider_recovered", "configuration_fixed", "evidence_not_sent", "code_fixed", "owner_asked", "other"),
    "close": (
        "delivered_elsewhere",
        "duplicate",
        "no_longer_needed",
        "recipient_gone",
        "cannot_be_fixed",
        "test_data",
    ),
    "reopen": ("closed_by_mistake", "new_information", "owner_asked", "other"),
    "approve": ("content_checked", "owner_asked", "other"),
    "query": (),
    "adopt": ("evidence_found", "owner_asked", "other"),
    "undo": ("clicked_by_mistake", "new_information", "other"),
    "note": (),
}
# A decision that is taken back or adds nothing but a sentence explains itself.
CODE_OPTIONAL: Final = frozenset({"approve", "undo", "query", "note"})
CODES_THAT_WANT_TEXT: Final = frozenset({"other", "recipient_gone", "cannot_be_fixed", "test_data"})
VERBS_THAT_WANT_TEXT: Final = frozenset({"reopen", "note"})
MIN_TEXT: Final = 10
MAX_TEXT: Final = 500

_ADDRESS: Final = re.compile(r"[^\s@<>]+[@\uff20][^\s@<>]+[.\u3002\uff0e][^\s@<>]")
_PHONE: Final = re.compile(r"[+\uff0b]\s?\d[\d\s().-]{4,}\d")
# Line breaks and tabs are text. Other control characters, lone surrogates, and what turns the reading direction of
# the rest of a page, are not.
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def check_reason(verb: str, code: str, text: str) -> tuple[str, str]:
    """Give code and text as they are stored. Raises BadReason with the sentence that says what is missing."""
    _check_code(verb, code)
    text = text.replace("\r\n", "\n").strip()
    if _UNPRINTABLE.search(text):
        raise BadReason(_("The text holds control characters; type it again without them."))
    if not text and (verb in VERBS_THAT_WANT_TEXT or code in CODES_THAT_WANT_TEXT):
        raise BadReason(_("This reason needs a text of 10 to 500 characters that explains it."))
    if text and not MIN_TEXT <= len(text) <= MAX_TEXT:
        raise BadReason(_("The text must have 10 to 500 characters; shorten or explain it."))
    if _ADDRESS.search(text) or _PHONE.search(text):
        raise BadReason(_("The text holds an e-mail address or a phone number, and it is kept for ever: refer by ID."))
    return code, text


def _check_code(verb: str, code: str) -> None:
    allowed = CODES[verb]
    if code in allowed or (not code and verb in CODE_OPTIONAL):
        return
    if not code:
        raise BadReason(format_lazy(_("Choose a reason: {codes}."), codes=", ".join(allowed)))
    raise BadReason(
        format_lazy(_("This reason does not exist here. Choose one of: {codes}."), codes=", ".join(allowed))
    )
