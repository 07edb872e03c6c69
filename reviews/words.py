"""The words that pages and commands use for states, facts, verbs and entries. One meaning each; *sent* is not used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from notifications.models import LogEntry
from notifications.states import DeliveryStatus, EntryKind, Known, NextAction, Outcome, State
from reviews.refusals import Sentence


@dataclass(frozen=True, slots=True)
class Badge:
    """A word with an icon and a tone: no meaning is carried by colour alone."""

    word: Sentence
    icon: str
    tone: str


_t = gettext_lazy
STATES: Final[dict[str, Badge]] = {
    State.PENDING: Badge(_t("Queued"), "◷", "calm"),
    State.SENDING: Badge(_t("Calling the provider"), "⇢", "busy"),
    State.RETRY: Badge(_t("Retry queued"), "↻", "busy"),
    State.ACCEPTED: Badge(_t("Accepted by provider"), "✓", "good"),
    State.NEEDS_REVIEW: Badge(_t("Needs review"), "!", "warn"),
    State.CLOSED: Badge(_t("Closed"), "■", "calm"),
    State.CANCELLED: Badge(_t("Cancelled"), "⊘", "calm"),
}
KNOWN: Final[dict[str, Badge]] = {
    Known.NOT_SENT: Badge(_t("Not sent"), "○", "good"),
    Known.UNKNOWN: Badge(_t("Unknown"), "?", "warn"),
    Known.ACCEPTED: Badge(_t("Accepted"), "✓", "good"),
    Known.CONFLICT: Badge(_t("Conflict"), "≠", "bad"),
    Known.BOUNCED: Badge(_t("Bounced"), "↩", "bad"),
    Known.SOFT_BOUNCED: Badge(_t("Bounced for now"), "↩", "warn"),
    Known.COMPLAINED: Badge(_t("Complaint"), "⚑", "bad"),
    Known.SUPPRESSED: Badge(_t("Suppressed"), "⊘", "bad"),
    Known.INVALID: Badge(_t("Invalid"), "×", "bad"),
    Known.AWAITING_APPROVAL: Badge(_t("Awaits approval"), "◇", "calm"),
}
DELIVERY: Final[dict[str, Badge]] = {
    DeliveryStatus.NONE: Badge(_t("No receipt yet"), "–", "calm"),
    DeliveryStatus.DEFERRED: Badge(_t("Deferred"), "◷", "calm"),
    DeliveryStatus.DELIVERED: Badge(_t("Delivered"), "✓", "good"),
    DeliveryStatus.SOFT_BOUNCED: Badge(_t("Bounced for now"), "↩", "warn"),
    DeliveryStatus.FAILED: Badge(_t("Failed at the provider"), "×", "bad"),
    DeliveryStatus.SUPPRESSED: Badge(_t("Suppressed"), "⊘", "bad"),
    DeliveryStatus.BOUNCED: Badge(_t("Bounced"), "↩", "bad"),
    DeliveryStatus.COMPLAINED: Badge(_t("Complaint"), "⚑", "bad"),
}
OUTCOMES: Final[dict[str, Badge]] = {
    Outcome.ACCEPTED: Badge(_t("Accepted"), "✓", "good"),
    Outcome.NOT_SENT: Badge(_t("Not sent"), "○", "calm"),
    Outcome.UNKNOWN: Badge(_t("Unknown"), "?", "warn"),
    Outcome.IN_FLIGHT: Badge(_t("Earlier call still ran"), "⇢", "warn"),
    Outcome.CONFLICT: Badge(_t("Conflict"), "≠", "bad"),
    Outcome.REJECTED: Badge(_t("Rejected"), "×", "bad"),
}
NEXT_ACTIONS: Final[dict[str, Sentence]] = {
    NextAction.QUERY_PROVIDER: _t("Ask the provider"),
    NextAction.RETRY_SAME_KEY: _t("Retry"),
    NextAction.FIX_CONFIG: _t("Mend the configuration, then retry"),
    NextAction.CORRECT_ADDRESS: _t("Correct the address"),
    NextAction.WAIT_FOR_EVENT: _t("Wait for a receipt"),
    NextAction.CLOSE_DUPLICATE: _t("Close as duplicate"),
    NextAction.APPROVE: _t("Approve"),
    NextAction.ASK_LEAD: _t("Ask a lead"),
}
VERBS: Final[dict[str, Sentence]] = {
    "retry": _t("Retry"),
    "undo": _t("Undo the retry"),
    "approve": _t("Approve"),
    "close": _t("Close"),
    "reopen": _t("Reopen"),
    "note": _t("Add note"),
}
DONE: Final[dict[str, Sentence]] = {
    "retry": _t("Retry queued: one attempt, by the next free worker."),
    "undo": _t("Retry undone: the case needs review again, and nothing was tried."),
    "approve": _t("Approved: the notification is queued."),
    "close": _t("Closed. It stays in the log, and a lead can reopen it."),
    "reopen": _t("Reopened: the case needs review again."),
    "note": _t("Note added."),
}
REASONS: Final[dict[str, Sentence]] = {
    "provider_recovered": _t("Provider has recovered"),
    "configuration_fixed": _t("Configuration was mended"),
    "evidence_not_sent": _t("Evidence that nothing arrived"),
    "code_fixed": _t("Code was mended"),
    "owner_asked": _t("Owner asked for it"),
    "other": _t("Other (explain)"),
    "delivered_elsewhere": _t("Delivered another way"),
    "duplicate": _t("Duplicate"),
    "no_longer_needed": _t("No longer needed"),
    "recipient_gone": _t("Recipient is gone (explain)"),
    "cannot_be_fixed": _t("Cannot be mended (explain)"),
    "test_data": _t("Test data (explain)"),
    "closed_by_mistake": _t("Closed by mistake"),
    "new_information": _t("New information"),
    "content_checked": _t("Content was checked"),
    "clicked_by_mistake": _t("Clicked by mistake"),
    "business_cancelled": _t("Cancelled by the application"),
}
ENTRIES: Final[dict[str, Sentence]] = {
    EntryKind.HELD: _t("Held for approval"),
    EntryKind.RELEASED: _t("Approved"),
    EntryKind.INVALID: _t("Could not be prepared"),
    EntryKind.BLOCKED: _t("Blocked before the attempt"),
    EntryKind.CLAIMED: _t("Attempt began"),
    EntryKind.RESULT: _t("Attempt ended"),
    EntryKind.LATE: _t("A late answer was kept"),
    EntryKind.SETTLED: _t("Acceptance was proven"),
    EntryKind.LEASE_LOST: _t("The worker was lost"),
    EntryKind.WINDOW_OVER: _t("The key's protection ended"),
    EntryKind.EXPIRED: _t("Expired"),
    EntryKind.RECEIPT: _t("A receipt came"),
    EntryKind.UNCONFIRMED: _t("Never confirmed"),
    EntryKind.EVIDENCE: _t("The provider was asked"),
    EntryKind.RETRIED: _t("Retry ordered"),
    EntryKind.UNDONE: _t("Retry undone"),
    EntryKind.RE_PREPARED: _t("Prepared anew"),
    EntryKind.ADOPTED: _t("The provider's answer was adopted"),
    EntryKind.SNOOZED: _t("Set aside"),
    EntryKind.RESUMED: _t("Taken up again"),
    EntryKind.CLOSED: _t("Closed"),
    EntryKind.REOPENED: _t("Reopened"),
    EntryKind.WITHDRAWN: _t("Withdrawn"),
    EntryKind.SUPERSEDED: _t("Replaced by a newer notification"),
}
PHASES: Final[dict[str, Sentence]] = {
    "not_connected": _t("not connected"),
    "request_written": _t("request written"),
    "answer_read": _t("answer read"),
}


def person_name(actor: str | None) -> str:
    """Give the name to show: `user:olga` is olga."""
    return (actor or "").removeprefix("user:")


def changed_sentence(news: Sequence[LogEntry]) -> Sentence:
    """Say who moved the case while the person was reading it, when, and to what."""
    if not news:
        return _("The case is not as this page showed it. Nothing was done; look at it again.")
    last = news[-1]
    facts = {
        "what": ENTRIES.get(last.kind, last.kind),
        "who": person_name(last.actor) or last.worker or _("the system"),
        "at": f"{last.at:%H:%M:%S} UTC",
        "state": STATES[last.to_state].word,
    }
    return (
        _("The case changed while you read it. %(what)s, by %(who)s at %(at)s; now: %(state)s. Nothing was done.")
        % facts
    )
