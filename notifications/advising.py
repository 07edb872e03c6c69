"""What is advised about a case now: asked of the app that knows, since the first suggestion may be overtaken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

ADVISERS: Final[list[Callable[[int], str]]] = []


def register(adviser: Callable[[int], str]) -> None:
    """Have it asked about cases, by the intent's number, in a transaction of its own; empty: it advises nothing."""
    if adviser not in ADVISERS:
        ADVISERS.append(adviser)


def advised(intent_id: int) -> str:
    """Give what is suggested now, in words; empty outside of review, or where no app knows."""
    return next((words for words in (adviser(intent_id) for adviser in ADVISERS) if words), "")
