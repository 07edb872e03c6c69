"""A django-q2 cluster that never wedges, leaves no orphan, and ends with an honest exit code.

The stock one freezes for ever when a process that holds a shared queue's lock is killed, leaves a whole invisible
cluster behind when its parent is killed, and hangs when its group gets SIGTERM. This one ends within half a second in
each of these cases; a supervisor (`make up`, systemd) starts it again, and leases make that safe.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import django_q.cluster
from django_q.signals import pre_execute

from notifications import runtime

logger = logging.getLogger(__name__)

# sysexits.h: EX_SOFTWARE, something died that should not have; EX_TEMPFAIL, start me again.
BROKEN: Final = 70
START_AGAIN: Final = 75
POLL_S: Final = 0.1
# Without any beat for so long no loop runs here: all hand-overs may have met a database that was away.
SILENT_S: Final = 10.0


class Cluster(django_q.cluster.Cluster):  # type: ignore[misc]
    """The parent; a signal only sets a shared flag."""

    def sig_handler(self, signum: int, frame: Any) -> None:
        """Ask for a stop, and nothing else: Event.set() in a handler can deadlock (django-q2#346)."""
        runtime.ask_to_stop()


class Sentinel(django_q.cluster.Sentinel):  # type: ignore[misc]
    """The guard; ends the cluster where a killed process has taken a queue's lock with it."""

    def reincarnate(self, process: Any) -> None:
        """Start the process anew, unless it was killed where it may have held a shared queue's lock (django-q2#23).

        One that ended by an exception has let its locks go: the monitor does where the database is away.
        """
        at_queue = process is self.monitor or (process in self.pool and int(process.timer.value) == -1)
        if at_queue and (process.exitcode or 0) < 0:
            logger.critical("a process was killed at a shared queue: leaving", extra={"action": "queue_lock_lost"})
            os._exit(START_AGAIN)
        super().reincarnate(process)

    def status(self) -> Any:
        """Tell the keeper how it stands; called once a guard cycle."""
        runtime.note_queues(filled=bool(self.task_queue.qsize() + self.result_queue.qsize()))
        return super().status()


@dataclass(slots=True)
class Keeper:
    """Watches one cluster from its parent's main thread until it ends; gives the exit code.

    A stop may take `grace_s`; `wedge_s` without any progress means that the cluster is stuck. `restore` queues the
    loops that are missing; it is called, in a thread, when no worker shows a sign of progress.
    """

    grace_s: float
    wedge_s: float
    restore: Callable[[], object]
    cluster: Cluster = field(init=False)
    _restorer: threading.Thread = field(default_factory=threading.Thread, init=False)
    _restored_at: float = field(default=0.0, init=False)

    def run(self) -> int:
        """Start the cluster, watch it, and give the code to exit with."""
        runtime.end_with_parent()
        django_q.cluster.Sentinel = Sentinel
        pre_execute.connect(runtime.beat, dispatch_uid="notifications.runtime.beat")
        self.cluster = Cluster()
        runtime.beat()
        try:
            self.cluster.start()
        except RuntimeError:  # the sentinel ended before it was up, for instance because the database went away
            return self._left()
        runtime.note_queues(filled=False)
        while not runtime.stopping():
            if not self.cluster.sentinel.is_alive():
                return self._left()
            if runtime.stuck(self.wedge_s):
                logger.critical("cluster stuck: alive, but no progress", extra={"action": "cluster_stuck"})
                return self._kill(START_AGAIN)
            self._restore_when_silent()
            time.sleep(POLL_S)
        return self._stop()

    def _restore_when_silent(self) -> None:
        now = time.monotonic()
        if now - max(runtime.BEAT.value, self._restored_at) > SILENT_S and not self._restorer.is_alive():
            self._restored_at = now
            self._restorer = threading.Thread(target=self.restore, daemon=True)
            self._restorer.start()

    def _left(self) -> int:
        code = int(self.cluster.sentinel.exitcode or 0)
        logger.critical("sentinel left with %d", code, extra={"action": "sentinel_left"})
        return code if code > 0 else BROKEN

    def _stop(self) -> int:
        """Stop in a thread: joining a sentinel that dies at this moment can wait for ever."""
        ends_at = time.monotonic() + self.grace_s
        stopper = threading.Thread(target=self.cluster.stop, daemon=True)
        stopper.start()
        while stopper.is_alive():
            if not self.cluster.sentinel.is_alive():
                stopper.join(1)
                return BROKEN if stopper.is_alive() else 0
            if time.monotonic() > ends_at:
                logger.critical("stop took too long", extra={"action": "drain_deadline"})
                return self._kill(START_AGAIN)
            time.sleep(POLL_S)
        return 0

    def _kill(self, code: int) -> int:
        """Kill the sentinel: the kernel kills its children with it."""
        if self.cluster.sentinel.is_alive():
            os.kill(self.cluster.sentinel.pid, signal.SIGKILL)
        return code
