"""A real cluster as a subprocess, its processes by the part they play, and questions to database and ledger."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psycopg

from notifications.sandbox.app import RunningSandbox
from notifyops import children

ROOT: Final = Path(__file__).resolve().parents[2]
# So short that a lost worker is noticed within a test, and just long enough for the settings' own rules.
QUICK: Final = {
    "NOTIFYOPS_LEASE_S": "5",
    "NOTIFYOPS_PROVIDER_TIMEOUT_S": "2",
    "NOTIFYOPS_RETRY_DELAYS_S": "0.2,0.4",
    "NOTIFYOPS_POLL_MAX_MS": "100",
    "NOTIFYOPS_LOOPS": "2",
}
WORKERS: Final = 5  # two loops, the chores, and two that idle
# A second on a quiet machine; others may be busy on it.
STARTS_WITHIN_S: Final = 90.0
NO_ORPHAN_WITHIN_S: Final = 30.0
OWE: Final = "SELECT notification_id FROM notifyops.enqueue(%s, %s, 'ana@example.com', '{\"title\": \"Q3\"}', '{}')"


def eventually(what: Callable[[], Any], within_s: float, *, every_s: float = 0.05) -> Any:
    """Give the first true value; fail when there is none in time."""
    ends_at = time.monotonic() + within_s
    while not (found := what()):
        assert time.monotonic() < ends_at, f"it did not happen within {within_s:g} s"
        time.sleep(every_s)
    return found


def lives(pid: int) -> bool:
    """Tell whether a process still runs; a zombie does not."""
    return children.parent_and_state(pid)[1] not in ("", "Z", "X")


@dataclass(slots=True)
class Cluster:
    """One started `manage.py qcluster`. Its pids are those of its first processes, in the order of their forks."""

    process: subprocess.Popen[bytes]
    log: Path
    everyone: list[int] = field(default_factory=list)

    @property
    def parent(self) -> int:
        return self.process.pid

    @property
    def sentinel(self) -> int:
        return self.everyone[1]

    @property
    def workers(self) -> list[int]:
        return self.everyone[2 : 2 + WORKERS]

    @property
    def monitor(self) -> int:
        return self.everyone[2 + WORKERS]

    @property
    def pusher(self) -> int:
        return self.everyone[3 + WORKERS]

    def is_whole(self) -> bool:
        """Tell whether parent, sentinel, workers, monitor and pusher are all there, and note who is who."""
        assert self.process.poll() is None, f"the cluster ended with {self.process.returncode}:\n{self.printed()}"
        self.everyone = [self.parent, *sorted(children.descendants(self.parent), key=_forked)]
        return len(self.everyone) == 4 + WORKERS

    def remember(self) -> None:
        """Note newly forked processes too, so that none of them can be an orphan unseen."""
        if self.process.poll() is None:
            self.everyone += [p for p in (self.parent, *children.descendants(self.parent)) if p not in self.everyone]

    def living(self) -> list[int]:
        """Give those of its processes, new ones included, that run now."""
        self.remember()
        return [pid for pid in self.everyone if lives(pid)]

    def hit(self, pid: int) -> None:
        """Kill one process; all others are remembered first."""
        self.remember()
        os.kill(pid, signal.SIGKILL)

    def ended(self, within_s: float = 30.0) -> int:
        """Give the exit code; fail where the parent has not ended in time, or left an orphan."""
        try:
            code = self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the cluster did not end within {within_s:g} s:\n{self.printed()}") from None
        eventually(lambda: not [pid for pid in self.everyone if lives(pid)], NO_ORPHAN_WITHIN_S)
        return code

    def stop(self, within_s: float = 60.0) -> int:
        """Ask the parent alone to stop; give the exit code."""
        self.remember()
        self.process.terminate()
        return self.ended(within_s)

    def kill(self) -> None:
        """End every process, stopped ones too. Without effect on a cluster that has ended."""
        self.remember()
        for pid in self.everyone:
            if lives(pid):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(10)

    def printed(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")


def _forked(pid: int) -> tuple[int, int]:
    """When a process began, in ticks since boot, and its number where two began in the same tick."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]), pid
    except OSError:
        return 0, pid


@dataclass(slots=True)
class Field:
    """Where a test plays: starts clusters on the test database, owes notifications, and asks what became of them."""

    env: Mapping[str, str]
    sandbox: RunningSandbox
    folder: Path
    owner: psycopg.Connection[Any]
    web: psycopg.Connection[Any]
    web_url: str
    clusters: list[Cluster] = field(default_factory=list)

    def spawn(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        before: tuple[str, ...] = (),
        arguments: tuple[str, ...] = (),
    ) -> Cluster:
        """Start a cluster without waiting; `before` is put in front of the command, `arguments` behind it."""
        log = self.folder / f"qcluster-{len(self.clusters)}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [*before, sys.executable, "manage.py", "qcluster", *arguments],
                cwd=ROOT,
                env={**self.env, **QUICK, **(settings or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        cluster = Cluster(process, log)
        self.clusters.append(cluster)
        return cluster

    def start(self, **settings: str) -> Cluster:
        """Start a cluster and wait until all its processes are there and its loops claim."""
        known = set(self.beats("loop"))
        cluster = self.spawn(settings)
        eventually(cluster.is_whole, STARTS_WITHIN_S, every_s=0.2)
        # A second cluster finds the slots held, and waits beside the first.
        wanted = 0 if any(lives(pid) for pid in known) else int(QUICK["NOTIFYOPS_LOOPS"])
        eventually(lambda: len(set(self.beats("loop")) - known) >= wanted, STARTS_WITHIN_S)
        return cluster

    def beats(self, role: str) -> list[int]:
        """Give the pids of the workers that have ever beaten in a role, the latest first."""
        rows = self.owner.execute(
            "SELECT split_part(worker, '/', 2)::int FROM notifyops_private.notifications_workerbeat "
            "WHERE role = %s ORDER BY beat_at DESC",
            [role],
        )
        return [pid for (pid,) in rows]

    def owe(self, *reports: str, kind: str = "report_ready") -> list[str]:
        """Owe a notification for each report in one transaction; give their keys."""
        with self.web.transaction():
            return [self.web.execute(OWE, [kind, report]).fetchone()[0] for report in reports]  # type: ignore[index]

    def in_flight(self, reports: list[str], *, seconds: float) -> list[str]:
        """Owe notifications whose calls take so long; give their keys when all calls are under way."""
        self.sandbox.fault(stage="during", kind="delay", seconds=seconds, times=len(reports))
        keys = self.owe(*reports)
        eventually(lambda: all(self.sandbox.ledger(key).http_requests for key in keys), 60, every_s=0.01)
        return keys

    def states(self) -> dict[str, int]:
        """Count all intents by state."""
        return dict(self.owner.execute("SELECT status, count(*) FROM notifyops.intents GROUP BY 1").fetchall())

    def all_accepted(self, keys: Iterable[str]) -> bool:
        return all(self.intent(key)["status"] == "accepted" for key in keys)

    def settled(self, count: int) -> bool:
        return self.states() == {"accepted": count}

    def intent(self, key: str) -> dict[str, Any]:
        return self._dicts("SELECT * FROM notifyops.intents WHERE id = %s", key)[0]

    def attempts(self, key: str) -> list[dict[str, Any]]:
        """Give each call: its worker, and what it ended by (None while it runs)."""
        return self._dicts("SELECT * FROM notifyops.attempts WHERE id = %s ORDER BY fence", key)

    def log(self, key: str) -> list[dict[str, Any]]:
        return self._dicts("SELECT * FROM notifyops.log WHERE id = %s ORDER BY seq", key)

    def caller(self, key: str, attempt: int) -> int:
        """Give the pid of the worker that made a call."""
        return int(str(self.attempts(key)[attempt - 1]["worker"]).split("/")[1])

    def _dicts(self, query: str, key: str) -> list[dict[str, Any]]:
        cursor = self.owner.execute(query, [key])
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def nothing_lost_nothing_doubled(self, keys: Iterable[str]) -> None:
        """Each of the keys was accepted, and taken exactly once by the provider; no rule of the tables is broken."""
        rows = dict(self.owner.execute("SELECT id, status FROM notifyops.intents").fetchall())
        taken = Counter({key: self.sandbox.ledger(key).accepted for key in keys})
        assert {key: (rows[key], count) for key, count in taken.items() if (rows[key], count) != ("accepted", 1)} == {}
