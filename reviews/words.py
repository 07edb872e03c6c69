"""The words that pages and commands use for states, facts, verbs and entries. One meaning each; *sent* is not used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from notifications.models import LogEntry
from notifications.states import DeliveryStatus, EntryKind, Found, Known, Outcome, State
from reviews import times
from reviews.refusals import Sentence


@dataclass(frozen=True, slots=True)
class Badge:
    """A word with an icon (a name of static/icons.svg) and a tone: no meaning is carried by colour alone."""

    word: Sentence
    icon: str
    tone: str


RUNS: Final[dict[str, Badge]] = {
    "running": Badge(_("Running"), "loader", "busy"),
    "paused": Badge(_("Paused"), "pause", "warn"),
    "interrupted": Badge(_("Interrupted"), "unplug", "bad"),
    "failed": Badge(_("Failed"), "x", "bad"),
    "cancelled": Badge(_("Cancelled"), "ban", "calm"),
    "done": Badge(_("Done"), "check", "good"),
}
STATES: Final[dict[str, Badge]] = {
    State.PENDING: Badge(_("Queued"), "clock", "calm"),
    State.SENDING: Badge(_("Calling the provider"), "loader", "busy"),
    State.RETRY: Badge(_("Retry queued"), "rotate-cw", "busy"),
    State.ACCEPTED: Badge(_("Accepted by provider"), "check", "good"),
    State.NEEDS_REVIEW: Badge(_("Needs review"), "circle-alert", "warn"),
    State.CLOSED: Badge(_("Closed"), "archive", "calm"),
    State.CANCELLED: Badge(_("Cancelled"), "ban", "calm"),
}
KNOWN: Final[dict[str, Badge]] = {
    Known.NOT_SENT: Badge(_("Not sent"), "circle-dashed", "good"),
    Known.UNKNOWN: Badge(_("Unknown"), "circle-question-mark", "warn"),
    Known.ACCEPTED: Badge(_("Accepted"), "check", "good"),
    Known.CONFLICT: Badge(_("Conflict"), "equal-not", "bad"),
    Known.BOUNCED: Badge(_("Bounced"), "undo-2", "bad"),
    Known.SOFT_BOUNCED: Badge(_("Bounced for now"), "corner-up-left", "warn"),
    Known.COMPLAINED: Badge(_("Complaint"), "flag", "bad"),
    Known.SUPPRESSED: Badge(_("Suppressed"), "shield-ban", "bad"),
    Known.INVALID: Badge(_("Invalid"), "x", "bad"),
    Known.AWAITING_APPROVAL: Badge(_("Awaits approval"), "user-round-check", "calm"),
}
DELIVERY: Final[dict[str, Badge]] = {
    DeliveryStatus.NONE: Badge(_("No receipt yet"), "minus", "calm"),
    DeliveryStatus.DEFERRED: Badge(_("Deferred"), "clock", "calm"),
    DeliveryStatus.DELIVERED: Badge(_("Delivered"), "check-check", "good"),
    DeliveryStatus.SOFT_BOUNCED: Badge(_("Bounced for now"), "corner-up-left", "warn"),
    DeliveryStatus.FAILED: Badge(_("Failed at the provider"), "x", "bad"),
    DeliveryStatus.SUPPRESSED: Badge(_("Suppressed"), "shield-ban", "bad"),
    DeliveryStatus.BOUNCED: Badge(_("Bounced"), "undo-2", "bad"),
    DeliveryStatus.COMPLAINED: Badge(_("Complaint"), "flag", "bad"),
}
# What one receipt says, whatever other receipts have said.
RECEIPTS: Final[dict[str, Badge]] = DELIVERY | {DeliveryStatus.NONE: Badge(_("The provider has it"), "check", "calm")}
OUTCOMES: Final[dict[str, Badge]] = {
    Outcome.ACCEPTED: Badge(_("Accepted"), "check", "good"),
    Outcome.NOT_SENT: Badge(_("Not sent"), "circle-dashed", "calm"),
    Outcome.UNKNOWN: Badge(_("Unknown"), "circle-question-mark", "warn"),
    Outcome.IN_FLIGHT: Badge(_("Earlier call still ran"), "loader", "warn"),
    Outcome.CONFLICT: Badge(_("Conflict"), "equal-not", "bad"),
    Outcome.REJECTED: Badge(_("Rejected"), "x", "bad"),
}
# What may be paused.
PAUSED: Final[dict[str, Sentence]] = {
    "type": _("Type"),
    "workspace": _("Workspace"),
    "account": _("Provider account"),
}
ANSWERS: Final[dict[str, Badge]] = {
    Found.FOUND: Badge(_("Found"), "check", "good"),
    Found.NOT_FOUND: Badge(_("Not found"), "circle-dashed", "calm"),
    Found.INCONCLUSIVE: Badge(_("Inconclusive"), "circle-question-mark", "warn"),
    Found.UNAVAILABLE: Badge(_("Unavailable"), "unplug", "warn"),
}
METHODS: Final[dict[str, Sentence]] = {
    "id": _("by its id"),
    "scan": _("by a scan of the provider's list"),
    "none": _("not asked"),
}
VERBS: Final[dict[str, Sentence]] = {
    "retry": _("Retry"),
    "undo": _("Undo the retry"),
    "query": _("Ask the provider"),
    "adopt": _("Adopt the provider's answer"),
    "approve": _("Approve"),
    "decline": _("Decline"),
    "correct": _("Correct the address"),
    "resend": _("Send anew at all costs"),
    "resume": _("Take up again"),
    "wait": _("Set aside"),
    "close": _("Close"),
    "withdraw": _("Withdraw"),
    "reopen": _("Reopen"),
    "note": _("Add note"),
    "unblock": _("Lift the block of the address"),
    "take": _("Take this case"),
    "release": _("Give it back"),
    "take_over": _("Take it over"),
}
DONE: Final[dict[str, Sentence]] = {
    "retry": _("Retry queued: one attempt, by the next free worker."),
    "undo": _("Retry undone: the case needs review again, and nothing was tried."),
    "query": _("The question is queued: within a minute the answer stands in the log."),
    "adopt": _("Adopted: the case counts as accepted, and nothing was sent."),
    "approve": _("Approved: the notification is queued."),
    "decline": _("Declined: nothing is sent, and the record says who said no."),
    "correct": _("Closed, and owed to the other address: it goes out in a few seconds, unless it is undone there."),
    "resend": _("Asked for: a second lead must confirm it within 30 minutes. Nothing is sent until then."),
    "resume": _("Taken up again: the case is back in the queue."),
    "wait": _("Set aside: it comes back by itself, or with any news."),
    "close": _("Closed. It stays in the log, and a lead can reopen it."),
    "withdraw": _("Withdrawn: nothing of it is sent."),
    "reopen": _("Reopened: the case needs review again."),
    "note": _("Note added."),
    "unblock": _("Lifted: the next notification to this address is sent. This one waits for a retry."),
    "take": _("Taken: the case is yours for 15 minutes, and longer while you work on its page."),
    "release": _("Given back: anybody can take the case."),
    "take_over": _("Taken over: the case is yours, and the record says why."),
}
# Where a verb does something else than its word says.
VERBS_OTHERWISE: Final[dict[str, Sentence]] = {"correction_undone": _("Undo the correction")}
# What a decision came to where the same verb does something else.
DONE_OTHERWISE: Final[dict[str, Sentence]] = {
    "wait_and_ask": _("Set aside: it comes back by itself, or with any news, and the provider is asked then."),
    "maybe_sent": _("Withdrawn: nothing more is sent, but an earlier attempt may have reached the recipient."),
    "confirmed": _("Confirmed: it is sent anew in a few seconds, under a new key. The recipient may get it twice."),
    "declined": _("The request was declined: nothing is sent."),
    "withdrawn": _("The request was taken back: nothing is sent."),
    "correction_held": _(
        "Closed, and owed to the other address: an earlier message may have arrived, so somebody else must approve it."
    ),
    "correction_undone": _("Undone: nothing goes to this address. The one before it can be reopened."),
    "came_back": _("Lifted: the next notification to this address is sent. This one came back, and is not sent again."),
}
# What it came to where the account is not called now; when it is follows in a sentence of its own.
DONE_HELD: Final[dict[str, Sentence]] = {
    "retry": _("Retry queued: one attempt."),
    "query": _("The question is queued."),
    "approve": DONE["approve"],
    "correct": _("Closed, and owed to the other address, unless it is undone there."),
    "confirmed": _("Confirmed: it is sent anew, under a new key. The recipient may get it twice."),
}
REASONS: Final[dict[str, Sentence]] = {
    "provider_recovered": _("Provider has recovered"),
    "configuration_fixed": _("Configuration was mended"),
    "evidence_not_sent": _("Evidence that nothing arrived"),
    "evidence_found": _("Evidence that the provider has it"),
    "code_fixed": _("Code was mended"),
    "owner_asked": _("Owner asked for it"),
    "other": _("Another reason"),
    "delivered_elsewhere": _("Delivered another way"),
    "duplicate": _("Duplicate"),
    "no_longer_needed": _("No longer needed"),
    "recipient_gone": _("Recipient is gone"),
    "cannot_be_fixed": _("Cannot be mended"),
    "test_data": _("Test data"),
    "closed_by_mistake": _("Closed by mistake"),
    "new_information": _("New information"),
    "content_checked": _("Checked at its origin or on the server"),
    "clicked_by_mistake": _("Clicked by mistake"),
    "business_cancelled": _("Cancelled by the application"),
    "address_corrected": _("Address was corrected"),
    "forced_resend": _("Sent anew at all costs"),
    "content_wrong": _("Content is wrong"),
    "privacy_request": _("Privacy request"),
    "sent_in_error": _("Ordered in error"),
}
ENTRIES: Final[dict[str, Sentence]] = {
    EntryKind.HELD: _("Held for approval"),
    EntryKind.RELEASED: _("Approved"),
    EntryKind.INVALID: _("Could not be prepared"),
    EntryKind.BLOCKED: _("Blocked before the attempt"),
    EntryKind.FETCHING: _("Attachments are fetched first"),
    EntryKind.FETCHED: _("Attachments were fetched, or not"),
    EntryKind.CLAIMED: _("Attempt began"),
    EntryKind.RESULT: _("Attempt ended"),
    EntryKind.LATE: _("A late answer was kept"),
    EntryKind.SETTLED: _("Acceptance was proven"),
    EntryKind.LEASE_LOST: _("The worker was lost"),
    EntryKind.WINDOW_OVER: _("The key's protection ended"),
    EntryKind.EXPIRED: _("Expired"),
    EntryKind.RECEIPT: _("A receipt came"),
    EntryKind.UNCONFIRMED: _("Never confirmed"),
    EntryKind.CONTRADICTED: _("Contradicting evidence"),
    EntryKind.EVIDENCE: _("The provider was asked"),
    EntryKind.RESTORED: _("Held after a restore"),
    EntryKind.FREED: _("Let go: the provider does not have it"),
    EntryKind.RETRIED: _("Retry ordered"),
    EntryKind.UNDONE: _("Retry undone"),
    EntryKind.RE_PREPARED: _("Prepared anew"),
    EntryKind.FAILED_OVER: _("Taken over by another account"),
    EntryKind.ADOPTED: _("The provider's answer was adopted"),
    EntryKind.RESEND_ASKED: _("A resend was asked for"),
    EntryKind.RESEND_DROPPED: _("The resend was not confirmed"),
    EntryKind.SNOOZED: _("Set aside"),
    EntryKind.RESUMED: _("Taken up again"),
    EntryKind.CLOSED: _("Closed"),
    EntryKind.REOPENED: _("Reopened"),
    EntryKind.WITHDRAWN: _("Withdrawn"),
    EntryKind.SUPERSEDED: _("Replaced by a newer notification"),
}


def person_name(actor: str | None) -> str:
    """Give the name to show: `user:olga` is olga."""
    return (actor or "").removeprefix("user:")


def changed_sentence(news: Sequence[LogEntry]) -> Sentence:
    """Say who moved the case while the person was reading it, when, and to what."""
    if not news:
        return gettext("The case is not as this page showed it. Nothing was done; look at it again.")
    last = news[-1]
    facts = {
        "what": ENTRIES.get(last.kind, last.kind),
        "who": person_name(last.actor) or last.worker or gettext("the system"),
        "at": times.clock(last.at),
        "state": STATES[last.to_state].word,
    }
    return (
        gettext("The case changed while you read it. %(what)s, by %(who)s at %(at)s; now: %(state)s. Nothing was done.")
        % facts
    )
