"""Send: one call with the frozen bytes, no transaction open, and an honest result whatever happens."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from typing import Any

from notifications.delivery.lease import Lease, Sent
from notifications.delivery.shop import Account
from notifications.providers.base import Request, SendResult
from notifications.states import Outcome, Phase, ResultClass

logger = logging.getLogger(__name__)

# As long as the columns are.
CODE_LENGTH = 100
ID_LENGTH = 255
_FAULT = SendResult(
    outcome=Outcome.UNKNOWN,
    result_class=ResultClass.UNKNOWN,
    code="unknown.internal_error",
    phase=Phase.REQUEST_WRITTEN,
)
_GIVEN_BACK = SendResult(
    outcome=Outcome.NOT_SENT,
    result_class=ResultClass.GIVEN_BACK,
    code="not_sent.given_back",
    phase=Phase.NOT_CONNECTED,
)


def give_back(lease: Lease) -> Sent:
    """Give a lease back that was never used: another worker may have it at once, and it counts as no failure."""
    return Sent(lease, _GIVEN_BACK, 0)


async def send(lease: Lease, account: Account) -> Sent:
    """Make the one attempt that the lease allows; never raises for the provider's or the adapter's fault.

    A cancelled call raises: its outcome is unknown, and the lease's end says so.
    """
    started = time.monotonic()
    request = Request(key=lease.key, body=lease.body, timeout_s=account.timeout_s, may_write=lease.may_write)
    try:
        result = _recordable(await account.provider.send(request))
    except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as fault:  # an adapter's bug, of any class, concerns one message and not the loop
        logger.error(
            "adapter raised %s",
            type(fault).__name__,
            extra={"action": "adapter_fault", "intent": lease.notification_id},
        )
        result = _FAULT
    return Sent(lease, result, int((time.monotonic() - started) * 1000))


def _recordable(result: SendResult) -> SendResult:
    """Make what an adapter says fit for the database: a write that records a failure must not fail.

    An acceptance without an id that can be kept is no proof, and so unknown.
    """
    message_id = result.provider_message_id
    if result.outcome is Outcome.ACCEPTED and (not message_id or message_id != printable(message_id, ID_LENGTH)):
        return replace(_FAULT, phase=Phase.ANSWER_READ)
    status = result.http_status
    fit: dict[str, Any] = {
        "code": printable(result.code, CODE_LENGTH),
        "provider_message_id": message_id if result.outcome is Outcome.ACCEPTED else None,
        "http_status": status if status is not None and 100 <= status <= 999 else None,
        "retry_after_raw": _optional(result.retry_after_raw),
        "trace_id": _optional(result.trace_id),
    }
    # Nearly every result is fit as it is, and a copy of one costs as much as all of these checks.
    return result if all(getattr(result, name) == value for name, value in fit.items()) else replace(result, **fit)


def _optional(text: str | None) -> str | None:
    return None if text is None else printable(text, CODE_LENGTH)


def printable(text: str, length: int) -> str:
    """Give foreign text as it can be stored: what is no printable character (NUL, half a surrogate) as a mark, cut."""
    cut = text[:length]
    return cut if cut.isprintable() else "".join(mark if mark.isprintable() else "\ufffd" for mark in cut)
