"""What django-q2 calls: each starts or watches one long task, and queues its successor. Intents never pass here."""

from __future__ import annotations

from notifications import chores, looping


def deliver(slot: int) -> str:
    """Run the loop of one slot for a while."""
    return looping.deliver(slot)


def tend() -> str:
    """Run the chores slot for a while."""
    return chores.tend()


def watch() -> str:
    """Queue whatever loop is missing."""
    return looping.watch()
