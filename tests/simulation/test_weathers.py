"""Schedules in which one kind of trouble is common: outages, doubts with poor look-ups, keys that end under a call."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation import kept
from tests.simulation.database import Database
from tests.simulation.faults import Coverage
from tests.simulation.schedule import play
from tests.simulation.weather import DOUBTS, EDGES, FAILOVER, HASTE, OUTAGES, STANDSTILLS, Weather

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
SIZE: Final = 10
# What must have happened, or a weather is none.
TOLD: Final = {
    OUTAGES: ("weather × probe",),
    DOUBTS: ("deed × said_absent", "deed × retried_on_absence", "deed × sent_on_absence"),
    EDGES: ("weather × edge",),
    FAILOVER: ("weather × failed_over", "weather × sent_by_spare", "weather × stayed_in_doubt"),
    STANDSTILLS: ("deed × said_absent", "deed × retried_on_absence"),
    HASTE: ("deed × settled_by_asking",),
}


@pytest.mark.parametrize("weather", TOLD, ids=lambda one: one.name)
def test_no_promise_is_broken_in_a_weather_of_its_own(simulated: Database, weather: Weather) -> None:
    coverage = Coverage()
    for seed in range(SIZE):
        outcome = play(simulated, seed, coverage, "w", weather=weather)
        if outcome.violations:
            kept.keep_seed(outcome)
            pytest.fail(kept.told(outcome))
    missing = [one for one in TOLD[weather] if not coverage.taken[one]]
    assert not missing, f"played to nobody: {missing}"
