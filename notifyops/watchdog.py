"""Judge the cluster by its progress: a living process whose loops no longer claim is as good as dead."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

import psycopg

from notifyops import children

# A loop beats after every claim, at the latest once a second when idle; 30 s is far beyond any statement's limit.
SILENT_FOR_S: Final = 30
# A fresh cluster forks, waits for its queue and takes its slots before the first beat.
GRACE_S: Final = 45.0
LOOK_EVERY_S: Final = 5.0

QUESTION: Final = """
    SELECT EXISTS (
        SELECT 1 FROM notifyops_private.notifications_workerbeat
        WHERE beat_at > clock_timestamp() - make_interval(secs => %s)
    )
"""


def has_beat(url: str) -> bool | None:
    """Tell whether any loop has beaten lately; None where the database does not answer: not the loops' fault."""
    try:
        with psycopg.connect(url, connect_timeout=2, options="-c statement_timeout=2000") as connection:
            row = connection.execute(QUESTION, [SILENT_FOR_S]).fetchone()
    except psycopg.Error:
        return None
    return bool(row and row[0])


@dataclass(slots=True)
class Watchdog:
    """Kills a silent cluster, whose supervisor then starts a fresh one."""

    cluster: children.Child
    url: str
    grace_s: float = GRACE_S
    looked_at: float = 0.0
    # When the database last answered after not answering: the loops need their time to come back too.
    reachable_since: float | None = None

    def look(self) -> bool:
        """Look if it is time to; tell whether the cluster was killed."""
        now = time.monotonic()
        if not self.cluster.pid or now - self.looked_at < LOOK_EVERY_S:
            return False
        self.looked_at = now
        beat = has_beat(self.url)
        if beat is None:
            self.reachable_since = None
            return False
        if self.reachable_since is None:
            self.reachable_since = now
        if beat or now - max(self.cluster.started_at, self.reachable_since) < self.grace_s:
            return False
        # By number and not by signal to a group: stopped processes hear no SIGTERM.
        children.kill_tree(self.cluster.pid)
        return True
