"""Why the door refuses: the sentence for each of its words, and for what is known."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy as _

from notifications.states import Known
from reviews.refusals import Sentence
from reviews.ways import ARRIVED, BARRED, EXPIRED

# The door refuses these as well, whatever the page says (delivery.md, table MOVES).
NEVER_RETRIED: Final[dict[str, Sentence]] = {
    Known.ACCEPTED: _("The provider accepted this message: a retry could reach the recipient twice."),
    Known.CONFLICT: _("The provider accepted an earlier request with this key and other content: a retry is refused."),
    Known.BOUNCED: _("The receiving server refused this address for good: the same address fails again."),
    Known.COMPLAINED: _("The recipient reported this mail as unwanted: nothing more may be sent to this address."),
    Known.SUPPRESSED: _("The provider suppresses this address: it would not send a retry either."),
    Known.AWAITING_APPROVAL: _("This was never attempted, since it waits for approval: approve it, or close it."),
}
# What only the log shows, so that only the door can refuse it.
REFUSED_BY_THE_DOOR: Final[dict[str, Sentence]] = {
    **BARRED,
    "arrived": ARRIVED,
    "given_up": _(
        "An earlier message of this notification may have arrived: no one person alone sends another one. "
        "A lead can ask for a resend, and a second lead confirm it."
    ),
    "other_id": _("This notification has another message at the provider already: close this as a duplicate."),
    "site_mode": _(
        "The message was prepared in another site mode, and cannot be prepared anew: it cannot go out here."
    ),
    "bytes_erased": _(
        "Its frozen message was erased, and an attempt may have been accepted: the same bytes cannot go out again. "
        "Ask the provider what became of it, or close this."
    ),
    "id_of_another": _("This message belongs to another notification: it proves nothing about this one."),
    "replaced": _("One with a corrected address goes on in its place: open again, both would be sent."),
    "same_person": _("You asked for this resend yourself: a second lead must confirm it."),
    "not_asked": _("The request for this resend is no longer open: it must be asked for again."),
    "asked": _("A resend is asked for already: a second lead must confirm it."),
    "same_address": _("This is the address that it went to before: give another one."),
    "blocked_address": _("This address bounced, complained, or wants no such mail: nothing may be sent to it."),
    "address": _("Give exactly one plain address, such as ana@example.com."),
    "erased": _("Its content was erased: there is nothing that could be sent to another address."),
    "expired": EXPIRED,
    "bounds": _("Choose a time from five minutes to seven days."),
}
REFUSED_SOMEHOW: Final[Sentence] = _("The database refused this, because of what is known about the message.")
