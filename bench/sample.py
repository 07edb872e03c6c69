"""One measured run of deliveries: its rate, and what it used of processor and write-ahead log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg

from bench.stage import BenchFailed
from bench.usage import cpu_s


@dataclass(frozen=True, slots=True)
class Sample:
    """What one run gave: deliveries a second, CPU seconds for 1,000 of them, WAL bytes for each."""

    rate: float
    cpu_per_1000: float
    wal_each: float
    span_s: float


@dataclass(frozen=True, slots=True)
class Used:
    """What was used between two moments."""

    cpu_s: float
    wal_bytes: int


class Window:
    """Counts from its making until `close`: the CPU of the process trees, and the WAL of the whole server."""

    def __init__(self, owner: psycopg.Connection[Any], *roots: int) -> None:
        self._owner = owner
        self._roots = roots
        self._wal = _wal_position(owner)
        self._cpu_s = cpu_s(*roots)

    def close(self) -> Used:
        """Give what was used since the beginning."""
        return Used(cpu_s(*self._roots) - self._cpu_s, _wal_position(self._owner) - self._wal)


def told(used: Used, *, count: int, row: tuple[Any, ...] | None, expected: int, what: str) -> Sample:
    """Give the sample; `row` holds how many facts were recorded and the seconds from the first to the last."""
    recorded, span_s = (int(row[0]), float(row[1] or 0)) if row else (0, 0.0)
    if recorded != expected or span_s <= 0:
        raise BenchFailed(f"{what} recorded {recorded} facts instead of {expected}: nothing can be said about its rate")
    return Sample(count / span_s, used.cpu_s / count * 1000, used.wal_bytes / count, span_s)


def _wal_position(owner: psycopg.Connection[Any]) -> int:
    row = owner.execute("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint").fetchone()
    assert row is not None
    return int(row[0])
