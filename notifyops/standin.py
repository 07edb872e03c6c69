"""Wait for the sandbox, and never let it hold up the rest: it only stands in for a provider."""

from __future__ import annotations

import contextlib
import json
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from notifyops import children
from notifyops.terminal import say

# Usually it is ready long before the tables are; what takes longer reads a journal of many megabytes.
WAIT_S: Final = 20.0
LOOK_EVERY_S: Final = 1.0
# The one who asks also tends the other processes.
ASK_WITHIN_S: Final = 0.5


@dataclass(slots=True)
class Standin:
    """The sandbox's process and what is to be done once it serves: `register`, called once, from `wait` or `look`."""

    child: children.Child
    url: str
    journal: Path
    register: Callable[[], None]
    is_ready: bool = False
    _told: set[str] = field(default_factory=set)
    _looked_at: float = 0.0

    def wait(self) -> bool:
        """Give the sandbox its time, and tell whether it serves; where it does not, a sentence has said why."""
        end = time.monotonic() + WAIT_S
        while not self._look() and time.monotonic() < end and not children.has_ended(self.child.pid):
            time.sleep(0.05)
        if not self.is_ready:
            self._explain()
        return self.is_ready

    def look(self) -> None:
        """Look again, at most once a second; what was late is told and registered when it is there."""
        now = time.monotonic()
        if self.is_ready or now - self._looked_at < LOOK_EVERY_S:
            return
        self._looked_at = now
        if self._look():
            say("The sandbox serves now.")

    def _look(self) -> bool:
        health = self._health()
        if health.get("state") == "reading":
            self._tell(f"  sandbox reads its journal, {health.get('journal_bytes', 0) / 1_000_000:.0f} MB")
        if health.get("state") == "ready":
            self.is_ready = True
            self.register()
        return self.is_ready

    def _health(self) -> dict[str, Any]:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with contextlib.suppress(OSError, ValueError):
            with opener.open(f"{self.url}/__sandbox__/health", timeout=ASK_WITHIN_S) as answer:
                told = json.load(answer)
            return told if isinstance(told, dict) else {}
        return {}

    def _explain(self) -> None:
        state = "has ended" if children.has_ended(self.child.pid) else "does not serve yet"
        self._tell(
            f"  The sandbox {state}; the rest starts without it, and nothing is sent until it serves "
            f"(log: {self.child.command.log}). What it remembers is in {self.journal}: to begin anew, end this, "
            f"move that file away and start again."
        )

    def _tell(self, line: str) -> None:
        if line not in self._told:
            self._told.add(line)
            say(line)
