"""What Resend's answers mean: (status, name) → class, as data.

Only the status and the `name` decide; the name is kept where it is in this vocabulary and nothing else of the body
is, since messages echo addresses and domains. The same name comes with several statuses, names are renamed and added,
so a pair that is not listed is judged by its status.

Source: resend.com/docs/api-reference/errors and /docs/dashboard/emails/idempotency-keys (read 2026-09); older names
from the error unions of resend-node 6.38 and resend-rust.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from notifications.states import ResultClass

_FIX: Final = ResultClass.FIX_CONFIG


class Row(NamedTuple):
    """One documented answer."""

    status: int
    name: str
    result_class: ResultClass
    meaning: str


ROWS: Final = (
    Row(400, "invalid_idempotency_key", _FIX, "The idempotency key is empty or longer than 256 characters."),
    Row(400, "validation_error", _FIX, "A field of the request is wrong, or the API key is malformed."),
    Row(401, "missing_api_key", _FIX, "The request carried no API key."),
    Row(401, "restricted_api_key", _FIX, "The API key may only send, and this call is something else."),
    Row(401, "validation_error", _FIX, "The API key is not valid."),
    Row(403, "email_above_quota", _FIX, "The account is above the quota of its plan."),
    Row(403, "invalid_access", _FIX, "The API key may not do this."),
    Row(403, "invalid_api_key", _FIX, "The API key is not valid."),
    Row(403, "invalid_from_address", _FIX, "The sender's address is not allowed."),
    Row(403, "invalid_permission", _FIX, "The API key lacks the permission to send."),
    Row(403, "invalid_scope", _FIX, "The API key's scope does not cover this call."),
    Row(403, "restricted_api_key", _FIX, "The API key is not active."),
    Row(403, "suspended_api_key", _FIX, "The API key is suspended."),
    Row(403, "validation_error", _FIX, "The sender's domain is not verified, or this account may not use it."),
    # Source: github.com/resend/resend-skills, references/logs.md: plain text, for a request without a User-Agent.
    Row(403, "edge_refusal", _FIX, "The provider's edge refused the request before the API saw it."),
    Row(404, "not_found", _FIX, "The base URL is not the API's, or the endpoint is gone."),
    Row(405, "method_not_allowed", _FIX, "The base URL is not the API's: it takes no POST there."),
    Row(409, "concurrent_idempotent_requests", ResultClass.IN_FLIGHT, "Our earlier request with this key still runs."),
    Row(
        409,
        "invalid_idempotent_request",
        ResultClass.CONFLICT,
        "A request with this key and other content was accepted.",
    ),
    Row(
        409, "resource_locked", ResultClass.RETRYABLE, "The provider was busy with the same resource; nothing was sent."
    ),
    Row(422, "invalid_access", _FIX, "The API key may not do this."),
    Row(422, "invalid_attachment", _FIX, "An attachment is wrong."),
    Row(422, "invalid_from_address", _FIX, "The sender's address is malformed."),
    Row(422, "invalid_parameter", _FIX, "A field of the request is wrong."),
    Row(422, "invalid_region", _FIX, "The account's region is wrong."),
    Row(422, "invalid_to_address", ResultClass.RECIPIENT, "The recipient's address is malformed."),
    Row(422, "missing_required_field", _FIX, "A required field is missing."),
    Row(422, "missing_required_parameter", _FIX, "A required field is missing."),
    Row(422, "validation_error", _FIX, "A field is wrong; where it is the recipient's, the address is malformed."),
    Row(429, "daily_quota_exceeded", ResultClass.QUOTA, "The day's quota is used up until 00:00 UTC."),
    Row(429, "monthly_quota_exceeded", ResultClass.QUOTA, "The month's quota is used up."),
    Row(429, "rate_limit_exceeded", ResultClass.RATE_LIMITED, "Too many requests a second for the whole team."),
    Row(451, "security_error", _FIX, "The provider refused the message for a security reason."),
    Row(500, "application_error", ResultClass.UNKNOWN, "The provider failed; it may have accepted the message before."),
    Row(
        500,
        "internal_server_error",
        ResultClass.UNKNOWN,
        "The provider failed; it may have accepted the message before.",
    ),
    Row(
        500,
        "service_unavailable",
        ResultClass.UNKNOWN,
        "The provider was out of service; it may have accepted the message.",
    ),
    Row(
        503,
        "service_unavailable",
        ResultClass.UNKNOWN,
        "The provider was out of service; it may have accepted the message.",
    ),
)

_BY_PAIR: Final = {(row.status, row.name): row.result_class for row in ROWS}
NAMES: Final = frozenset(row.name for row in ROWS)

# The fields of our requests. What an answer of a wrong field names outside of these is not looked at any further.
FIELDS: Final = ("to", "from", "reply_to", "subject", "html", "text", "headers", "tags", "attachments")
_QUOTED: Final = re.compile(r"`(" + "|".join(FIELDS) + r")`")
# The errors of a field. The first two can be the recipient's, which alone sends a case to "correct the address".
_FIELD_ERRORS: Final = frozenset({"validation_error", "invalid_parameter"})
_MISSING: Final = frozenset({"missing_required_field", "missing_required_parameter"})
_BY_NAME: Final = {"invalid_to_address": "to", "invalid_from_address": "from", "invalid_attachment": "attachments"}

MALFORMED: Final = "resend.malformed_response"
LOCAL_MEANINGS: Final = {
    MALFORMED: "The provider answered with success, but without a message id: nobody knows whether it was accepted.",
    "resend.invalid_key": "The notification's key is not one that the provider takes as an idempotency key.",
}


def class_of(status: int, name: str | None, message: str) -> ResultClass:
    """Give the class of an answer that is not a success. `message` is looked at and not kept."""
    if status == 422 and name in _FIELD_ERRORS and "`to`" in message:
        return ResultClass.RECIPIENT
    known = _BY_PAIR.get((status, name)) if name is not None else None
    return known if known is not None else _class_of_status(status)


def field_of(status: int, name: str | None, message: str) -> str | None:
    """Give the field that is wrong, of FIELDS: the recipient's before the first one named. Nothing else is kept."""
    if status not in (400, 422) or name is None:
        return None
    named = _QUOTED.findall(message) if name in _FIELD_ERRORS | _MISSING else []
    return "to" if "to" in named else next(iter(named), _BY_NAME.get(name))


def code_of(status: int, name: str | None) -> str:
    """Give the code; a name outside the vocabulary is not repeated."""
    return f"resend.{status}.{name if name in NAMES else 'unclassified'}"


def meaning_of(code: str) -> str | None:
    """Give the sentence for one of this adapter's codes; None for a code that is not its own."""
    if code in LOCAL_MEANINGS:
        return LOCAL_MEANINGS[code]
    provider, _, rest = code.partition(".")
    status, _, name = rest.partition(".")
    if provider != "resend" or not name:
        return None
    for row in ROWS:
        if (str(row.status), row.name) == (status, name):
            return row.meaning
    return f"The provider answered with status {status}, and an error that is not in the list; judged by the status."


def _class_of_status(status: int) -> ResultClass:
    """Judge by the status alone. A 5xx can follow an acceptance; a redirect is never followed, so it is a setting."""
    if status == 429:
        return ResultClass.RATE_LIMITED
    if status in (408, 425):
        return ResultClass.UNKNOWN
    if status == 409:
        return ResultClass.UNKNOWN_STOP
    return ResultClass.FIX_CONFIG if 300 <= status < 500 else ResultClass.UNKNOWN
