"""A lease: the right to send one message once, until a moment on the machine's own monotonic clock."""

from __future__ import annotations

import time
from dataclasses import dataclass

from notifications.delivery.shop import LANE_STRIDE
from notifications.policy.retry import AttemptFacts
from notifications.providers.base import NotWritten, SendResult

# The write is allowed until the lease, less the whole call, less this: time to record before the lease ends.
ROOM_TO_RECORD_S = 1.0


def boot_clock() -> float:
    """Give seconds since boot, suspended time included: a laptop or a virtual machine that slept must notice."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True, slots=True)
class Lease:
    """All that one send needs, so that sending never touches the database.

    `write_until` is on the boot clock, counted from before the claim's BEGIN. `facts` are as of the claim.
    """

    id: int
    notification_id: str
    account_id: int
    lane: int
    key: str
    body: bytes
    fence: int
    attempt: int
    facts: AttemptFacts
    write_until: float
    probe: bool = False
    # How long after its acceptance a missing receipt is asked about; None: never.
    confirm_s: float | None = None
    generation: int = 1
    # By a person: one attempt, whose failure is theirs to know of.
    ordered: bool = False

    @property
    def lane_key(self) -> int:
        """The lane as the database's pick names it."""
        return self.account_id * LANE_STRIDE + self.lane

    def may_write(self) -> None:
        """Raise NotWritten where the lease no longer covers the call: another worker may be about to send it."""
        if boot_clock() > self.write_until:
            raise NotWritten("lease_over")


@dataclass(frozen=True, slots=True)
class Sent:
    """One finished call."""

    lease: Lease
    result: SendResult
    duration_ms: int
