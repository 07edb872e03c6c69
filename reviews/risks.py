"""What a retry can cost: cause and number, in a sentence and in a word."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext

from notifications.models import Intent
from notifications.policy.causes import UNPREPARED
from notifications.policy.windows import Protection, protection
from notifications.states import Known
from reviews import times


def risk(intent: Intent, now: datetime, absent_at: datetime | None = None) -> str:
    """Say what a retry can cost: cause and number. Empty where it is not open to the operator.

    `absent_at`: when the provider said that it has no such message, as far as that still counts.
    """
    if intent.known == Known.SOFT_BOUNCED:
        return gettext("Risk: low. The receiving server refused this message; a new one goes out under a new key.")
    if intent.first_ambiguous_at is None and intent.known == Known.INVALID and intent.error_code in UNPREPARED:
        return gettext("Risk: none. Nothing was prepared yet; one attempt is made, from the data as it was given.")
    if intent.first_ambiguous_at is None and intent.known == Known.INVALID:
        return gettext("Risk: none. Nothing was accepted; one attempt is made, prepared anew under an unused key.")
    if intent.first_ambiguous_at is None:
        return gettext("Risk: none. Nothing that could arrive has left; one attempt is made.")
    if protection(intent.safe_until, now) is Protection.OPEN:
        return gettext("Risk: low. The same key and bytes go out again; the provider answers as it did before.")
    if absent_at is not None:
        return gettext(
            "Risk: medium. No key protects this any more. At %(at)s the provider did not have the message; "
            "if it has taken it all the same, the recipient gets it twice."
        ) % {"at": times.clock(absent_at)}
    return ""


def risk_level(intent: Intent, now: datetime, absent_at: datetime | None = None) -> str:
    """Give the word of `risk` alone: none, low or medium; empty where a retry is not open to the operator."""
    if intent.first_ambiguous_at is None:
        return "low" if intent.known == Known.SOFT_BOUNCED else "none"
    if intent.known == Known.SOFT_BOUNCED or protection(intent.safe_until, now) is Protection.OPEN:
        return "low"
    return "medium" if absent_at is not None else ""
