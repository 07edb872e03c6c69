"""What the processes of one cluster share through fork: the stop flag and the signs of progress.

Raw values without locks: a signal handler may set them, and a killed process cannot leave them locked.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import time
from typing import Any, Final

_fork: Final[Any] = multiprocessing.get_context("fork")

STOP: Final[Any] = _fork.RawValue("i", 0)
# Monotonic seconds of the last sign of progress by any worker.
BEAT: Final[Any] = _fork.RawValue("d", 0.0)
# Monotonic seconds since when the local queues have been non-empty; 0 while they are empty.
QUEUED_SINCE: Final[Any] = _fork.RawValue("d", 0.0)
# Monotonic seconds of the guard's last round.
GUARDED: Final[Any] = _fork.RawValue("d", 0.0)

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


def note_queues(*, filled: bool) -> None:
    """Note a round of the guard, and since when the local queues hold work."""
    GUARDED.value = time.monotonic()
    if not filled:
        QUEUED_SINCE.value = 0.0
    elif not QUEUED_SINCE.value:
        QUEUED_SINCE.value = time.monotonic()


def stuck(after_s: float) -> bool:
    """Say whether work has lain queued for so long without any progress, or the guard has made no round.

    A killed process may have taken a queue's or a timer's lock with it: then all the others look alive and wait.
    """
    now, since = time.monotonic(), QUEUED_SINCE.value
    if now - GUARDED.value > after_s:
        return True
    return bool(since) and now - since > after_s and now - BEAT.value > after_s


def end_with_parent() -> None:
    """Let each process that is forked from now on die with its parent: no orphan goes on sending. Linux only."""
    parent = _fork.RawValue("i", 0)

    def before() -> None:
        parent.value = os.getpid()

    def in_child() -> None:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        # The parent may have died between fork and prctl; then no signal ever comes.
        if os.getppid() != parent.value:
            os._exit(1)

    os.register_at_fork(before=before, after_in_child=in_child)
