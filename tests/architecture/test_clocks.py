"""Delivery reads no clock that can be set: due times are the database's, leases the boot clock's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

BASE: Final = Path(__file__).resolve().parents[2] / "notifications"
PATHS: Final = sorted([*BASE.glob("delivery/*.py"), *BASE.glob("policy/*.py"), BASE / "door.py"])
WALL: Final = re.compile(r"\btime\.time\(|\bdatetime\.(?:now|utcnow|today)\(|\btimezone\.now\(|\bdate\.today\(")
# A beat tells that a process lives, and not when something is due.
SQL_WALL: Final = re.compile(r"clock_timestamp\(\)|\bnow\(\)|current_timestamp", re.IGNORECASE)


def test_the_wall_clock_is_not_read() -> None:
    assert [path.name for path in PATHS if WALL.search(path.read_text(encoding="utf-8"))] == []


def test_the_loops_own_statements_read_the_clock_of_the_shipped_functions() -> None:
    found = [path.name for path in PATHS if SQL_WALL.search(path.read_text(encoding="utf-8"))]
    assert found == ["beats.py"]


def test_what_the_simulation_plays_waits_by_its_loops_clock() -> None:
    """Or the same seed would not give the same schedule: a loaded machine would gather other batches."""
    played = ("claim.py", "prepare.py", "judge.py", "record.py", "recorder.py", "due.py", "stock.py")
    found = [
        path.name for path in PATHS if path.name in played and "time.monotonic" in path.read_text(encoding="utf-8")
    ]
    assert found == []
