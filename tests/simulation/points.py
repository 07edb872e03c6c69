"""Where the world can be interrupted."""

from __future__ import annotations

from typing import Final

# Where the production code is interrupted: before and after each of its statements, and around the call. The names
# are made by line.py (transactions of a link), provider.py, workers.py and people.py.
TRANSACTION: Final = ("begin", "inside", "commit", "committed")
POINTS: Final = (
    "worker idle",
    *(f"claim {step}" for step in TRANSACTION),
    "send begin",
    "send connect",
    "send write",
    "send answer",
    "record statement",
    "record executed",
    *(f"record {step}" for step in TRANSACTION),
    *(f"intake {step}" for step in TRANSACTION),
    "person read",
    "person decide",
    "person pause",
    "receive statement",
    "receive executed",
    "apply statement",
    "apply executed",
    *(f"apply {step}" for step in TRANSACTION),
    "ask statement",
    "ask executed",
    "look call",
    "look answer",
    *(f"ask {step}" for step in TRANSACTION),
)
