"""Three hundred schedules of the production functions under every fault; the provider's ledger is the judge."""

from __future__ import annotations

import pytest

from tests.simulation import kept
from tests.simulation.database import Database
from tests.simulation.faults import Coverage
from tests.simulation.points import POINTS
from tests.simulation.schedule import play
from tests.simulation.weather import WEATHERS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
CHUNKS, SIZE = 6, 50


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_promise_is_broken_whatever_happens(simulated: Database, chunk: int) -> None:
    coverage = Coverage()
    for seed in range(chunk * SIZE, (chunk + 1) * SIZE):
        outcome = play(simulated, seed, coverage, "t")
        if outcome.violations:
            kept.keep_seed(outcome)
            pytest.fail(kept.told(outcome))
    kept.keep_counts(chunk, coverage)
    together = kept.counts_of_all(CHUNKS)
    if together is not None:  # whichever process ends last looks at all of them
        assert not together.missing(), together.missing()
        # Of what the provider has and nobody knew of, all but one in a hundred ends without a person.
        assert together.doubts["alone"] >= 99 * together.doubts["left"], together.doubts
        assert set(POINTS) - set(together.points) == set()


@pytest.mark.parametrize(("seed", "weather"), kept.kept_seeds())
def test_a_seed_that_failed_once_does_not_fail_again(simulated: Database, seed: int, weather: str) -> None:
    outcome = play(simulated, seed, Coverage(), "k", weather=WEATHERS[weather])
    assert not outcome.violations, kept.told(outcome)


def test_a_seed_gives_the_same_schedule_each_time(simulated: Database) -> None:
    for seed in (1, 2):
        first, second = (play(simulated, seed, Coverage(), mark) for mark in ("a", "b"))
        assert first.trace == second.trace
