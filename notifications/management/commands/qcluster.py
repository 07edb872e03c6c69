"""`manage.py qcluster`: django-q2's cluster, made safe to kill, with checks before it starts."""

from __future__ import annotations

import logging
import os
import socket
import sys
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import DatabaseError, connections
from django_q.management.commands import qcluster

from notifications import looping, readiness
from notifications.command_line import refusals_as_sentences
from notifications.delivery import render
from notifications.qcluster import Keeper
from notifications.types import registry

logger = logging.getLogger(__name__)


class Command(qcluster.Command):  # type: ignore[misc]
    """Deliver: run loops and chores until told to stop."""

    help = "Deliver notifications: runs the loops and the chores until SIGTERM."

    def handle(self, *args: Any, **options: Any) -> None:
        """Check, queue what is missing, run. Exits 0 after a stop, 70 or 75 where it should be started again."""
        with refusals_as_sentences(self, traceback=options.get("traceback", False)):
            _prepare(options)
        keeper = Keeper(
            # Below the supervisor's 20 s: what is still under way then is recovered by its lease.
            grace_s=min(settings.NOTIFYOPS_PROVIDER_TIMEOUT_S + 5, 18),
            wedge_s=settings.Q_CLUSTER["timeout"] + 30,
            restore=looping.restore,
        )
        _say_what_starts()
        code = keeper.run()
        if code == 0:
            logger.info("qcluster has ended: nothing is in flight here", extra={"action": "cluster_ended"})
        sys.stdout.flush()
        sys.stderr.flush()
        # Not sys.exit: multiprocessing's exit handler would join children that may be stuck.
        os._exit(code)


def _prepare(options: dict[str, Any]) -> None:
    """Check and queue what is missing. Raises CommandError where the cluster cannot start."""
    if options.get("cluster_name"):
        raise CommandError("Set Q_CLUSTER_NAME in the environment instead: -n is ignored on Linux.")
    try:
        faults = readiness.worker_faults()
        if faults:
            raise CommandError("qcluster cannot start:\n- " + "\n- ".join(faults))
        readiness.ensure_schedule()
        # What was fetched was fetched by others, perhaps by a cluster that was killed a moment ago.
        looping.watch(just_fetched=timedelta())
    except DatabaseError as error:
        raise CommandError(f"qcluster cannot start: the database does not answer ({type(error).__name__}).") from error
    finally:
        connections.close_all()
    render.warm(registry)  # before the forks, so that all workers share what is read


def _say_what_starts() -> None:
    """One line for who starts it by hand, and for the log: who, where, how many loops, and how it ends."""
    site, mode, loops = settings.NOTIFYOPS_SITE, settings.NOTIFYOPS_SITE_MODE, settings.NOTIFYOPS_LOOPS
    host, pid = socket.gethostname(), os.getpid()
    told = "qcluster of site %s (mode %s) starts on %s as process %d, for %d loops in all; SIGTERM ends it"
    facts = {"action": "cluster_starts", "site": site, "mode": mode, "host": host, "pid": pid, "loops": loops}
    logger.info(told, site, mode, host, pid, loops, extra=facts)
