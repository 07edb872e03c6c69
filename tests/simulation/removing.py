"""How a safeguard is removed from a simulated world: Python's at its name, the database's in its function's text."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from tests.simulation.database import Database
from tests.simulation.weather import USUAL, Weather

Removal = Callable[[Database], AbstractContextManager[Any]]


@dataclass(frozen=True, slots=True)
class Safeguard:
    """One safeguard: its name, what is done to remove it, and the removal.

    `restores`: it is for restored databases. `weather`: where what it prevents is common.
    """

    name: str
    removed: str
    removal: Removal
    restores: bool = False
    weather: Weather = USUAL


@contextlib.contextmanager
def put(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Put another value at a name while the block runs."""
    real = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, real)


@contextlib.contextmanager
def cut(database: Database, function: str, old: str, new: str) -> Iterator[None]:
    """Change the text of one of the database's functions while the block runs."""
    query = "SELECT pg_get_functiondef(%s::regproc)"
    row = database.owner.execute(query, (f"notifyops_private.{function}",)).fetchone()
    assert row is not None
    text = str(row[0])
    assert text.count(old) == 1, f"{function} does not say {old!r} once any more: write this removal anew"
    database.owner.execute(text.replace(old, new).encode())
    try:
        yield
    finally:
        database.owner.execute(text.encode())


@contextlib.contextmanager
def all_of(*removals: AbstractContextManager[Any]) -> Iterator[None]:
    """Remove what stands in several places."""
    with contextlib.ExitStack() as stack:
        for removal in removals:
            stack.enter_context(removal)
        yield
