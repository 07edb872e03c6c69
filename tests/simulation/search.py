"""`make simulate N=…`: as many schedules as wanted, of seeds that the tests do not play; says what was tried."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

from tests.simulation import kept
from tests.simulation.database import Database
from tests.simulation.faults import WANTED, Call, Coverage, Fault
from tests.simulation.schedule import play
from tests.simulation.weather import of

pytestmark = pytest.mark.django_db(transaction=True)
SAY_EVERY = 100


def test_search(simulated: Database, capsys: pytest.CaptureFixture[str]) -> None:
    first = int(os.environ.get("NOTIFYOPS_TEST_FIRST_SEED", "300"))
    count = int(os.environ.get("NOTIFYOPS_TEST_SCHEDULES", "1000"))
    coverage, failed, began, longest_s = Coverage(), list[int](), time.monotonic(), 0.0

    def say(text: str) -> None:
        with capsys.disabled():
            print(text, flush=True)  # noqa: T201

    for seed in range(first, first + count):
        outcome = play(simulated, seed, coverage, "n", weather=of(seed))
        longest_s = max(longest_s, outcome.settled_after_s)
        if outcome.violations:
            failed.append(seed)
            say(f"seed {seed} is kept in {kept.keep_seed(outcome)}\n{kept.told(outcome)}")
        if coverage.schedules % SAY_EVERY == 0 or seed == first + count - 1:
            _tell(say, coverage, failed, time.monotonic() - began)
            say(f"  settled within {longest_s:.0f} s of the world's time after the faults stopped")
    assert failed == []


def _tell(say: Callable[[str], None], coverage: Coverage, failed: list[int], took_s: float) -> None:
    taken = " ".join(f"{fault} {coverage.of(fault)}" for fault in Fault)
    calls = sum(coverage.taken[f"call × {call}"] for call in Call)
    missing = coverage.missing()
    say(f"\n  in doubt, and at the provider: {dict(coverage.doubts)}")
    say(
        f"\n{coverage.schedules} schedules, {coverage.schedules / took_s:.1f} a second, {coverage.steps} steps, "
        f"{calls} calls; failed: {failed or 'none'}\n  {taken}\n"
        f"  points and faults: {len(WANTED) - len(missing)} of {len(WANTED)} pairs taken{', not: ' if missing else ''}"
        f"{', '.join(missing)}"
    )
