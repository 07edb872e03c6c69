"""What a judge says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise: the name of the check, and what it saw."""

    check: str
    detail: str
