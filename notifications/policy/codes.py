"""Every error code of our own, with one sentence of meaning: the closed vocabulary of queue, metrics and docs.

A provider's answers have codes of their own, `<provider>.<status>.<name>`, listed beside its adapter.
"""

from __future__ import annotations

from typing import Final

WORKER_LOST: Final = "worker_lost"
WINDOW_OVER: Final = "window_over"
EXPIRED: Final = "expired"
NO_LONGER_WANTED: Final = "no_longer_wanted"
INVALID_DATA: Final = "invalid_data"
BYTES_ERASED: Final = "bytes_erased"
INVALID_RECIPIENT: Final = "invalid_recipient"
INVALID_SENDER: Final = "invalid_sender"
INVALID_REPLY_TO: Final = "invalid_reply_to"
INVALID_SUBJECT: Final = "invalid_subject"
INVALID_HEADER: Final = "invalid_header"
INVALID_TAG: Final = "invalid_tag"
SITE_MODE_CHANGED: Final = "site_mode_changed"
INVALID_KEY: Final = "invalid_key"
EMPTY_BODY: Final = "empty_body"
TOO_LARGE: Final = "too_large"
UNSUBSCRIBED: Final = "unsubscribed"
OPTED_OUT: Final = "opted_out"
ADDRESS_BOUNCED: Final = "address_bounced"
ADDRESS_COMPLAINED: Final = "address_complained"
AWAITING_APPROVAL: Final = "awaiting_approval"
NOT_CONFIRMED: Final = "not_confirmed"
BOUNCED: Final = "bounced"
SOFT_BOUNCED: Final = "soft_bounced"
COMPLAINED: Final = "complained"
SUPPRESSED: Final = "suppressed"
FAILED: Final = "failed"
SECOND_MESSAGE: Final = "second_message"
ID_OF_ANOTHER: Final = "id_of_another"

REVIEW_CODES: Final[dict[str, str]] = {
    WORKER_LOST: "The worker that made the last attempt ended, or lost its lease, before it could record the answer.",
    WINDOW_OVER: "An attempt may have been accepted, and the time in which the same key prevents a second one is over.",
    EXPIRED: "The notification's expiry passed before the provider accepted it.",
    NO_LONGER_WANTED: "The application said that this notification is not wanted any more.",
    INVALID_DATA: "The data does not fit the type or its template, so nothing could be prepared.",
    BYTES_ERASED: "The frozen message was erased before it was accepted, so the same bytes cannot be sent again.",
    INVALID_RECIPIENT: "The recipient's address is not one that can be sent to.",
    INVALID_SENDER: "The sender has no address, or holds a line break or another control character.",
    INVALID_REPLY_TO: "The reply address has no address, or holds a line break or another control character.",
    INVALID_SUBJECT: "The subject is empty, longer than 998 characters, or holds a line break or control character.",
    INVALID_HEADER: "An extra header has a name or a value that a header cannot carry, or one that is ours to set.",
    INVALID_TAG: "A tag's name or value is not made of letters, digits, dash and underscore, or is too long.",
    SITE_MODE_CHANGED: "The message was prepared in another site mode, for other recipients than it would reach now.",
    INVALID_KEY: "The notification's key is not one that the provider takes as an idempotency key.",
    EMPTY_BODY: "The message has neither text nor HTML.",
    TOO_LARGE: "The prepared message is larger than the provider takes.",
    UNSUBSCRIBED: "The recipient unsubscribed from this kind of notification.",
    OPTED_OUT: "The recipient opted out of this channel.",
    ADDRESS_BOUNCED: "Earlier mail to this address bounced for good, so nothing more is sent to it.",
    ADDRESS_COMPLAINED: "The owner of this address reported earlier mail as unwanted.",
    AWAITING_APPROVAL: "The type needs a person's approval before the first attempt.",
    NOT_CONFIRMED: "The provider accepted the message, and never confirmed that it was delivered.",
    BOUNCED: "The receiving server refused the message for good.",
    SOFT_BOUNCED: "The receiving server refused the message for now, and the provider has given up.",
    COMPLAINED: "The recipient reported the message as unwanted.",
    SUPPRESSED: "The provider did not send the message, because the address is on its suppression list.",
    FAILED: "The provider accepted the message, and then said that it could not send it.",
    SECOND_MESSAGE: "The provider speaks of two messages under one key, so the recipient may have got two.",
    ID_OF_ANOTHER: "The provider names a message that belongs to another notification.",
}

# Why a request never left this machine, or why its answer cannot be read: the same for every HTTP provider.
TRANSPORT_CODES: Final[dict[str, str]] = {
    "not_sent.dns": "The provider's host name could not be resolved; nothing was sent.",
    "not_sent.refused": "The provider's host refused the connection; nothing was sent.",
    "not_sent.tls": "No trusted TLS connection could be made; nothing was sent.",
    "not_sent.connection_failed": "The connection could not be made; nothing was sent.",
    "not_sent.deadline": "The time for the call ran out before the request was written; nothing was sent.",
    "not_sent.stale_connection": "The kept connection had been closed by the provider; nothing was sent.",
    "not_sent.lease_over": "The lease no longer covered the call when it was about to be written; nothing was sent.",
    "not_sent.given_back": "The worker had to stop before the call began, and gave the claim back; nothing was sent.",
    "not_sent.withheld": "The last check before the write forbade the request; nothing was sent.",
    "not_sent.internal_error": "An error on our side stopped the call before the write; nothing was sent.",
    "unknown.deadline": "No complete answer came in time; the provider may have accepted the message.",
    "unknown.disconnected": "The connection ended before the answer; the provider may have accepted the message.",
    "unknown.truncated": "The answer was cut short; the provider may have accepted the message.",
    "unknown.garbled": "The answer was not HTTP; the provider may have accepted the message.",
    "unknown.internal_error": "An error on our side hid the answer; the provider may have accepted the message.",
}

# How a question to the provider ended, where the answer alone does not say it.
LOOKUP_CODES: Final[dict[str, str]] = {
    "lookup.no_key": "No worker here has a key that may read from the provider, so it could not be asked.",
    "lookup.restricted_key": "The look-up key may only send: the provider needs one with full access.",
    "lookup.refused": "The provider refused the look-up key, or the base URL is not the API's.",
    "lookup.rate_limited": "The provider took no more questions for now.",
    "lookup.unreachable": "The provider could not be reached, or failed, so it could not be asked.",
    "lookup.malformed": "The provider's answer could not be read, so it proves nothing.",
    "lookup.page_cap": "One look-up did not read far enough back in the provider's list to come to the attempt's time.",
    "lookup.not_settled": "The last attempt was too short a time ago for a provider's list to be complete.",
    "lookup.retention": "The attempt was longer ago than the provider keeps its messages.",
    "lookup.unproven": "A message that may be this one could not be told from others, so nothing is proven.",
    "lookup.other_account": "The look-up key does not see a message that this account took: it belongs to another one.",
    "lookup.other_mode": "The message was prepared in another site mode, so this provider was never given it.",
    "lookup.erased": "The content was erased, so nobody knows what to look for.",
}

OWN_CODES: Final[dict[str, str]] = {**REVIEW_CODES, **TRANSPORT_CODES, **LOOKUP_CODES}
