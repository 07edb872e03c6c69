"""Send: one call with the frozen bytes, no transaction open, and an honest result whatever happens."""

from __future__ import annotations

import asyncio
import logging
import time

from notifications.delivery.lease import Lease, Sent
from notifications.delivery.shop import Account
from notifications.providers.base import Request, SendResult
from notifications.states import Outcome, Phase, ResultClass

logger = logging.getLogger(__name__)


async def send(lease: Lease, account: Account) -> Sent:
    """Make the one attempt that the lease allows; never raises for the provider's or the adapter's fault.

    A cancelled call raises: its outcome is unknown, and the lease's end says so.
    """
    started = time.monotonic()
    request = Request(key=lease.key, body=lease.body, timeout_s=account.timeout_s, may_write=lease.may_write)
    try:
        result = await account.provider.send(request)
    except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as fault:  # an adapter's bug, of any class, concerns one message and not the loop
        logger.error(
            "adapter raised %s", type(fault).__name__, extra={"action": "adapter_fault", "intent": lease.notification_id}
        )
        result = SendResult(
            outcome=Outcome.UNKNOWN,
            result_class=ResultClass.UNKNOWN,
            code="unknown.internal_error",
            phase=Phase.REQUEST_WRITTEN,
        )
    return Sent(lease, result, int((time.monotonic() - started) * 1000))
