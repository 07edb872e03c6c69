"""Every error code of our own, with one sentence of meaning: the closed vocabulary of queue, metrics and docs.

A provider's answers have codes of their own, `<provider>.<status>.<name>`, listed beside its adapter.
"""

from __future__ import annotations

from typing import Final

from notifications.policy.text_codes import TELEGRAM_CODES, TWILIO_CODES

WORKER_LOST: Final = "worker_lost"
WINDOW_OVER: Final = "window_over"
EXPIRED: Final = "expired"
NO_LONGER_WANTED: Final = "no_longer_wanted"
INVALID_DATA: Final = "invalid_data"
UNKNOWN_TYPE: Final = "unknown_type"
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
NO_SHORT_TEXT: Final = "no_short_text"
TOO_MANY_PARTS: Final = "too_many_parts"
NO_REDIRECT: Final = "no_redirect"
ATTACHMENTS_NOT_TAKEN: Final = "attachments_not_taken"
ATTACHMENT_UNREACHABLE: Final = "attachment_unreachable"
ATTACHMENT_REFUSED: Final = "attachment_refused"
ATTACHMENT_MISMATCH: Final = "attachment_mismatch"
ATTACHMENT_FORBIDDEN: Final = "attachment_forbidden"
UNSUBSCRIBED: Final = "unsubscribed"
OPTED_OUT: Final = "opted_out"
ADDRESS_BOUNCED: Final = "address_bounced"
ADDRESS_COMPLAINED: Final = "address_complained"
ADDRESS_GONE: Final = "address_gone"
AWAITING_APPROVAL: Final = "awaiting_approval"
NOT_CONFIRMED: Final = "not_confirmed"
BOUNCED: Final = "bounced"
SOFT_BOUNCED: Final = "soft_bounced"
COMPLAINED: Final = "complained"
SUPPRESSED: Final = "suppressed"
FAILED: Final = "failed"
SECOND_MESSAGE: Final = "second_message"
FORGOTTEN_MESSAGE: Final = "forgotten_message"
ID_OF_ANOTHER: Final = "id_of_another"
ARRIVED_BEFORE: Final = "arrived_before"
ORDER_OVERDUE: Final = "order_overdue"
RESTORED: Final = "restored"

REVIEW_CODES: Final[dict[str, str]] = {
    WORKER_LOST: "The worker that made the last attempt ended, or lost its lease, before it could record the answer.",
    WINDOW_OVER: "An attempt may have been accepted, and the time in which the same key prevents a second one is over.",
    EXPIRED: "The notification's expiry passed before the provider accepted it.",
    NO_LONGER_WANTED: "The application said that this notification is not wanted any more.",
    INVALID_DATA: "The data does not fit the type or its template, so nothing could be prepared.",
    UNKNOWN_TYPE: "The worker that took it does not know its type, so nothing could be prepared.",
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
    NO_SHORT_TEXT: "The type has no short text, and this channel sends nothing else.",
    TOO_MANY_PARTS: "The short text needs more text messages than one may cost on this site.",
    NO_REDIRECT: "The site sends all to one address, and none is set for this kind of channel.",
    ATTACHMENTS_NOT_TAKEN: "The message has attachments, and this kind of account carries none.",
    ATTACHMENT_UNREACHABLE: "An attachment did not come from its address, as often as it was asked for.",
    ATTACHMENT_REFUSED: "The address of an attachment does not give it, or points elsewhere.",
    ATTACHMENT_MISMATCH: "What lies at the address of an attachment is not what was announced: other size or SHA-256.",
    ATTACHMENT_FORBIDDEN: "The address of an attachment belongs to a network that may not be asked, or has no TLS.",
    UNSUBSCRIBED: "The recipient unsubscribed from this kind of notification.",
    OPTED_OUT: "The recipient opted out of this channel.",
    ADDRESS_BOUNCED: "Earlier mail to this address bounced for good, so nothing more is sent to it.",
    ADDRESS_COMPLAINED: "The owner of this address reported earlier mail as unwanted.",
    ADDRESS_GONE: "It was said earlier for this address that it takes nothing more, so nothing more is sent to it.",
    AWAITING_APPROVAL: "The type needs a person's approval before the first attempt.",
    NOT_CONFIRMED: "The provider accepted the message, and never confirmed that it was delivered.",
    BOUNCED: "The receiving server refused the message for good.",
    SOFT_BOUNCED: "The receiving server refused the message for now, and the provider has given up.",
    COMPLAINED: "The recipient reported the message as unwanted.",
    SUPPRESSED: "The provider did not send the message, because the address is on its suppression list.",
    FAILED: "The provider accepted the message, and then said that it could not send it.",
    SECOND_MESSAGE: "The provider speaks of another message of this notification, so the recipient may have got two.",
    FORGOTTEN_MESSAGE: "The database was restored, and the provider has a later message that it does not remember.",
    ID_OF_ANOTHER: "The provider names a message that belongs to another notification.",
    ARRIVED_BEFORE: "An earlier message of this notification has arrived, so the waiting one would be a second one.",
    ORDER_OVERDUE: "Two persons ordered this resend more than half an hour ago, and nothing of it has left yet.",
    RESTORED: "The database was restored, and what it does not remember any more may have sent this already.",
}

# Why a request never left this machine, or why its answer cannot be read: the same for every HTTP provider.
TRANSPORT_CODES: Final[dict[str, str]] = {
    "not_sent.dns": "The provider's host name could not be resolved; nothing was sent.",
    "not_sent.refused": "The provider's host refused the connection; nothing was sent.",
    "not_sent.forbidden": "The host's name belongs to a network that may not be called; nothing was sent.",
    "not_sent.tls": "No trusted TLS connection could be made; nothing was sent.",
    "not_sent.connection_failed": "The connection could not be made; nothing was sent.",
    "not_sent.deadline": "The time for the call ran out before the request was written; nothing was sent.",
    "not_sent.stale_connection": "The kept connection had been closed by the provider; nothing was sent.",
    "not_sent.lease_over": "The lease no longer covered the call when it was about to be written; nothing was sent.",
    "not_sent.given_back": "The worker ended, or the message's account was stopped, before the call; nothing was sent.",
    "not_sent.withheld": "The last check before the write forbade the request; nothing was sent.",
    "not_sent.internal_error": "An error on our side stopped the call before the write; nothing was sent.",
    "unknown.deadline": "No complete answer came in time; the provider may have accepted the message.",
    "unknown.disconnected": "The connection ended before the answer; the provider may have accepted the message.",
    "unknown.truncated": "The answer was cut short; the provider may have accepted the message.",
    "unknown.garbled": "The answer was not HTTP; the provider may have accepted the message.",
    "unknown.internal_error": "An error on our side hid the answer; the provider may have accepted the message.",
}

# What an SMTP server said, or lacked; `http_status` then holds its three-digit reply.
SMTP_CODES: Final[dict[str, str]] = {
    "smtp.no_such_mailbox": "The receiving server says that there is no such mailbox; nothing was sent.",
    "smtp.no_such_domain": "The address's domain takes no mail; nothing was sent.",
    "smtp.bad_address": "The receiving server does not take the address as one; nothing was sent.",
    "smtp.mailbox_moved": "The mailbox has moved, and the old address takes nothing; nothing was sent.",
    "smtp.mailbox_disabled": "The mailbox is disabled; nothing was sent.",
    "smtp.mailbox_full": "The mailbox is full; nothing was sent.",
    "smtp.too_large": "The message is larger than the mail server takes; nothing was sent.",
    "smtp.content_refused": "The mail server refused the message for what it says or looks like; nothing was sent.",
    "smtp.sender_refused": "The mail server does not take mail from this sender; nothing was sent.",
    "smtp.not_allowed": "The mail server's rules do not allow this account to send that; nothing was sent.",
    "smtp.login_refused": "The mail server refused the user or the password; nothing was sent.",
    "smtp.no_login": "The mail server offers no way to log in that we know; nothing was sent.",
    "smtp.no_tls": "The mail server offers no encryption, and the account insists on it; nothing was sent.",
    "smtp.refused": "The mail server refused for good, in words that are not in the list; nothing was sent.",
    "smtp.deferred": "The mail server takes nothing for now; nothing was sent.",
    "smtp.greylisted": "The mail server wants to be asked again in some minutes; nothing was sent.",
    "smtp.too_many": "The mail server takes no more messages of this account for now; nothing was sent.",
    "smtp.garbled": "What answered is no mail server, or speaks like none; nothing was sent.",
    "smtp.malformed_response": "The answer to the whole message was neither yes nor no; it may have been accepted.",
    "smtp.not_mail": "The message was prepared for another kind of account, and cannot be sent by this one.",
}

# What the receiver of a webhook said, or why it was not called; `http_status` then holds its status.
WEBHOOK_CODES: Final[dict[str, str]] = {
    "webhook.gone": "The endpoint is gone and wants nothing more (410): its address is blocked on this channel.",
    "webhook.not_found": "There is no endpoint at the address that takes a POST; nothing was accepted.",
    "webhook.redirected": "The endpoint sends elsewhere, which is never followed; nothing was accepted.",
    "webhook.forbidden_address": "The address belongs to a network that may not be called; nothing was sent.",
    "webhook.signature_refused": "The endpoint does not accept our signature; nothing was accepted.",
    "webhook.content_refused": "The endpoint refused the event for what it holds; nothing was accepted.",
    "webhook.too_large": "The event is larger than the endpoint takes; nothing was accepted.",
    "webhook.refused": "The endpoint refused the event for good; nothing was accepted.",
    "webhook.too_many": "The endpoint takes no more for now; nothing was accepted.",
    "webhook.busy": "The endpoint is slow, and as many calls wait for it as may; nothing was sent.",
    "webhook.unavailable": "The endpoint was out of service; it may have accepted the event before.",
    "webhook.failed": "The endpoint failed; it may have accepted the event before.",
    "webhook.malformed_response": "The endpoint's status is none of HTTP's; it may have accepted the event.",
    "webhook.not_webhook": "The message was prepared for another kind of account, and cannot be sent by this one.",
}

# What a push service said, or why it was not called; `http_status` then holds its status.
WEBPUSH_CODES: Final[dict[str, str]] = {
    "webpush.gone": "The browser's subscription is over (404, 410): its address is blocked on this channel.",
    "webpush.key_refused": "The push service does not take the account's key for this browser; nothing was accepted.",
    "webpush.request_refused": "The push service refused the request or its signature; nothing was accepted.",
    "webpush.too_large": "The message is larger than the push service takes; nothing was accepted.",
    "webpush.refused": "The push service refused the message for good; nothing was accepted.",
    "webpush.redirected": "The push service sends elsewhere, which is never followed; nothing was accepted.",
    "webpush.forbidden_address": "The subscription belongs to a network that may not be called; nothing was sent.",
    "webpush.too_many": "The push service takes no more for now; nothing was accepted.",
    "webpush.busy": "The push service is slow, and as many calls wait for it as may; nothing was sent.",
    "webpush.unavailable": "The push service was out of service; it may have accepted the message before.",
    "webpush.failed": "The push service failed; it may have accepted the message before.",
    "webpush.malformed_response": "The push service's status is none of its protocol; it may have accepted it.",
    "webpush.not_push": "The message was prepared for another kind of account, and cannot be sent by this one.",
}

# Of the mail services that django-anymail knows; their answers have codes of their own, by the names below.
SERVICE_CODES: Final[dict[str, str]] = {
    "anymail.other_kind": "The frozen message was written for another service, and cannot be sent by this account.",
}
# What the answer of a mail service means, by the last word of its code `<service>.<status>.<name>`.
SERVICE_NAMES: Final[dict[str, str]] = {
    "bad_key": "The mail service does not take the account's key; nothing was accepted.",
    "not_allowed": "The mail service does not allow this account to do that; nothing was accepted.",
    "account_stopped": "The mail service has stopped this account, or not opened it yet; nothing was accepted.",
    "sender_refused": "The mail service does not take mail from this sender; nothing was accepted.",
    "no_such_endpoint": "The base URL is not the one of the mail service's API; nothing was accepted.",
    "redirected": "The mail service's address sends elsewhere, which is never followed; nothing was accepted.",
    "request_refused": "The mail service refused the request, in words that are not in the list; nothing was accepted.",
    "recipient_invalid": "The mail service does not take the address as one; nothing was accepted.",
    "recipient_suppressed": "The address stands on the mail service's own list of those it sends nothing to.",
    "content_refused": "The mail service refused the message for what it holds; nothing was accepted.",
    "too_large": "The message is larger than the mail service takes; nothing was accepted.",
    "too_many": "The mail service takes no more messages of this account for now; nothing was accepted.",
    "credits_used_up": "The account's quota or credit at the mail service is used up; nothing was accepted.",
    "key_used_before": "The mail service had a request with this key already: an earlier attempt was taken.",
    "unclear": "The mail service speaks of a conflict that is not in the list; it may have accepted the message.",
    "failed": "The mail service failed; it may have accepted the message before.",
    "malformed_response": "The mail service's answer is neither yes nor no; it may have accepted the message.",
}

# How a question to the provider ended, where the answer alone does not say it.
LOOKUP_CODES: Final[dict[str, str]] = {
    "lookup.no_key": "No worker here has a key that may read from the provider, so it could not be asked.",
    "lookup.not_offered": "This kind of provider cannot be asked about a message; its own log may tell.",
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
    "lookup.clock_apart": "The provider's times and the database's are more than five minutes apart, so absence proves "
    "nothing: set the clock that is wrong, then ask again.",
    "lookup.no_witness": "No message is known that this account has taken, so absence proves nothing: ask again once "
    "it has accepted any message.",
    "lookup.other_mode": "The message was prepared in another site mode, and only its provider can tell: close the "
    "case with what you know, or set NOTIFYOPS_SITE_MODE back to that mode and ask there.",
    "lookup.no_list": "This provider cannot list what it holds, so what is unknown here stays unknown.",
    "lookup.erased": "The content was erased, so nobody knows what to look for.",
}

# Those with which a case can come to a person.
CASE_CODES: Final[dict[str, str]] = {
    **REVIEW_CODES,
    **TRANSPORT_CODES,
    **SMTP_CODES,
    **WEBHOOK_CODES,
    **TWILIO_CODES,
    **TELEGRAM_CODES,
    **WEBPUSH_CODES,
    **SERVICE_CODES,
}
OWN_CODES: Final[dict[str, str]] = {**CASE_CODES, **LOOKUP_CODES}
