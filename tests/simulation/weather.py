"""Weathers: worlds in which one kind of trouble is common, so that what guards against it is met again and again.

The usual one has a little of everything, and seldom two rare things at once: an account that is probed while two of its
messages are due, a list that breaks off beside a message that nobody knows of, a key that ends between two statements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.simulation.faults import CHANCES, LOOKS, OUTAGE, WEIGHTS, Call, Coverage, Fault, Look, Outage, Plan
from tests.simulation.provider import SimulatedProvider
from tests.simulation.scheduler import JUMPS_S, Scheduler

# So long before the end of the newest message's key the quiet ends: a call that is made then may arrive after it.
EDGES_S: Final = (20.0, 45.0, 100.0, 250.0)
# Longer than an order on evidence is good for.
LULL_S: Final = 2400.0


@dataclass(frozen=True, slots=True, eq=False)
class Weather:
    """What is common in a world.

    `keyed`: whether the provider keeps keys; None: by chance. `steady`: the database's clock is never put on or back.
    `foreign`: how often a desk's key is another team's. `lull`: how often nobody works for LULL_S after a person's
    order; `lull_after`: only after an order for one of these reasons; none: after any. `at_edges`: a quiet time ends
    just before a key does. `deaf`: how often no event ever comes. `trusts`: how often people act on the provider's word
    as soon as they have it; where always, they ask about all that is in doubt. `thinks_s`: how long for.
    `fallback_after_s`: a second account takes over what waits, once the first was not called for so long.
    """

    name: str
    calls: Mapping[Call, int] = field(default_factory=lambda: WEIGHTS)
    looks: Mapping[Look, int] = field(default_factory=lambda: LOOKS)
    chances: Mapping[Fault, float] = field(default_factory=lambda: CHANCES)
    outage: Outage = OUTAGE
    jumps_s: tuple[float, ...] = JUMPS_S
    keyed: bool | None = None
    steady: bool = True
    foreign: float = 0.2
    lull: float = 0.0
    lull_after: frozenset[str] = frozenset()
    at_edges: bool = False
    fallback_after_s: float | None = None
    deaf: float = 0.25
    trusts: float = 0.7
    thinks_s: tuple[float, ...] = (2.0, 5.0, 20.0)

    def plan(self, rng: Random, seed: int, coverage: Coverage) -> Plan:
        """Give the faults of one schedule in this weather."""
        steady = self.steady or seed % 3 == 0
        return Plan(rng, seed, coverage, self.calls, self.looks, self.chances, self.outage, is_steady=steady)

    def quiet_s(self, scheduler: Scheduler, provider: SimulatedProvider) -> Callable[[], float]:
        """Give what says how long the next quiet time is."""

        def choose() -> float:
            if self.at_edges:
                left_s, before_s = provider.newest_key_left_s(), scheduler.rng.choice(EDGES_S)
                if left_s > before_s:
                    scheduler.plan.coverage.taken["weather × edge"] += 1
                    return left_s - before_s
            return scheduler.rng.choice(self.jumps_s)

        return choose


USUAL: Final = Weather("usual", steady=False)
OUTAGES: Final = Weather(
    "outages",
    calls={Call.ACCEPTED: 40, Call.SLOW: 10, Call.LOST_REQUEST: 30, Call.REFUSED: 10, Call.FAILED_BEFORE: 10},
    outage=(0.9, Call.LOST_REQUEST, 5, 12),
)
DOUBTS: Final = Weather(
    "doubts",
    calls={
        Call.ACCEPTED: 30, Call.LOST_ANSWER: 30, Call.FAILED_AFTER: 10, Call.LOST_REQUEST: 15, Call.GARBLED: 5,
        Call.DELAYED: 5, Call.REFUSED: 5,
    },
    looks={Look.READ: 70, Look.LOST: 8, Look.FAILED: 8, Look.LIMITED: 6, Look.MALFORMED: 8},
    chances=CHANCES | {Fault.CRASH: 0.012, Fault.PAUSE: 0.01, Fault.FREEZE: 0.0, Fault.JUMP: 0.1},
    jumps_s=(130.0, 150.0, 400.0, 400.0),
    keyed=False,
    foreign=0.5,
    lull=0.4,
)  # fmt: skip
EDGES: Final = Weather(
    "edges",
    calls={Call.ACCEPTED: 15, Call.LOST_ANSWER: 20, Call.FAILED_AFTER: 30, Call.DELAYED: 30, Call.SLOW: 5},
    chances=CHANCES | {Fault.JUMP: 0.05},
    keyed=True,
    at_edges=True,
)
# The first account goes down again and again, mostly so that it takes everything and nobody hears of it.
FAILOVER: Final = Weather(
    "failover",
    calls={
        Call.ACCEPTED: 30,
        Call.REFUSED: 20,
        Call.LOST_REQUEST: 20,
        Call.LOST_ANSWER: 10,
        Call.BAD_KEY: 15,
        Call.SLOW: 5,
    },
    outage=(0.8, Call.LOST_ANSWER, 3, 8),
    fallback_after_s=5.0,
)
_FEW: Final = dict.fromkeys(CHANCES, 0.0) | {Fault.CRASH: 0.005}
# Requests get lost, the provider says so, and what is ordered on its word waits for 40 minutes for somebody who works.
STANDSTILLS: Final = Weather(
    "standstills",
    calls={Call.ACCEPTED: 60, Call.LOST_REQUEST: 40},
    looks={Look.READ: 100},
    chances=_FEW,
    keyed=False,
    foreign=0.0,
    lull=0.9,
    lull_after=frozenset({"evidence_not_sent"}),
    deaf=1.0,
    trusts=1.0,
)
# Answers get lost, no event tells what became of them, and people ask at once; half of the keys are another team's.
HASTE: Final = Weather(
    "haste",
    calls={Call.ACCEPTED: 60, Call.LOST_ANSWER: 40},
    looks={Look.READ: 100},
    chances=_FEW,
    keyed=False,
    foreign=0.3,
    deaf=1.0,
    trusts=1.0,
    thinks_s=(0.5, 2.0),
)
WEATHERS: Final = {one.name: one for one in (USUAL, OUTAGES, DOUBTS, EDGES, FAILOVER, STANDSTILLS, HASTE)}


def of(seed: int) -> Weather:
    """Give the weather of a seed where many are searched: every fifth has one of its own."""
    rare = (OUTAGES, DOUBTS, EDGES, FAILOVER, STANDSTILLS, HASTE)
    return rare[seed // 5 % len(rare)] if seed % 5 == 4 else USUAL
