"""The database of a simulation: the test database, whose shipped functions read the simulation's clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.simulation.database import Database


@pytest.fixture
def simulated(transactional_db: None, database_url: Callable[[str], str]) -> Iterator[Database]:
    """Give the real connections that simulated processes work on."""
    from tests.simulation.database import Database

    database = Database(database_url)
    try:
        yield database
    finally:
        database.close()
