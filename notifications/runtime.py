"""What the processes of one cluster share through fork: the stop flag and the signs of progress.

Raw values without locks: a signal handler may set them, and a killed process cannot leave them locked.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import signal
import time
from typing import Any, Final

_fork: Final[Any] = multiprocessing.get_context("fork")

STOP: Final[Any] = _fork.RawValue("i", 0)
# Monotonic seconds of the last sign of progress by any worker.
BEAT: Final[Any] = _fork.RawValue("d", 0.0)
# Monotonic seconds since when the local queues have been non-empty; 0 while they are empty.
QUEUED_SINCE: Final[Any] = _fork.RawValue("d", 0.0)

_PR_SET_PDEATHSIG: Final = 1


def ask_to_stop(*_args: object) -> None:
    """Ask every process of the cluster to stop; safe in a signal handler."""
    STOP.value = 1


def stopping() -> bool:
    """Say whether a stop was asked."""
    return bool(STOP.value)


def beat(*_args: object, **_kwargs: object) -> None:
    """Note progress; takes whatever a signal passes."""
    BEAT.value = time.monotonic()


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent dies: no orphan goes on sending. Linux only."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
