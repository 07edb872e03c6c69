"""What the answers of a webhook's receiver mean: status → class and code, as data.

Nothing of a body is read: the specification gives it no meaning. A 2xx is the receiver's word that it has the event. A
5xx may follow its having been taken, so it is unknown; the same webhook-id makes a repeat safe.

Source: standardwebhooks.com, specification 1.0.0, "Webhook delivery" (2xx, no redirects, 410, 429, 502, 504,
Retry-After); RFC 9110.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from notifications.providers.base import SendResult
from notifications.providers.http import Answer
from notifications.providers.outcomes import OUTCOMES
from notifications.providers.retry_after import printable, wanted_wait
from notifications.states import Outcome, Phase, ResultClass

ACCEPTED: Final = "webhook.accepted"
NOT_WEBHOOK: Final = "webhook.not_webhook"
FORBIDDEN: Final = "webhook.forbidden_address"
BUSY: Final = "webhook.busy"
GONE: Final = "webhook.gone"
MALFORMED: Final = "webhook.malformed_response"
# So long waits what found its host slow and its places taken: about as long as one deadline.
BUSY_WAIT_S: Final = 15.0
_BY_STATUS: Final[dict[int, tuple[ResultClass, str]]] = {
    400: (ResultClass.CONTENT, "webhook.content_refused"),
    401: (ResultClass.FIX_CONFIG, "webhook.signature_refused"),
    403: (ResultClass.FIX_CONFIG, "webhook.signature_refused"),
    404: (ResultClass.RECIPIENT, "webhook.not_found"),
    405: (ResultClass.RECIPIENT, "webhook.not_found"),
    408: (ResultClass.UNKNOWN, "webhook.failed"),
    410: (ResultClass.RECIPIENT, GONE),
    413: (ResultClass.CONTENT, "webhook.too_large"),
    415: (ResultClass.CONTENT, "webhook.content_refused"),
    422: (ResultClass.CONTENT, "webhook.content_refused"),
    425: (ResultClass.UNKNOWN, "webhook.failed"),
    429: (ResultClass.RATE_LIMITED, "webhook.too_many"),
    503: (ResultClass.UNKNOWN, "webhook.unavailable"),
}
_BY_RANGE: Final[tuple[tuple[range, tuple[ResultClass, str]], ...]] = (
    (range(300, 400), (ResultClass.RECIPIENT, "webhook.redirected")),
    (range(400, 500), (ResultClass.FIX_CONFIG, "webhook.refused")),
    (range(500, 600), (ResultClass.UNKNOWN, "webhook.failed")),
)
CODES: Final = frozenset(
    {ACCEPTED, NOT_WEBHOOK, FORBIDDEN, BUSY, MALFORMED}
    | {code for _, code in _BY_STATUS.values()}
    | {code for _, (_, code) in _BY_RANGE}
)
BUSY_RESULT: Final = SendResult(
    Outcome.NOT_SENT, ResultClass.RATE_LIMITED, BUSY, Phase.NOT_CONNECTED, retry_after_s=BUSY_WAIT_S
)


def class_of(status: int) -> tuple[ResultClass, str]:
    """Give the class and the code of a status that is no 2xx."""
    unknown = (ResultClass.UNKNOWN, MALFORMED)
    return _BY_STATUS.get(status) or next((found for statuses, found in _BY_RANGE if status in statuses), unknown)


def judged(answer: Answer, event_id: str, wall_clock: Callable[[], float]) -> SendResult:
    """Give what a whole answer proves. `event_id`, which the receiver was given, is the id of what it accepted."""
    status = answer.status
    if 200 <= status < 300:
        phase = Phase.ANSWER_READ
        return SendResult(Outcome.ACCEPTED, ResultClass.ACCEPTED, ACCEPTED, phase, event_id, http_status=status)
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
        trace_id=event_id,
        address_gone=status == 410,
    )
