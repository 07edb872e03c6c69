"""Sentences for the operator: what is known about a case, what its error code means, what cures it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from notifications.models import Intent
from notifications.policy import codes
from notifications.policy.codes import OWN_CODES
from notifications.policy.windows import Protection, protection
from notifications.states import DeliveryStatus, Known, State
from reviews.refusals import Sentence

_PROVIDER_CODE: Final = re.compile(r"(?P<provider>[a-z0-9_]+)\.(?P<status>\d{3})\.(?P<name>[a-z0-9_]+)")
# What a provider's status says, whoever the provider is.
_BY_STATUS: Final[tuple[tuple[range, Sentence], ...]] = (
    (range(400, 401), _("The provider says that the request is malformed; nothing was accepted.")),
    (range(401, 404), _("The provider refused our key or our sender; nothing was accepted.")),
    (range(409, 410), _("The provider has seen this key before.")),
    (range(422, 423), _("The provider says that a field of the request is wrong; nothing was accepted.")),
    (range(429, 430), _("The provider takes no more for now; nothing was accepted.")),
    (range(404, 500), _("The provider refused the request; nothing was accepted.")),
    (range(500, 600), _("The provider failed; it may have accepted the message before.")),
)
_SENTENCES: Final[dict[str, Sentence]] = {
    Known.NOT_SENT: _("Nothing left this machine: a retry is the first message that can arrive."),
    Known.CONFLICT: _("An earlier request with this key was accepted, with other content: something did go out."),
    Known.BOUNCED: _("The provider accepted it, and the receiving server refused it for good."),
    Known.SOFT_BOUNCED: _("The receiving server refused it for now, and the provider has given up."),
    Known.COMPLAINED: _("It arrived, and the recipient reported it as unwanted."),
    Known.SUPPRESSED: _("The provider did not deliver it: the address is on its suppression list."),
    Known.INVALID: _("The provider refused the request: nothing was accepted, and a retry is prepared anew."),
    Known.ACCEPTED: _("The provider accepted it, and no receipt has confirmed that it arrived."),
    Known.AWAITING_APPROVAL: _("Nothing was tried yet: somebody must approve it first."),
}
# Where the code tells more than what is known.
_BY_CODE: Final[dict[str, Sentence]] = {
    codes.FAILED: _("The provider accepted it, and then could not send it: a retry is prepared anew."),
    codes.SECOND_MESSAGE: _("The provider speaks of a second message under this key: the recipient may have got both."),
}
_BY_STATE: Final[dict[str, Sentence]] = {
    State.PENDING: _("Queued: a worker takes it when it is due."),
    State.SENDING: _("A worker is calling the provider now."),
    State.RETRY: _("The last attempt failed; the next one is queued by the type's ladder."),
    State.ACCEPTED: _("The provider accepted the message. That does not mean that it arrived."),
    State.CLOSED: _("Closed by a person; nothing more is tried."),
    State.CANCELLED: _("Cancelled before the provider accepted anything; nothing more is tried."),
}


def sentence(intent: Intent, now: datetime) -> str:
    """Give the one sentence that the case's title bears."""
    if intent.state == State.NEEDS_REVIEW:
        return _review_sentence(intent, now)
    if intent.state == State.RETRY and intent.manual:
        return gettext("A person ordered one more attempt; it is queued.")
    if intent.state == State.ACCEPTED and intent.delivery_status == DeliveryStatus.DELIVERED:
        return gettext("The receiving server took the message. That does not mean that it was read.")
    if intent.state == State.CANCELLED and (intent.first_ambiguous_at or intent.provider_message_id):
        return gettext("Cancelled; nothing more is tried. An earlier attempt may have reached the recipient.")
    return str(_BY_STATE[intent.state])


def _review_sentence(intent: Intent, now: datetime) -> str:
    if intent.error_code in _BY_CODE:
        return str(_BY_CODE[intent.error_code])
    if intent.known != Known.UNKNOWN:
        return str(_SENTENCES.get(intent.known or "", gettext("A person must decide.")))
    opening = ngettext(
        "Outcome unknown. The provider may have accepted the attempt.",
        "Outcome unknown. The provider may have accepted one of %(count)d attempts.",
        intent.attempt_count,
    ) % {"count": intent.attempt_count}
    if protection(intent.safe_until, now) is Protection.OPEN and intent.safe_until is not None:
        until = {"until": f"{intent.safe_until:%Y-%m-%d %H:%M} UTC", "left": span(intent.safe_until - now)}
        return opening + " " + gettext("The same key protects you until %(until)s (%(left)s left).") % until
    return opening + " " + gettext("No key protects a repeat any more: a retry could be a second message.")


def meaning(code: str | None) -> str:
    """Give the sentence for an error code."""
    if not code:
        return ""
    if code in OWN_CODES:
        return gettext(OWN_CODES[code])
    found = _PROVIDER_CODE.fullmatch(code)
    if found:
        status = int(found["status"])
        return next((str(text) for statuses, text in _BY_STATUS if status in statuses), "")
    return ""


def label(code: str | None) -> str:
    """Give the short name of a provider's code: `resend.422.validation_error` is “422 validation error”.

    Our own codes are words already, and get none.
    """
    found = _PROVIDER_CODE.fullmatch(code or "")
    return f"{found['status']} {found['name'].replace('_', ' ')}" if found else ""


def risk(intent: Intent, now: datetime, absent_at: datetime | None = None) -> str:
    """Say what a retry can cost: cause and number. Empty where it is not open to the operator.

    `absent_at`: when the provider said that it has no such message, as far as that still counts.
    """
    if intent.known == Known.SOFT_BOUNCED:
        return gettext("Risk: low. The receiving server refused this message; a new one goes out under a new key.")
    if intent.first_ambiguous_at is None:
        return gettext("Risk: none. Nothing that could arrive has left; one attempt is made.")
    if protection(intent.safe_until, now) is Protection.OPEN:
        return gettext("Risk: low. The same key and bytes go out again; the provider answers as it did before.")
    if absent_at is not None:
        return gettext(
            "Risk: medium. No key protects this any more. At %(at)s UTC the provider did not have the message; "
            "if it has taken it all the same, the recipient gets it twice."
        ) % {"at": f"{absent_at:%H:%M:%S}"}
    return ""


def span(length: timedelta) -> str:
    """Give a span in its largest unit, rounded down."""
    seconds = int(abs(length.total_seconds()))
    for size, one in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            return _unit(one, seconds // size)
    return gettext("less than a second")


def _unit(unit: str, count: int) -> str:
    forms = {
        "day": ngettext("%(n)d day", "%(n)d days", count),
        "hour": ngettext("%(n)d hour", "%(n)d hours", count),
        "minute": ngettext("%(n)d minute", "%(n)d minutes", count),
        "second": ngettext("%(n)d second", "%(n)d seconds", count),
    }
    return forms[unit] % {"n": count}
