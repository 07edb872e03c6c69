"""Sentences for the operator: what is known about a case, what its error code means, what cures it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from notifications.models import Intent
from notifications.policy import codes
from notifications.policy.causes import UNPREPARED, cause_of
from notifications.policy.codes import OWN_CODES, SERVICE_NAMES
from notifications.policy.cures import BY_CAUSE, CURES
from notifications.policy.windows import Protection, protection
from notifications.states import DeliveryStatus, Known, State
from reviews import code_labels, times
from reviews.refusals import Sentence

# More numbers than this nobody reads.
_MOST_NAMED: Final = 6
_PROVIDER_CODE: Final = re.compile(r"(?P<provider>[a-z0-9_]+)\.(?P<status>\d{3})\.(?P<name>[a-z0-9_]+)")
# What a provider's status says, whoever the provider is.
_BY_STATUS: Final[tuple[tuple[range, Sentence], ...]] = (
    (range(400, 401), _("The provider says that the request is malformed; nothing was accepted.")),
    (range(300, 400), _("The provider's address sends elsewhere, which is not followed; nothing was accepted.")),
    (range(401, 404), _("The provider refused our key or our sender; nothing was accepted.")),
    (range(404, 406), _("The provider's address is not the one of its API; nothing was accepted.")),
    (range(409, 410), _("The provider has seen this key before.")),
    (range(422, 423), _("The provider says that a field of the request is wrong; nothing was accepted.")),
    (range(429, 430), _("The provider takes no more for now; nothing was accepted.")),
    (range(404, 500), _("The provider refused the request; nothing was accepted.")),
    (range(500, 600), _("The provider failed; it may have accepted the message before.")),
)
_CURE_BY_STATUS: Final[tuple[tuple[range, Sentence], ...]] = (
    (range(409, 410), _("Ask the provider: an earlier request with this key may have been accepted.")),
    (range(429, 430), _("Wait, or raise the account's limits with the provider; then retry.")),
    (range(500, 600), _("Ask the provider: it may have accepted the message before it failed.")),
)
_SENTENCES: Final[dict[str, Sentence]] = {
    Known.NOT_SENT: _("Nothing left this machine: a retry is the first message that can arrive."),
    Known.CONFLICT: _("An earlier request with this key was accepted, with other content: something did go out."),
    Known.BOUNCED: _("The provider accepted it, and the receiving server refused it for good."),
    Known.SOFT_BOUNCED: _("The receiving server refused it for now, and the provider has given up."),
    Known.COMPLAINED: _("It arrived, and the recipient reported it as unwanted."),
    Known.SUPPRESSED: _("The provider did not deliver it: the address is on its suppression list."),
    Known.INVALID: _("Nothing was accepted: a retry is prepared anew, under a key that was never used."),
    Known.ACCEPTED: _("The provider accepted it, and no receipt has confirmed that it arrived."),
    Known.AWAITING_APPROVAL: _("Nothing was tried yet: somebody must approve it first."),
}
# What receipts said of a message that counts as accepted.
_ACCEPTED: Final[dict[str, Sentence]] = {
    DeliveryStatus.DELIVERED: _("The provider accepted it, and the receiving server took it."),
    DeliveryStatus.DEFERRED: _("The provider accepted it, and the receiving server puts it off so far."),
}
# What an answer that is known does not say: there is another message.
_MAY_BE_TWO: Final = frozenset({Known.ACCEPTED, Known.UNKNOWN, Known.CONFLICT})
# Where the code tells more than what is known.
_BY_CODE: Final[dict[str, Sentence]] = {
    codes.FAILED: _("The provider accepted it, and then could not send it: a retry is prepared anew."),
    codes.RESTORED: _(
        "The database was restored, and this may have been sent in the time that was lost: the provider is asked first."
    ),
    codes.ARRIVED_BEFORE: _("An earlier message of this notification has arrived: nothing more was sent."),
    codes.ORDER_OVERDUE: _("The ordered resend could not leave within half an hour: decide anew whether it should."),
    codes.FORGOTTEN_MESSAGE: _(
        "After the restore the provider showed a later message of this, which is forgotten here: it may have arrived."
    ),
    codes.SECOND_MESSAGE: _(
        "The provider speaks of another message of this notification: the recipient may have got both."
    ),
}
_BY_STATE: Final[dict[str, Sentence]] = {
    State.PENDING: _("Queued: a worker takes it when it is due."),
    State.SENDING: _("A worker is calling the provider now."),
    State.RETRY: _("The last attempt failed; the next one is queued by the type's ladder."),
    State.ACCEPTED: _("The provider accepted the message. That does not mean that it arrived."),
    State.CLOSED: _("Closed by a person; nothing more is tried."),
    State.CANCELLED: _("Cancelled before the provider accepted anything; nothing more is tried."),
}


@dataclass(frozen=True, slots=True)
class Told:
    """What the log adds to a case's row.

    `was_sent_anew`: an earlier message may be out as well. `double`: the code by which the log names another message of
    this notification, which stays true for ever. `unclear`: the numbers of the attempts that may have been accepted.
    """

    was_sent_anew: bool = False
    double: str = ""
    unclear: Sequence[int] = ()


_NOTHING_TOLD: Final = Told()


def sentence(intent: Intent, now: datetime, told: Told = _NOTHING_TOLD) -> str:
    """Give what the case's title says: where it stands and, for ever, that the recipient may have two messages."""
    if intent.state == State.NEEDS_REVIEW:
        if told.double and intent.known in _MAY_BE_TWO:
            return str(_BY_CODE[told.double])
        return _review_sentence(intent, now, told)
    said = _sentence_outside(intent, told)
    return f"{said} {_BY_CODE[told.double]}" if told.double else said


def _sentence_outside(intent: Intent, told: Told) -> str:
    if intent.state == State.RETRY and intent.manual:
        return gettext("A person ordered one more attempt; it is queued.")
    if intent.state == State.ACCEPTED and intent.delivery_status == DeliveryStatus.DELIVERED:
        return gettext("The receiving server took the message. That does not mean that it was read.")
    if intent.state == State.CANCELLED and (intent.may_be_out or told.was_sent_anew):
        return gettext("Cancelled; nothing more is tried. An earlier attempt may have reached the recipient.")
    return str(_BY_STATE[intent.state])


def _review_sentence(intent: Intent, now: datetime, told: Told) -> str:
    if intent.error_code in _BY_CODE:
        return str(_BY_CODE[intent.error_code])
    if getattr(intent, "earlier", None) == "given_up" and intent.known in (Known.NOT_SENT, Known.INVALID):
        return gettext("Nothing of this message has arrived, but the one before it may have: two people decide.")
    if getattr(intent, "earlier", None) == "disputed" and intent.known == Known.SOFT_BOUNCED:
        return gettext("The receiving server took it, and refused it for now: two leads may order another message.")
    return _sentence_of_known(intent, now, told)


def _sentence_of_known(intent: Intent, now: datetime, told: Told) -> str:
    if intent.known == Known.ACCEPTED and intent.delivery_status in _ACCEPTED:
        return str(_ACCEPTED[intent.delivery_status])
    if intent.known == Known.INVALID and intent.error_code in UNPREPARED:
        return gettext(
            "Nothing could be prepared, so nothing was sent: a retry prepares it from the data as it was given, by the "
            "template as it is then."
        )
    if intent.known != Known.UNKNOWN:
        return str(_SENTENCES.get(intent.known or "", gettext("A person must decide.")))
    if intent.error_code == codes.SITE_MODE_CHANGED:
        return gettext(
            "Outcome unknown. It was tried in another site mode, whose provider cannot be asked from here: close it "
            "with what you know, or set NOTIFYOPS_SITE_MODE back to that mode and ask there."
        )
    opening = _opening(told.unclear)
    if protection(intent.safe_until, now) is Protection.OPEN and intent.safe_until is not None:
        until = {"until": times.clock(intent.safe_until, "%Y-%m-%d %H:%M"), "left": span(intent.safe_until - now)}
        return opening + " " + gettext("The same key protects you until %(until)s (%(left)s left).") % until
    return opening + " " + gettext("No key protects a repeat any more: a retry could be a second message.")


def _opening(unclear: Sequence[int]) -> str:
    """Name the attempts that may have been accepted; those that are proven not to have been are left out."""
    if not unclear:
        return gettext("Outcome unknown. The provider may have accepted it.")
    numbers = ", ".join(str(number) for number in unclear[-_MOST_NAMED:])
    if len(unclear) == 1:
        return gettext("Outcome unknown. The provider may have accepted attempt %(n)s.") % {"n": numbers}
    if len(unclear) > _MOST_NAMED:
        said = gettext(
            "Outcome unknown. The provider may have accepted one of %(count)d attempts, the last ones %(n)s."
        )
        return said % {"count": len(unclear), "n": numbers}
    return gettext("Outcome unknown. The provider may have accepted one of the attempts %(n)s.") % {"n": numbers}


def known_sentence(known: str) -> str:
    """Give what it means that this is known, without a case at hand."""
    if known == Known.UNKNOWN:
        return gettext("An attempt may have been accepted, and no answer says so: the recipient may have it or not.")
    return str(_SENTENCES[known])


def meaning(code: str | None) -> str:
    """Give the sentence for an error code."""
    if not code:
        return ""
    if code in OWN_CODES:
        return gettext(OWN_CODES[code])
    found = _PROVIDER_CODE.fullmatch(code)
    if found and found["name"] in SERVICE_NAMES:
        return gettext(SERVICE_NAMES[found["name"]])
    if found:
        status = int(found["status"])
        return next((str(text) for statuses, text in _BY_STATUS if status in statuses), "")
    return ""


def cure(code: str | None, field: str | None = None) -> str:
    """Give what a person does about an error code; empty where only the case's own page can tell.

    `field`: what the provider named of the request.
    """
    if code in CURES:
        return gettext(CURES[code])
    found = _PROVIDER_CODE.fullmatch(code or "")
    said = next((str(text) for statuses, text in _CURE_BY_STATUS if found and int(found["status"]) in statuses), "")
    cause = cause_of(code, field)
    return said or (gettext(BY_CAUSE[cause]) if cause in BY_CAUSE else "")


def standing_code(intent: Intent) -> str:
    """Give the error code that still says something of where the case stands; empty where none does."""
    is_past = intent.error_code == codes.AWAITING_APPROVAL and intent.state != State.NEEDS_REVIEW
    return "" if is_past else intent.error_code or ""


def label(code: str | None) -> str:
    """Give the short name of a provider's code: `resend.422.validation_error` is “422 validation error”.

    Our own codes are words already, and get none.
    """
    found = _PROVIDER_CODE.fullmatch(code or "")
    return f"{found['status']} {code_labels.word_of(found['name'])}" if found else ""


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
