"""Schedules in which an older copy of the database is put back: what it has forgotten goes out once all the same."""

from __future__ import annotations

import pytest

from tests.simulation import kept
from tests.simulation.database import Database
from tests.simulation.faults import Coverage
from tests.simulation.schedule import play

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
CHUNKS, SIZE = 2, 20
# Held because it was due; held because its call may have run; given back by the provider's "not found".
TOLD = ("forgotten", "restored", "lease_lost", "freed", "settled")


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_what_a_restored_database_forgot_is_not_sent_twice(simulated: Database, chunk: int) -> None:
    coverage = Coverage()
    for seed in range(chunk * SIZE, (chunk + 1) * SIZE):
        outcome = play(simulated, seed, coverage, "r", restores=True)
        assert not outcome.violations, kept.told(outcome)
    missing = [one for one in TOLD if not coverage.taken[f"restore × {one}"]]
    assert not missing, f"played to nobody: {missing}"
