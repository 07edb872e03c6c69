"""What each error code is caused by, and so what is suggested: the one source of suggestions, cures, kinds and links.

A provider's codes, `<provider>.<status>.<name>`, are judged by the field that it named, else by name, else by status.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from notifications.policy import codes
from notifications.states import NextAction


class Cause(StrEnum):
    """Whose fault it is, as far as the code can tell."""

    ACCOUNT = "account"  # the provider account: its key, sender, address or rights
    SITE = "site"  # the site's mode or the account's kind was changed since the message was prepared
    CONTENT = "content"  # the type's template, or the data that the application gave
    DATA = "data"  # what the application gave and no retry can change
    REQUEST = "request"  # a field of the request, and nobody said which; or the provider's own reasons
    ADDRESS = "address"
    WISH = "wish"  # the recipient's, the business's or an approver's
    DOUBT = "doubt"  # a message may be out
    TRANSPORT = "transport"  # nothing left us, or the provider takes nothing for now
    SECOND = "second"  # there may be two messages


# What is suggested where a refusal is for good and nothing may have arrived.
ACTIONS: Final[dict[Cause, NextAction]] = {
    Cause.ACCOUNT: NextAction.FIX_CONFIG,
    Cause.SITE: NextAction.RETRY_NEW_KEY,
    Cause.CONTENT: NextAction.FIX_CONTENT,
    Cause.DATA: NextAction.ENQUEUE_ANEW,
    Cause.REQUEST: NextAction.FIND_CAUSE,
    Cause.ADDRESS: NextAction.CORRECT_ADDRESS,
}
_OWN: Final[dict[str, Cause]] = {
    **dict.fromkeys((code for code in codes.TRANSPORT_CODES if code.startswith("not_sent.")), Cause.TRANSPORT),
    **dict.fromkeys((code for code in codes.TRANSPORT_CODES if code.startswith("unknown.")), Cause.DOUBT),
    **dict.fromkeys((codes.WORKER_LOST, codes.WINDOW_OVER, codes.NOT_CONFIRMED, codes.RESTORED), Cause.DOUBT),
    codes.BYTES_ERASED: Cause.DOUBT,
    **dict.fromkeys((codes.INVALID_SENDER, codes.INVALID_REPLY_TO), Cause.ACCOUNT),
    **dict.fromkeys((codes.SITE_MODE_CHANGED, codes.UNKNOWN_TYPE, codes.NO_REDIRECT), Cause.SITE),
    **dict.fromkeys(
        (codes.INVALID_DATA, codes.INVALID_SUBJECT, codes.INVALID_HEADER, codes.INVALID_TAG), Cause.CONTENT
    ),
    **dict.fromkeys((codes.EMPTY_BODY, codes.TOO_LARGE, codes.NO_SHORT_TEXT, codes.TOO_MANY_PARTS), Cause.CONTENT),
    **dict.fromkeys((codes.ATTACHMENT_MISMATCH, codes.ATTACHMENT_REFUSED, codes.ATTACHMENT_FORBIDDEN), Cause.REQUEST),
    codes.ATTACHMENT_UNREACHABLE: Cause.TRANSPORT,
    codes.ATTACHMENTS_NOT_TAKEN: Cause.ACCOUNT,
    codes.INVALID_KEY: Cause.DATA,
    "resend.invalid_key": Cause.DATA,
    **dict.fromkeys((codes.INVALID_RECIPIENT, codes.ADDRESS_BOUNCED, codes.BOUNCED, codes.SUPPRESSED), Cause.ADDRESS),
    codes.ADDRESS_GONE: Cause.ADDRESS,
    codes.SOFT_BOUNCED: Cause.ADDRESS,
    codes.FAILED: Cause.REQUEST,
    **dict.fromkeys((codes.EXPIRED, codes.NO_LONGER_WANTED, codes.UNSUBSCRIBED, codes.OPTED_OUT), Cause.WISH),
    **dict.fromkeys((codes.ADDRESS_COMPLAINED, codes.COMPLAINED, codes.AWAITING_APPROVAL), Cause.WISH),
    **dict.fromkeys((codes.SECOND_MESSAGE, codes.FORGOTTEN_MESSAGE, codes.ID_OF_ANOTHER), Cause.SECOND),
    **dict.fromkeys((codes.ARRIVED_BEFORE, codes.ORDER_OVERDUE), Cause.SECOND),
    **dict.fromkeys(("smtp.no_such_mailbox", "smtp.no_such_domain", "smtp.bad_address"), Cause.ADDRESS),
    **dict.fromkeys(("smtp.mailbox_moved", "smtp.mailbox_disabled", "smtp.mailbox_full"), Cause.ADDRESS),
    **dict.fromkeys(("smtp.too_large", "smtp.content_refused"), Cause.CONTENT),
    **dict.fromkeys(("smtp.sender_refused", "smtp.not_allowed", "smtp.login_refused"), Cause.ACCOUNT),
    **dict.fromkeys(("smtp.no_login", "smtp.no_tls"), Cause.ACCOUNT),
    "smtp.not_mail": Cause.SITE,
    "smtp.refused": Cause.REQUEST,
    **dict.fromkeys(("smtp.deferred", "smtp.greylisted", "smtp.too_many", "smtp.garbled"), Cause.TRANSPORT),
    "smtp.malformed_response": Cause.DOUBT,
    **dict.fromkeys(("webhook.gone", "webhook.not_found", "webhook.redirected"), Cause.ADDRESS),
    "webhook.forbidden_address": Cause.ADDRESS,
    "webhook.signature_refused": Cause.ACCOUNT,
    **dict.fromkeys(("webhook.content_refused", "webhook.too_large"), Cause.CONTENT),
    "webhook.refused": Cause.REQUEST,
    **dict.fromkeys(("webhook.too_many", "webhook.busy"), Cause.TRANSPORT),
    **dict.fromkeys(("webhook.unavailable", "webhook.failed", "webhook.malformed_response"), Cause.DOUBT),
    "webhook.not_webhook": Cause.SITE,
    **dict.fromkeys(("twilio.bad_number", "twilio.not_mobile", "twilio.opted_out"), Cause.ADDRESS),
    "twilio.no_route": Cause.REQUEST,
    **dict.fromkeys(("twilio.trial_account", "twilio.region_not_allowed", "twilio.sender_refused"), Cause.ACCOUNT),
    **dict.fromkeys(("twilio.login_refused", "twilio.account_suspended", "twilio.not_allowed"), Cause.ACCOUNT),
    **dict.fromkeys(("twilio.not_found", "twilio.bad_callback"), Cause.ACCOUNT),
    **dict.fromkeys(("twilio.too_long", "twilio.content_refused"), Cause.CONTENT),
    **dict.fromkeys(("twilio.too_many", "twilio.queue_full", "twilio.daily_limit"), Cause.TRANSPORT),
    **dict.fromkeys(("twilio.failed", "twilio.unavailable", "twilio.malformed_response"), Cause.DOUBT),
    "twilio.not_sms": Cause.SITE,
    **dict.fromkeys(("telegram.blocked", "telegram.deactivated", "telegram.kicked"), Cause.ADDRESS),
    **dict.fromkeys(("telegram.chat_not_found", "telegram.migrated", "telegram.not_started"), Cause.ADDRESS),
    **dict.fromkeys(("telegram.no_rights", "telegram.forbidden"), Cause.ADDRESS),
    **dict.fromkeys(("telegram.login_refused", "telegram.redirected"), Cause.ACCOUNT),
    **dict.fromkeys(("telegram.too_long", "telegram.content_refused"), Cause.CONTENT),
    "telegram.refused": Cause.REQUEST,
    "telegram.too_many": Cause.TRANSPORT,
    **dict.fromkeys(("telegram.failed", "telegram.malformed_response"), Cause.DOUBT),
    "telegram.not_telegram": Cause.SITE,
    **dict.fromkeys(("webpush.gone", "webpush.redirected", "webpush.forbidden_address"), Cause.ADDRESS),
    **dict.fromkeys(("webpush.key_refused", "webpush.request_refused"), Cause.ACCOUNT),
    "webpush.too_large": Cause.CONTENT,
    "webpush.refused": Cause.REQUEST,
    **dict.fromkeys(("webpush.too_many", "webpush.busy"), Cause.TRANSPORT),
    **dict.fromkeys(("webpush.unavailable", "webpush.failed", "webpush.malformed_response"), Cause.DOUBT),
    "webpush.not_push": Cause.SITE,
    "anymail.other_kind": Cause.SITE,
}
# Nothing was made of it: the code comes from before any bytes, and no key was used.
UNPREPARED: Final = frozenset(
    {
        *(codes.INVALID_DATA, codes.UNKNOWN_TYPE, codes.INVALID_RECIPIENT, codes.INVALID_SENDER),
        *(codes.INVALID_REPLY_TO, codes.INVALID_SUBJECT, codes.INVALID_HEADER, codes.INVALID_TAG, codes.INVALID_KEY),
        *(codes.EMPTY_BODY, codes.TOO_LARGE, codes.NO_SHORT_TEXT, codes.TOO_MANY_PARTS, codes.NO_REDIRECT),
        *(codes.ATTACHMENTS_NOT_TAKEN, codes.ATTACHMENT_UNREACHABLE),
        *(codes.ATTACHMENT_REFUSED, codes.ATTACHMENT_MISMATCH, codes.ATTACHMENT_FORBIDDEN),
    }
)
# Fields that a provider may name; nothing else of its sentence is kept.
FIELDS: Final[dict[str, Cause]] = {
    "to": Cause.ADDRESS,
    "from": Cause.ACCOUNT,
    "reply_to": Cause.ACCOUNT,
    **dict.fromkeys(("subject", "html", "text", "headers", "tags", "attachments"), Cause.CONTENT),
}
# Names that say more than their status.
_NAMES: Final[dict[str, Cause]] = {
    "invalid_idempotency_key": Cause.DATA,
    "invalid_from_address": Cause.ACCOUNT,
    "invalid_to_address": Cause.ADDRESS,
    "invalid_attachment": Cause.CONTENT,
    "invalid_access": Cause.ACCOUNT,
    "invalid_region": Cause.ACCOUNT,
    "daily_quota_exceeded": Cause.TRANSPORT,
    "monthly_quota_exceeded": Cause.TRANSPORT,
    "resource_locked": Cause.TRANSPORT,
    # Of the mail services that django-anymail knows (codes.SERVICE_NAMES).
    **dict.fromkeys(("bad_key", "not_allowed", "account_stopped", "sender_refused"), Cause.ACCOUNT),
    **dict.fromkeys(("no_such_endpoint", "redirected"), Cause.ACCOUNT),
    "request_refused": Cause.REQUEST,
    **dict.fromkeys(("recipient_invalid", "recipient_suppressed"), Cause.ADDRESS),
    **dict.fromkeys(("content_refused", "too_large"), Cause.CONTENT),
    **dict.fromkeys(("too_many", "credits_used_up"), Cause.TRANSPORT),
    **dict.fromkeys(("key_used_before", "unclear", "failed", "malformed_response"), Cause.DOUBT),
}
_STATUSES: Final[tuple[tuple[range, Cause], ...]] = (
    (range(300, 400), Cause.ACCOUNT),  # its address sends elsewhere, which is never followed
    (range(401, 406), Cause.ACCOUNT),  # key, rights, or an address that is not the API's
    (range(408, 410), Cause.DOUBT),
    (range(413, 414), Cause.CONTENT),
    (range(425, 426), Cause.DOUBT),
    (range(429, 430), Cause.TRANSPORT),
    (range(400, 500), Cause.REQUEST),
    (range(500, 600), Cause.DOUBT),
)
_PROVIDER_CODE: Final = re.compile(r"[a-z0-9_]+\.(?P<status>\d{3})\.(?P<name>[a-z0-9_]+)")


def cause_of(code: str | None, field: str | None = None) -> Cause | None:
    """Give what is at fault; `field`: what the provider named, of FIELDS. None for a code that nobody has judged."""
    if not code:
        return None
    if code in _OWN:
        return _OWN[code]
    found = _PROVIDER_CODE.fullmatch(code)
    if found is None:
        return None
    status, by_name = int(found["status"]), _NAMES.get(found["name"])
    if field in FIELDS and status in (400, 422):
        return FIELDS[field]
    return by_name or next((cause for statuses, cause in _STATUSES if status in statuses), None)


def action_of(code: str, field: str | None = None) -> NextAction:
    """Give what is suggested after a refusal for good; what nobody has judged is to be looked into."""
    cause = cause_of(code, field)
    return ACTIONS.get(cause, NextAction.FIND_CAUSE) if cause is not None else NextAction.FIND_CAUSE
