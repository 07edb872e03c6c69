"""Why a person decided: the closed list of reason codes, and what a reason's text may hold."""

from __future__ import annotations

import re
from typing import Final

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from notifications.policy.reasons import MAX_REASON, MIN_REASON, is_personal
from reviews.refusals import BadReason, NoSuchReason

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
    "decline": ("content_wrong", "no_longer_needed", "duplicate", "other"),
    "correct": ("address_corrected",),
    "resend": (),
    "wait": (),
    "resume": (),
    "withdraw": ("privacy_request", "sent_in_error", "business_cancelled", "other"),
    "note": (),
    "take": (),
    "release": (),
    "take_over": (),
    "unblock": (),
}
# A decision that is taken back or adds nothing but a sentence explains itself.
CODE_OPTIONAL: Final = frozenset(
    {
        "approve",
        "undo",
        "query",
        "note",
        "correct",
        "resend",
        "wait",
        "resume",
        "take",
        "release",
        "take_over",
        "unblock",
    }
)
CODES_THAT_WANT_TEXT: Final = frozenset({"other", "recipient_gone", "cannot_be_fixed", "test_data"})
VERBS_THAT_WANT_TEXT: Final = frozenset({"reopen", "note", "correct", "resend", "withdraw", "take_over", "unblock"})
# A record says the same as its form did.
UNPRINTABLE: Final = _("The text holds control characters; type it again without them.")
NO_TEXT: Final = _("This reason needs a text of 10 to 500 characters that explains it.")
TEXT_LENGTH: Final = _("The text must have 10 to 500 characters; shorten or explain it.")
TEXT_PERSONAL: Final = _("The text holds an e-mail address or a phone number, and it is kept for ever: refer by ID.")
# Line breaks and tabs are text. Other control characters, lone surrogates, and what turns the reading direction of
# the rest of a page, are not.
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def check_reason(verb: str, code: str, text: str) -> tuple[str, str]:
    """Give code and text as they are stored. Raises BadReason with the sentence that says what is missing."""
    _check_code(verb, code)
    if not code and len(CODES[verb]) == 1:  # there is nothing to choose
        (code,) = CODES[verb]
    text = text.replace("\r\n", "\n").strip()
    if _UNPRINTABLE.search(text):
        raise BadReason(UNPRINTABLE, word="text_unprintable", field="reason")
    if not text and (verb in VERBS_THAT_WANT_TEXT or code in CODES_THAT_WANT_TEXT):
        raise BadReason(NO_TEXT, word="no_text", field="reason")
    if text and not MIN_REASON <= len(text) <= MAX_REASON:
        raise BadReason(TEXT_LENGTH, word="text_length", field="reason")
    if is_personal(text):
        raise BadReason(TEXT_PERSONAL, word="text_personal", field="reason")
    return code, text


def _check_code(verb: str, code: str) -> None:
    allowed = CODES[verb]
    if code in allowed or (not code and verb in CODE_OPTIONAL):
        return
    if not code:
        sentence = format_lazy(_("Choose a reason: {codes}."), codes=", ".join(allowed))
        raise BadReason(sentence, word="no_reason", field="reason_code")
    raise no_such_reason(allowed)


def no_such_reason(allowed: tuple[str, ...]) -> NoSuchReason:
    """Give the refusal of a code that is none of these."""
    sentence = _("This reason does not exist here. Choose one of: {codes}.")
    return NoSuchReason(format_lazy(sentence, codes=", ".join(allowed)), field="reason_code")
