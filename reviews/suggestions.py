"""The words for what is suggested: first by the code alone, then by what has happened since."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy as _

from notifications.states import NextAction
from reviews.refusals import Sentence

NEXT_ACTIONS: Final[dict[str, Sentence]] = {
    NextAction.QUERY_PROVIDER: _("Ask the provider"),
    NextAction.RETRY_SAME_KEY: _("Retry, same key"),
    NextAction.RETRY_NEW_KEY: _("Retry, new key"),
    NextAction.FIX_CONFIG: _("Mend the account, then retry"),
    NextAction.FIX_CONTENT: _("Mend the template, then retry; or close it and enqueue it anew"),
    NextAction.FIND_CAUSE: _("Find out what is refused, mend it, then retry"),
    NextAction.ENQUEUE_ANEW: _("Close it, and enqueue it anew"),
    NextAction.CORRECT_ADDRESS: _("Correct the address"),
    NextAction.WAIT_FOR_EVENT: _("Wait for a receipt"),
    NextAction.CLOSE_DUPLICATE: _("Close as duplicate"),
    NextAction.APPROVE: _("Approve"),
    NextAction.ASK_LEAD: _("Ask a lead"),
}
# What is suggested to who may not do what would settle it.
ASK_TO: Final[dict[str, Sentence]] = {
    "correct": _("Ask a lead to correct the address, and set it aside until then"),
    "approve": _("Ask a lead to approve or decline it"),
    "adopt": _("Ask a lead to adopt the provider's answer"),
}
ASK_AND_WAIT: Final = _("Ask a lead, and set it aside until then")
# To who may look and decide nothing.
FOR_OTHERS: Final = _("For others to decide: {what}")
# What is suggested by what has happened since the first suggestion: a verb, or why to wait.
SUGGESTIONS: Final[dict[str, Sentence]] = {
    "retry": _("Retry: the provider was asked, and nothing forbids it"),
    "adopt": _("Adopt the provider's answer"),
    "approve": _("Approve or decline it"),
    "close": _("Close it with what you know"),
    "mended": _("Retry: the account was changed since"),
    "wait": _("Set it aside: the provider was asked a moment ago"),
    "awaited": _("Wait: the provider is being asked"),
    "two_leads": _("Two leads decide: send it anew, or close it"),
    # What a restore bars (the database's `forgotten_v1`).
    "recovering": _("Wait for the recovery"),
    "unlisted": _("Wait for the provider's list"),
    "forgotten": _("Close it: a forgotten message is out"),
}
