"""One schedule: from a seed to the broken promises, of which there should be none."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from dataclasses import dataclass
from typing import Final

from tests.simulation import oracle, people, workers
from tests.simulation.database import Database
from tests.simulation.faults import Coverage
from tests.simulation.oracle import Violation
from tests.simulation.world import LOOK_S, SETTLES_WITHIN_S, Role, World, made, simulated_boot_clock

# Who lives in every world. Another actor is a coroutine of (world, process) that takes its turns: add it here, and its
# points to faults.POINTS.
ACTORS: Final[tuple[tuple[Role, str], ...]] = (
    (workers.work, "alpha1"),
    (workers.work, "alpha2"),
    (workers.work, "beta1"),
    (people.owe, "app"),
    (people.decide, "olga"),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one schedule gave. `digest` is equal where everything happened in the same order."""

    seed: int
    violations: list[Violation]
    trace: list[str]
    story: list[str]
    settled_after_s: float

    @property
    def digest(self) -> str:
        """Give the mark of all that happened."""
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()


def play(database: Database, seed: int, coverage: Coverage, mark: str) -> Outcome:
    """Play one schedule to its end, and judge it."""
    world = made(database, seed, coverage, mark)
    loop = world.scheduler.loop
    assert loop is not None
    previous = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # thousands of failures are what this is for
    try:
        with simulated_boot_clock(world.scheduler):
            loop.run_until_complete(_live(world))
    finally:
        logging.disable(previous)
        loop.close()
    coverage.schedules += 1
    took_s = world.scheduler.now - (world.calm_since or 0.0)
    found = oracle.violations(world)
    return Outcome(seed, found, world.scheduler.trace, oracle.story(world) if found else [], took_s)


async def _live(world: World) -> None:
    for role, name in ACTORS:
        world.boot(role, name)
    try:
        while not world.is_calm:
            await asyncio.sleep(LOOK_S)
        world.calm_since = world.scheduler.now
        while not oracle.is_settled(world) and world.scheduler.now - world.calm_since < SETTLES_WITHIN_S:
            await asyncio.sleep(LOOK_S)
    finally:
        world.end()
        await asyncio.sleep(0)
