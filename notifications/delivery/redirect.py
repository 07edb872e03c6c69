"""Site mode `redirect`: one address of our own gets everything, and each message says whom it would have reached."""

from __future__ import annotations

from typing import Final, NamedTuple

from notifications.delivery.shop import Rules
from notifications.policy import codes
from notifications.policy.endpoints import goes_by_account
from notifications.policy.phones import is_chat, is_phone
from notifications.policy.recipients import mask
from notifications.providers.base import Unsendable

# A dot of the mask is no letter of GSM-7: one would make a text message of 160 letters one of 70.
_DOTS: Final = "\u2022" * 3


class Words(NamedTuple):
    """What is said, by subject, text and short text."""

    subject: str
    text: str
    short: str | None


def reached(channel: str, to: str, rules: Rules) -> str:
    """Give who gets the message: the recipient, or in mode redirect the one address of the same kind.

    Raises Unsendable where the site names none: nobody else may be reached.
    """
    # What is called is redirected by its account, to an address of the same kind.
    if not rules.redirect_to or goes_by_account(channel):
        return to
    if not is_phone(channel) and not is_chat(channel):
        return rules.redirect_to
    instead = rules.redirect_phone if is_phone(channel) else rules.redirect_chat
    if not instead:
        raise Unsendable(codes.NO_REDIRECT)
    return instead


def marked(words: Words, channel: str, to: str, rules: Rules) -> Words:
    """Give the words with the recipient's address, as people may see it, where all goes to one address."""
    if not rules.redirect_to:
        return words
    shown = mask(to)
    return Words(
        f"[{shown}] {words.subject}",
        f"[{shown}] {words.text}" if is_chat(channel) else words.text,  # a chat shows no subject
        words.short and f"({shown.replace(_DOTS, '...')}) {words.short}",
    )
