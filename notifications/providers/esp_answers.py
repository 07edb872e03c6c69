"""What the answers of anymail's services mean: the status, and the reason where one is named → class and name, as data.

A name is one of NAMES and nothing else of an answer is kept: it echoes addresses, domains and subjects. Reasons are
looked at only where they stand by the service's documentation; what no row knows is judged by its status. Each name's
sentence stands in policy/codes.py, and whose fault it is in policy/causes.py.

Source: postmarkapp.com/developer/api/overview#error-codes (read 2026-12); for Brevo's duplicates
developers.brevo.com/docs/heterogenous-versions-batch-emails (read 2026-12); the answers that the backends of
django-anymail 15.2 describe. The other rows are from common knowledge of these services and unverified: one that is
wrong gives another name to a refusal, and never makes an acceptance of one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from notifications.states import ResultClass

_FIX: Final = ResultClass.FIX_CONFIG
MALFORMED: Final = "malformed_response"
NAMES: Final[dict[str, ResultClass]] = {
    "bad_key": _FIX,
    "not_allowed": _FIX,
    "account_stopped": _FIX,
    "sender_refused": _FIX,
    "no_such_endpoint": _FIX,
    "redirected": _FIX,
    "request_refused": _FIX,
    "recipient_invalid": ResultClass.RECIPIENT,
    "recipient_suppressed": ResultClass.RECIPIENT,
    "content_refused": ResultClass.CONTENT,
    "too_large": ResultClass.CONTENT,
    "too_many": ResultClass.RATE_LIMITED,
    "credits_used_up": ResultClass.QUOTA,
    "key_used_before": ResultClass.CONFLICT,
    "unclear": ResultClass.UNKNOWN_STOP,
    "failed": ResultClass.UNKNOWN,
    MALFORMED: ResultClass.UNKNOWN,
}


class Row(NamedTuple):
    """One documented refusal: of these statuses, a reason that begins so (a pattern) has that name."""

    statuses: range
    reason: str
    name: str


_4XX: Final = range(400, 500)
_OK: Final = range(200, 300)  # a refusal inside an answer of success, certain by the service's own word
# First match wins.
ROWS: Final[dict[str, tuple[Row, ...]]] = {
    "postmark": (
        Row(_4XX, r"406\Z", "recipient_suppressed"),
        Row(_4XX, r"(400|401)\Z|(Invalid|Error parsing) 'From'", "sender_refused"),
        Row(_4XX, r"10\Z", "bad_key"),
        Row(_4XX, r"405\Z", "credits_used_up"),
        Row(_4XX, r"(412|413)\Z", "account_stopped"),
        Row(_4XX, r"411\Z", "content_refused"),
    ),
    "mailgun": (
        Row(_4XX, r"'?to'? parameter is not a valid", "recipient_invalid"),
        Row(_4XX, r"'?from'? parameter is not a valid", "sender_refused"),
        Row(
            _4XX,
            r"(Domain \S+ is not allowed to send|.*[Ss]andbox subdomains|Free accounts are for)",
            "account_stopped",
        ),
        Row(_OK, r"Mailgun Magnificent API", "no_such_endpoint"),
    ),
    "sendgrid": (
        Row(_4XX, r"personalizations\.\d+\.to", "recipient_invalid"),
        Row(_4XX, r"from(\.|\Z)|The from address does not match", "sender_refused"),
        Row(_4XX, r"Maximum credits exceeded", "credits_used_up"),
        Row(_4XX, r"content|subject", "content_refused"),
    ),
    "brevo": (
        Row(_4XX, r"duplicate_parameter\Z", "key_used_before"),
        Row(_4XX, r"not_enough_credits\Z", "credits_used_up"),
        Row(_4XX, r"email is not valid in to", "recipient_invalid"),
        Row(_4XX, r"(valid sender email|sender|Sending has been rejected because the sender)", "sender_refused"),
        Row(_4XX, r"(account_under_validation|permission_denied)\Z", "account_stopped"),
    ),
    "mailjet": (
        Row(_4XX, r"To\[\d+\]", "recipient_invalid"),
        Row(_4XX, r"(From|send-0008\Z)", "sender_refused"),
    ),
    "sparkpost": (
        Row(_4XX, r"7001\Z", "sender_refused"),
        Row(_4XX, r"1902\Z", "content_refused"),
        Row(_4XX, r"5002\Z", "recipient_invalid"),
        Row(range(420, 421), r"", "too_many"),
    ),
    "mailersend": (
        Row(_4XX, r"to\.\d+\.", "recipient_invalid"),
        Row(_4XX, r"from\.", "sender_refused"),
    ),
    "mailtrap": (Row(_4XX, r"'?to'? .*invalid", "recipient_invalid"), Row(_4XX, r"'?from'? ", "sender_refused")),
    "scaleway": (
        Row(_4XX, r"quotas_exceeded\Z", "credits_used_up"),
        Row(_4XX, r"to\b", "recipient_invalid"),
        Row(_4XX, r"from\b", "sender_refused"),
    ),
    "unisender": (),
    "postal": (
        Row(_OK, r"(NoRecipients|NoValidRecipients)\Z", "recipient_invalid"),
        Row(_OK, r"(FromAddressMissing|UnauthenticatedFromAddress)\Z", "sender_refused"),
        Row(_OK, r"(AccessDenied|InvalidServerAPIKey)\Z", "bad_key"),
        Row(_OK, r"ServerSuspended\Z", "account_stopped"),
        Row(_OK, r"(NoContent|TooManyToAddresses|ValidationError)\Z", "request_refused"),
    ),
}
_BY_STATUS: Final[tuple[tuple[range, str], ...]] = (
    (range(401, 402), "bad_key"),
    (range(402, 403), "credits_used_up"),
    (range(403, 404), "not_allowed"),
    (range(404, 406), "no_such_endpoint"),
    (range(408, 409), "failed"),
    (range(409, 410), "unclear"),
    (range(413, 414), "too_large"),
    (range(425, 426), "failed"),
    (range(429, 430), "too_many"),
    (range(300, 400), "redirected"),
    (range(400, 500), "request_refused"),
    (range(500, 600), "failed"),
)
# What anymail found beside the one recipient. Its `failed` is not among them: two of its parsers say so of any success
# in which they find nothing, which proves nothing.
BY_WORD: Final = {"invalid": "recipient_invalid", "rejected": "recipient_suppressed"}
# The field of the request that a name speaks of, for the suggestion.
FIELDS: Final = {"recipient_invalid": "to", "recipient_suppressed": "to", "sender_refused": "from"}
_LONGEST: Final = 300
_MOST: Final = 20


def name_of(esp: str, paths: tuple[tuple[str, ...], ...], status: int, body: bytes | None) -> str:
    """Give the name of an answer that accepted nothing, as far as it can be told; never raises."""
    reasons = list(_reasons(paths, body))
    for row in ROWS.get(esp, ()):
        if status in row.statuses and any(re.match(row.reason, reason) for reason in reasons or [""]):
            return row.name
    return next((name for statuses, name in _BY_STATUS if status in statuses), MALFORMED)


def _reasons(paths: tuple[tuple[str, ...], ...], body: bytes | None) -> Iterator[str]:
    try:
        fields = json.loads(body or b"")
    except (ValueError, RecursionError):
        yield (body or b"")[:_LONGEST].decode("utf-8", "replace")
        return
    for path in paths:
        found = [fields]
        for step in path:
            found = [part for one in found for part in _stepped(one, step)][:_MOST]
        yield from (str(one)[:_LONGEST] for one in found if isinstance(one, str | int))


def _stepped(value: object, step: str) -> list[object]:
    if step == "*":
        return list(value) if isinstance(value, list) else []
    if not isinstance(value, Mapping):
        return []
    return list(value) if step == "@" else [value[step]] if step in value else []
