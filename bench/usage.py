"""What process trees have used: CPU seconds from /proc, ended children included. Linux only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from notifyops import children

_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")


def cpu_s(*roots: int) -> float:
    """Give the CPU seconds of the processes and of all their descendants, dead ones that were waited for included."""
    return sum(_own(pid) for root in roots for pid in (root, *children.descendants(root)))


def _own(pid: int) -> float:
    try:
        # The name stands in parentheses and may itself hold any character.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    # utime, stime, and both of the children that ended (fields 14 to 17 of proc(5); the list begins with field 3).
    return sum(int(ticks) for ticks in fields[11:15]) * _TICK_S
