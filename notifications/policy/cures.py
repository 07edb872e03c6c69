"""What a person does about each error code of our own: one sentence, for the page of help and the repeated causes."""

from __future__ import annotations

from typing import Final

from notifications.policy import codes
from notifications.policy.causes import Cause, cause_of
from notifications.policy.text_codes import TELEGRAM_CODES, TWILIO_CODES

_ASK: Final = "Ask the provider: adopt its answer where it has the message, retry on its word where it has not."
_ADDRESS: Final = "Correct the address, or close it."
_NO_MORE: Final = "Close it: nothing more may be sent to this address by this channel."
_ACCOUNT: Final = "Mend the provider account (its key, sender or rights), then retry the whole group."
_CONTENT: Final = (
    "Where the template is wrong, mend it, then retry: it is prepared anew from the data as it was given; where the "
    "data is wrong, close it and enqueue it anew with the right data."
)
_TYPE: Final = "Mend the type in the application's code, then retry: it is prepared anew from the same data."
_DATA: Final = "Close it, and enqueue it anew under another report ID: a retry has the same key."
_WORKERS: Final = (
    "Install the type's package beside this site's workers, name it in NOTIFYOPS_APPS there, restart them; then retry "
    "the whole group."
)
_SITE: Final = "Retry: it is prepared anew for what this site is now; or set the site back first."
_CAUSE: Final = "Find out what the mail server refuses, mend that, then retry under a new key."
_RETRY: Final = "Retry once the network and the provider are well again: nothing was sent."
_DECIDE: Final = "Find out whether it is still wanted; close it, or enqueue a new notification."
_LOG: Final = (
    "Look for the message's ID in the mail server's log: adopt nothing by guess, retry only what is not there."
)
_ENDPOINT: Final = "Ask the endpoint's owner for the address that takes events now, and correct it; or close it."
_FENCE: Final = (
    "Correct the address; where its network is meant to be called, an administrator names it in "
    "NOTIFYOPS_WEBHOOK_NETWORKS."
)
_SIGNATURE: Final = (
    "Mend the secrets of the provider account, or give the endpoint's owner its secret anew (notify webhook-secret); "
    "then retry the whole group."
)
_RECEIVER: Final = "Find out what the endpoint refuses, mend that there, then retry under a new key."
_TAKEN: Final = (
    "Ask the endpoint's owner whether the event with the webhook-id of the attempt came in: retry only what did not."
)
_GONE: Final = "Ask its owner for the address that takes messages now, and correct it; or close it."
_STOPPED: Final = "Close it: nothing more may be sent to this address until its owner opts in again."
_REDIRECT: Final = "Name on this site who gets it (NOTIFYOPS_REDIRECT_PHONE, NOTIFYOPS_REDIRECT_CHAT), then retry."
_OPENED: Final = "Ask the address's owner to let the bot in, then retry under a new key; or correct the address."
_CONSOLE: Final = (
    "Look in the provider's own console whether the message is there: retry only on its word that it is not."
)
_NOWHERE: Final = "The provider cannot be asked: find out from the recipient, or close it; a resend needs two leads."
_REFUSAL: Final = "Find out at the provider what it refuses, mend that, then retry under a new key."
_BROWSER: Final = (
    "Close it: the browser subscribes anew when its user comes back; or correct the address to its new subscription."
)
_PUSH_KEY: Final = (
    "Compare the account's key with what pages are given (notify vapid-key), and mend it; a browser that subscribed "
    "with an older key must subscribe anew, and its new subscription is the address to correct to."
)
_PUSH_DOUBT: Final = (
    "Nobody can be asked: retry where a second notification harms less than none (it takes the first one's place on "
    "the screen), else close it."
)
_FILE: Final = (
    "Put the file that was announced at its address, then retry; or close it and enqueue it anew with the right "
    "address, size and SHA-256."
)
_FILES_FENCE: Final = (
    "Close it, and enqueue it anew with an address that may be asked; where its network is meant to be, an "
    "administrator names it in NOTIFYOPS_ATTACHMENT_NETWORKS, and a retry is enough."
)
_NO_FILES: Final = "Make an account that carries attachments the channel's, then retry; or enqueue it anew with a link."
_SECOND: Final = "Close it as a duplicate, and find out why there were two."

_TEXT_CAUSES: Final = tuple((code, cause_of(code)) for code in (*TWILIO_CODES, *TELEGRAM_CODES))
# For a provider's codes, by their cause.
BY_CAUSE: Final[dict[Cause, str]] = {
    Cause.ACCOUNT: _ACCOUNT,
    Cause.SITE: _SITE,
    Cause.CONTENT: _CONTENT,
    Cause.DATA: _DATA,
    Cause.REQUEST: (
        "See which field the provider refuses: correct the address, or mend the account or the template, then retry; "
        "where the data is wrong, close it and enqueue it anew."
    ),
    Cause.ADDRESS: _ADDRESS,
    Cause.DOUBT: _ASK,
    Cause.TRANSPORT: _RETRY,
}
# What a person does about it, for the codes with which a case comes to a person.
CURES: Final[dict[str, str]] = {
    codes.WORKER_LOST: _ASK,
    codes.WINDOW_OVER: _ASK,
    codes.EXPIRED: _DECIDE,
    codes.NO_LONGER_WANTED: _DECIDE,
    codes.INVALID_DATA: _CONTENT,
    codes.UNKNOWN_TYPE: _WORKERS,
    codes.BYTES_ERASED: _ASK,
    codes.INVALID_RECIPIENT: _ADDRESS,
    codes.INVALID_SENDER: _ACCOUNT,
    codes.INVALID_REPLY_TO: _ACCOUNT,
    codes.INVALID_SUBJECT: _CONTENT,
    codes.INVALID_HEADER: _TYPE,
    codes.INVALID_TAG: _TYPE,
    codes.SITE_MODE_CHANGED: _SITE,
    codes.INVALID_KEY: _DATA,
    codes.EMPTY_BODY: _CONTENT,
    codes.TOO_LARGE: _CONTENT,
    codes.NO_SHORT_TEXT: _TYPE,
    codes.TOO_MANY_PARTS: _CONTENT,
    codes.NO_REDIRECT: _REDIRECT,
    codes.ATTACHMENTS_NOT_TAKEN: _NO_FILES,
    codes.ATTACHMENT_UNREACHABLE: _FILE,
    codes.ATTACHMENT_REFUSED: _FILE,
    codes.ATTACHMENT_MISMATCH: _FILE,
    codes.ATTACHMENT_FORBIDDEN: _FILES_FENCE,
    codes.UNSUBSCRIBED: _NO_MORE,
    codes.OPTED_OUT: _NO_MORE,
    codes.ADDRESS_BOUNCED: _ADDRESS,
    codes.ADDRESS_COMPLAINED: _NO_MORE,
    codes.ADDRESS_GONE: _GONE,
    codes.AWAITING_APPROVAL: "Check what is to go out where it was made, or on the server; then approve or decline it.",
    codes.NOT_CONFIRMED: _ASK,
    codes.BOUNCED: _ADDRESS,
    codes.SOFT_BOUNCED: "Retry it later under a new key, or correct the address.",
    codes.COMPLAINED: _NO_MORE,
    codes.SUPPRESSED: _ADDRESS,
    codes.FAILED: "Look in the provider's own console why it failed, mend that, then retry under a new key.",
    codes.SECOND_MESSAGE: _SECOND,
    codes.FORGOTTEN_MESSAGE: _SECOND,
    codes.ID_OF_ANOTHER: _SECOND,
    codes.ARRIVED_BEFORE: _SECOND,
    codes.ORDER_OVERDUE: "Decide anew whether a second message may go out: two leads must order it again.",
    codes.RESTORED: _ASK,
    **dict.fromkeys((code for code in codes.TRANSPORT_CODES if code.startswith("not_sent.")), _RETRY),
    **dict.fromkeys((code for code in codes.TRANSPORT_CODES if code.startswith("unknown.")), _ASK),
    **dict.fromkeys(("smtp.no_such_mailbox", "smtp.no_such_domain", "smtp.bad_address"), _ADDRESS),
    **dict.fromkeys(("smtp.mailbox_moved", "smtp.mailbox_disabled"), _ADDRESS),
    "smtp.mailbox_full": "Retry it later under a new key, or correct the address.",
    **dict.fromkeys(("smtp.too_large", "smtp.content_refused"), _CONTENT),
    **dict.fromkeys(("smtp.sender_refused", "smtp.not_allowed", "smtp.login_refused", "smtp.no_login"), _ACCOUNT),
    **dict.fromkeys(("smtp.no_tls", "smtp.garbled"), _ACCOUNT),
    "smtp.refused": _CAUSE,
    "smtp.not_mail": _SITE,
    **dict.fromkeys(("smtp.deferred", "smtp.greylisted", "smtp.too_many"), _RETRY),
    "smtp.malformed_response": _LOG,
    **dict.fromkeys(("webhook.gone", "webhook.not_found", "webhook.redirected"), _ENDPOINT),
    "webhook.forbidden_address": _FENCE,
    "webhook.signature_refused": _SIGNATURE,
    **dict.fromkeys(("webhook.content_refused", "webhook.too_large"), _CONTENT),
    "webhook.refused": _RECEIVER,
    **dict.fromkeys(("webhook.too_many", "webhook.busy"), _RETRY),
    **dict.fromkeys(("webhook.unavailable", "webhook.failed", "webhook.malformed_response"), _TAKEN),
    "webhook.not_webhook": _SITE,
    **dict.fromkeys(("twilio.bad_number", "twilio.not_mobile"), _ADDRESS),
    "twilio.opted_out": _STOPPED,
    "twilio.no_route": _REFUSAL,
    **dict.fromkeys((code for code, cause in _TEXT_CAUSES if cause is Cause.ACCOUNT), _ACCOUNT),
    **dict.fromkeys((code for code, cause in _TEXT_CAUSES if cause is Cause.CONTENT), _CONTENT),
    **dict.fromkeys((code for code, cause in _TEXT_CAUSES if cause is Cause.TRANSPORT), _RETRY),
    **dict.fromkeys((code for code, cause in _TEXT_CAUSES if cause is Cause.SITE), _SITE),
    **dict.fromkeys(("twilio.failed", "twilio.unavailable", "twilio.malformed_response"), _CONSOLE),
    **dict.fromkeys(("telegram.blocked", "telegram.not_started", "telegram.no_rights"), _OPENED),
    **dict.fromkeys(("telegram.kicked", "telegram.forbidden"), _OPENED),
    **dict.fromkeys(("telegram.deactivated", "telegram.chat_not_found", "telegram.migrated"), _GONE),
    "telegram.refused": _REFUSAL,
    **dict.fromkeys(("telegram.failed", "telegram.malformed_response"), _NOWHERE),
    **dict.fromkeys(("webpush.gone", "webpush.redirected"), _BROWSER),
    "webpush.forbidden_address": _FENCE,
    **dict.fromkeys(("webpush.key_refused", "webpush.request_refused"), _PUSH_KEY),
    "webpush.too_large": _CONTENT,
    "webpush.refused": _RECEIVER,
    **dict.fromkeys(("webpush.too_many", "webpush.busy"), _RETRY),
    **dict.fromkeys(("webpush.unavailable", "webpush.failed", "webpush.malformed_response"), _PUSH_DOUBT),
    "webpush.not_push": _SITE,
    "anymail.other_kind": _SITE,
}
