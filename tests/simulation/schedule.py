"""One schedule: from a seed to the broken promises, of which there should be none."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from dataclasses import dataclass
from typing import Final

from tests.simulation import chores, oracle, pausing, people, restoring, workers
from tests.simulation.database import Database
from tests.simulation.faults import Coverage
from tests.simulation.violation import Violation
from tests.simulation.weather import USUAL, Weather
from tests.simulation.world import LOOK_S, RESTORER, SETTLES_WITHIN_S, Role, World, made, simulated_boot_clock

# Who lives in every world. Another actor is a coroutine of (world, process) that takes its turns: add it here, and its
# points to points.py.
ACTORS: Final[tuple[tuple[Role, str], ...]] = (
    (workers.work, "alpha1"),
    (workers.work, "alpha2"),
    (workers.work, "beta1"),
    (people.owe, "app"),
    (people.decide, "olga"),
    (pausing.pause, "lena"),
    (chores.receive, "web"),
    (chores.tend, "gamma1"),
    (chores.tend, "gamma2"),
)


# Somebody reads back the provider's list once all is quiet.
CATCHES_UP: Final = 0.3


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one schedule gave. `digest` is equal where everything happened in the same order."""

    seed: int
    weather: str
    violations: list[Violation]
    trace: list[str]
    story: list[str]
    settled_after_s: float

    @property
    def digest(self) -> str:
        """Give the mark of all that happened."""
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()


def play(
    database: Database,
    seed: int,
    coverage: Coverage,
    mark: str,
    *,
    restores: bool = False,
    weather: Weather = USUAL,
) -> Outcome:
    """Play one schedule to its end, and judge it. `restores`: an older copy of the database is put back in it."""
    world = made(database, seed, coverage, mark, weather)
    loop = world.scheduler.loop
    assert loop is not None
    previous = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # thousands of failures are what this is for
    try:
        with simulated_boot_clock(world.scheduler), chores.simulated_pace(world.scheduler):
            loop.run_until_complete(_live(world, restores=restores))
    finally:
        logging.disable(previous)
        loop.close()
    coverage.schedules += 1
    took_s = world.scheduler.now - (world.calm_since or 0.0)
    found = oracle.violations(world)
    told = oracle.story(world) if found else []
    database.put_away(world.accounts)
    return Outcome(seed, weather.name, found, world.scheduler.trace, told, took_s)


async def _live(world: World, *, restores: bool) -> None:
    for role, name in (*ACTORS, *(((restoring.restore, RESTORER),) if restores else ())):
        world.boot(role, name)
    try:
        while not world.is_calm:
            await asyncio.sleep(LOOK_S)
        world.calm_since = world.scheduler.now
        if world.rng.random() < CATCHES_UP:
            chores.catch_up_now(world)
        while not oracle.is_settled(world) and world.scheduler.now - world.calm_since < SETTLES_WITHIN_S:
            # What is asked again in half an hour needs no look before it.
            await asyncio.sleep(max(LOOK_S, (world.scheduler.now - world.calm_since) / 10))
    finally:
        world.end()
        await asyncio.sleep(0)
