"""What the answers of a push service mean: status → class and code, as data.

A body is never read. A 5xx may follow its having been taken, so it is unknown; the Topic makes a repeat replace what
still waits.

Source: RFC 8030 sections 5 (201, 202, Location), 7.2 (413) and 7.3 (404, 410), RFC 8292 section 4.2 (403), RFC 8291
section 4; the documentation of WNS, "Response codes" (200); RFC 9110 (Retry-After).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from notifications.providers.base import SendResult
from notifications.providers.http import Answer
from notifications.providers.outcomes import OUTCOMES
from notifications.providers.retry_after import printable, wanted_wait
from notifications.providers.webhook_answers import BUSY_WAIT_S
from notifications.states import Outcome, Phase, ResultClass

ACCEPTED: Final = "webpush.accepted"
NOT_PUSH: Final = "webpush.not_push"
FORBIDDEN: Final = "webpush.forbidden_address"
BUSY: Final = "webpush.busy"
GONE: Final = "webpush.gone"
MALFORMED: Final = "webpush.malformed_response"
_TAKEN: Final = frozenset({200, 201, 202})
_GONE: Final = frozenset({404, 410})
_BY_STATUS: Final[dict[int, tuple[ResultClass, str]]] = {
    400: (ResultClass.FIX_CONFIG, "webpush.request_refused"),
    401: (ResultClass.FIX_CONFIG, "webpush.key_refused"),
    403: (ResultClass.FIX_CONFIG, "webpush.key_refused"),
    404: (ResultClass.RECIPIENT, GONE),
    408: (ResultClass.UNKNOWN, "webpush.failed"),
    410: (ResultClass.RECIPIENT, GONE),
    413: (ResultClass.CONTENT, "webpush.too_large"),
    425: (ResultClass.UNKNOWN, "webpush.failed"),
    429: (ResultClass.RATE_LIMITED, "webpush.too_many"),
    503: (ResultClass.UNKNOWN, "webpush.unavailable"),
}
_BY_RANGE: Final[tuple[tuple[range, tuple[ResultClass, str]], ...]] = (
    (range(300, 400), (ResultClass.RECIPIENT, "webpush.redirected")),
    (range(400, 500), (ResultClass.FIX_CONFIG, "webpush.refused")),
    (range(500, 600), (ResultClass.UNKNOWN, "webpush.failed")),
)
CODES: Final = frozenset(
    {ACCEPTED, NOT_PUSH, FORBIDDEN, BUSY, MALFORMED}
    | {code for _, code in _BY_STATUS.values()}
    | {code for _, (_, code) in _BY_RANGE}
)
BUSY_RESULT: Final = SendResult(
    Outcome.NOT_SENT, ResultClass.RATE_LIMITED, BUSY, Phase.NOT_CONNECTED, retry_after_s=BUSY_WAIT_S
)
# The last part of a message's address. The whole of it is a key by which the message can be taken back.
_NAME: Final = re.compile(r"(?:https://[!-~]*|/[!-~]*)/([A-Za-z0-9._~:%=-]{1,200})", re.ASCII)


def class_of(status: int) -> tuple[ResultClass, str]:
    """Give the class and the code of a status that accepts nothing."""
    unknown = (ResultClass.UNKNOWN, MALFORMED)
    return _BY_STATUS.get(status) or next((found for statuses, found in _BY_RANGE if status in statuses), unknown)


def judged(answer: Answer, own_id: str, wall_clock: Callable[[], float]) -> SendResult:
    """Give what a whole answer proves.

    The id of what was accepted is our own, and behind it the service's name of it, where it gave one. Alone that could
    not count as an id: recipients choose their services, and one could give the same name to any two messages.
    """
    status = answer.status
    if status in _TAKEN:
        named = _NAME.fullmatch(answer.headers.get("Location", ""))
        message_id = f"{own_id}/{named[1]}" if named else own_id
        phase = Phase.ANSWER_READ
        return SendResult(Outcome.ACCEPTED, ResultClass.ACCEPTED, ACCEPTED, phase, message_id, http_status=status)
    result_class, code = class_of(status)
    asked = answer.headers.getall("Retry-After", ())
    return SendResult(
        OUTCOMES[result_class],
        result_class,
        code,
        Phase.ANSWER_READ,
        http_status=status,
        retry_after_s=wanted_wait(asked, answer.headers.get("Date"), wall_clock) if asked else None,
        retry_after_raw=printable(asked),
        trace_id=own_id,
        address_gone=status in _GONE,
    )
