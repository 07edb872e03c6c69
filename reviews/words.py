"""The words that pages and commands use for states, facts, verbs and entries. One meaning each; *sent* is not used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from notifications.models import LogEntry
from notifications.states import DeliveryStatus, EntryKind, Found, Known, NextAction, Outcome, State
from reviews.refusals import Sentence


@dataclass(frozen=True, slots=True)
class Badge:
    """A word with an icon and a tone: no meaning is carried by colour alone."""

    word: Sentence
    icon: str
    tone: str


STATES: Final[dict[str, Badge]] = {
    State.PENDING: Badge(_("Queued"), "◷", "calm"),
    State.SENDING: Badge(_("Calling the provider"), "⇢", "busy"),
    State.RETRY: Badge(_("Retry queued"), "↻", "busy"),
    State.ACCEPTED: Badge(_("Accepted by provider"), "✓", "good"),
    State.NEEDS_REVIEW: Badge(_("Needs review"), "!", "warn"),
    State.CLOSED: Badge(_("Closed"), "■", "calm"),
    State.CANCELLED: Badge(_("Cancelled"), "⊘", "calm"),
}
KNOWN: Final[dict[str, Badge]] = {
    Known.NOT_SENT: Badge(_("Not sent"), "○", "good"),
    Known.UNKNOWN: Badge(_("Unknown"), "?", "warn"),
    Known.ACCEPTED: Badge(_("Accepted"), "✓", "good"),
    Known.CONFLICT: Badge(_("Conflict"), "≠", "bad"),
    Known.BOUNCED: Badge(_("Bounced"), "↩", "bad"),
    Known.SOFT_BOUNCED: Badge(_("Bounced for now"), "↩", "warn"),
    Known.COMPLAINED: Badge(_("Complaint"), "⚑", "bad"),
    Known.SUPPRESSED: Badge(_("Suppressed"), "⊘", "bad"),
    Known.INVALID: Badge(_("Invalid"), "×", "bad"),
    Known.AWAITING_APPROVAL: Badge(_("Awaits approval"), "◇", "calm"),
}
DELIVERY: Final[dict[str, Badge]] = {
    DeliveryStatus.NONE: Badge(_("No receipt yet"), "–", "calm"),
    DeliveryStatus.DEFERRED: Badge(_("Deferred"), "◷", "calm"),
    DeliveryStatus.DELIVERED: Badge(_("Delivered"), "✓", "good"),
    DeliveryStatus.SOFT_BOUNCED: Badge(_("Bounced for now"), "↩", "warn"),
    DeliveryStatus.FAILED: Badge(_("Failed at the provider"), "×", "bad"),
    DeliveryStatus.SUPPRESSED: Badge(_("Suppressed"), "⊘", "bad"),
    DeliveryStatus.BOUNCED: Badge(_("Bounced"), "↩", "bad"),
    DeliveryStatus.COMPLAINED: Badge(_("Complaint"), "⚑", "bad"),
}
# What one receipt says, whatever other receipts have said.
RECEIPTS: Final[dict[str, Badge]] = DELIVERY | {DeliveryStatus.NONE: Badge(_("The provider has it"), "✓", "calm")}
OUTCOMES: Final[dict[str, Badge]] = {
    Outcome.ACCEPTED: Badge(_("Accepted"), "✓", "good"),
    Outcome.NOT_SENT: Badge(_("Not sent"), "○", "calm"),
    Outcome.UNKNOWN: Badge(_("Unknown"), "?", "warn"),
    Outcome.IN_FLIGHT: Badge(_("Earlier call still ran"), "⇢", "warn"),
    Outcome.CONFLICT: Badge(_("Conflict"), "≠", "bad"),
    Outcome.REJECTED: Badge(_("Rejected"), "×", "bad"),
}
NEXT_ACTIONS: Final[dict[str, Sentence]] = {
    NextAction.QUERY_PROVIDER: _("Ask the provider"),
    NextAction.RETRY_SAME_KEY: _("Retry"),
    NextAction.FIX_CONFIG: _("Mend the configuration, then retry"),
    NextAction.CORRECT_ADDRESS: _("Correct the address"),
    NextAction.WAIT_FOR_EVENT: _("Wait for a receipt"),
    NextAction.CLOSE_DUPLICATE: _("Close as duplicate"),
    NextAction.APPROVE: _("Approve"),
    NextAction.ASK_LEAD: _("Ask a lead"),
}
ANSWERS: Final[dict[str, Badge]] = {
    Found.FOUND: Badge(_("Found"), "✓", "good"),
    Found.NOT_FOUND: Badge(_("Not found"), "○", "calm"),
    Found.INCONCLUSIVE: Badge(_("Inconclusive"), "?", "warn"),
    Found.UNAVAILABLE: Badge(_("Unavailable"), "⊘", "warn"),
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
    "close": _("Close"),
    "reopen": _("Reopen"),
    "note": _("Add note"),
}
DONE: Final[dict[str, Sentence]] = {
    "retry": _("Retry queued: one attempt, by the next free worker."),
    "undo": _("Retry undone: the case needs review again, and nothing was tried."),
    "query": _("The question is queued: within seconds the answer stands in the log."),
    "adopt": _("Adopted: the case counts as accepted, and nothing was sent."),
    "approve": _("Approved: the notification is queued."),
    "close": _("Closed. It stays in the log, and a lead can reopen it."),
    "reopen": _("Reopened: the case needs review again."),
    "note": _("Note added."),
}
REASONS: Final[dict[str, Sentence]] = {
    "provider_recovered": _("Provider has recovered"),
    "configuration_fixed": _("Configuration was mended"),
    "evidence_not_sent": _("Evidence that nothing arrived"),
    "evidence_found": _("Evidence that the provider has it"),
    "code_fixed": _("Code was mended"),
    "owner_asked": _("Owner asked for it"),
    "other": _("Other (explain)"),
    "delivered_elsewhere": _("Delivered another way"),
    "duplicate": _("Duplicate"),
    "no_longer_needed": _("No longer needed"),
    "recipient_gone": _("Recipient is gone (explain)"),
    "cannot_be_fixed": _("Cannot be mended (explain)"),
    "test_data": _("Test data (explain)"),
    "closed_by_mistake": _("Closed by mistake"),
    "new_information": _("New information"),
    "content_checked": _("Content was checked"),
    "clicked_by_mistake": _("Clicked by mistake"),
    "business_cancelled": _("Cancelled by the application"),
}
ENTRIES: Final[dict[str, Sentence]] = {
    EntryKind.HELD: _("Held for approval"),
    EntryKind.RELEASED: _("Approved"),
    EntryKind.INVALID: _("Could not be prepared"),
    EntryKind.BLOCKED: _("Blocked before the attempt"),
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
    EntryKind.RETRIED: _("Retry ordered"),
    EntryKind.UNDONE: _("Retry undone"),
    EntryKind.RE_PREPARED: _("Prepared anew"),
    EntryKind.ADOPTED: _("The provider's answer was adopted"),
    EntryKind.SNOOZED: _("Set aside"),
    EntryKind.RESUMED: _("Taken up again"),
    EntryKind.CLOSED: _("Closed"),
    EntryKind.REOPENED: _("Reopened"),
    EntryKind.WITHDRAWN: _("Withdrawn"),
    EntryKind.SUPERSEDED: _("Replaced by a newer notification"),
}
PHASES: Final[dict[str, Sentence]] = {
    "not_connected": _("not connected"),
    "request_written": _("request written"),
    "answer_read": _("answer read"),
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
        "at": f"{last.at:%H:%M:%S} UTC",
        "state": STATES[last.to_state].word,
    }
    return (
        gettext("The case changed while you read it. %(what)s, by %(who)s at %(at)s; now: %(state)s. Nothing was done.")
        % facts
    )
