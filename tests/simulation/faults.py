"""What can go wrong, where, and how often it was tried."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product
from random import Random
from typing import Final


class Fault(StrEnum):
    """What may happen to whoever stands at a point where the world can be interrupted."""

    CRASH = "crash"  # kill -9; another process takes its place
    PAUSE = "pause"  # SIGSTOP for less or more than a lease
    FREEZE = "freeze"  # 30 hours: past every window
    RESTART = "restart"  # the database's: every connection ends
    JUMP = "jump"  # long quiet: a lease, an outage, a day
    STEP = "step"  # of the database's own clock
    COMMIT_LOST = "commit_lost"  # never reached the server
    ANSWER_LOST = "answer_lost"  # committed, and nobody was told


class Call(StrEnum):
    """What may become of one call to the provider."""

    ACCEPTED = "accepted"
    SLOW = "slow"
    REFUSED = "refused"
    LOST_REQUEST = "lost_request"
    LOST_ANSWER = "lost_answer"
    DELAYED = "delayed"  # on the way, beyond our deadline
    QUEUED = "queued"  # arrived, and worked on beyond our deadline: the key is taken meanwhile
    FAILED_BEFORE = "failed_before"  # 500, nothing accepted
    FAILED_AFTER = "failed_after"  # 500, and yet accepted
    RATE_LIMITED = "rate_limited"
    IN_FLIGHT = "in_flight"
    CONFLICT = "conflict"
    INVALID = "invalid"
    BAD_ADDRESS = "bad_address"
    SOFT_REFUSAL = "soft_refusal"
    BAD_KEY = "bad_key"  # 401
    DOUBLED = "doubled"  # the request arrives twice
    GARBLED = "garbled"  # accepted, and the answer has no id
    BUG = "bug"  # the adapter raises after the write
    LIE_ACCEPTED = "lie_accepted"  # says accepted, keeps nothing
    LIE_FORGETS = "lie_forgets"  # forgets a key long before its time


WEIGHTS: Final[dict[Call, int]] = {
    Call.ACCEPTED: 34,
    Call.SLOW: 6,
    Call.REFUSED: 5,
    Call.LOST_REQUEST: 6,
    Call.LOST_ANSWER: 14,
    Call.DELAYED: 5,
    Call.QUEUED: 4,
    Call.FAILED_BEFORE: 4,
    Call.FAILED_AFTER: 6,
    Call.RATE_LIMITED: 4,
    Call.IN_FLIGHT: 2,
    Call.CONFLICT: 1,
    Call.INVALID: 2,
    Call.BAD_ADDRESS: 1,
    Call.SOFT_REFUSAL: 2,
    Call.BAD_KEY: 2,
    Call.DOUBLED: 3,
    Call.GARBLED: 2,
    Call.BUG: 1,
    Call.LIE_ACCEPTED: 1,
    Call.LIE_FORGETS: 1,
}

# Where the production code is interrupted: before and after each of its statements, and around the call. The names
# are made by line.py (transactions of a link), provider.py, workers.py and people.py.
TRANSACTION: Final = ("begin", "inside", "commit", "committed")
POINTS: Final = (
    "worker idle",
    *(f"claim {step}" for step in TRANSACTION),
    "send begin",
    "send connect",
    "send write",
    "send answer",
    "record statement",
    "record executed",
    *(f"record {step}" for step in TRANSACTION),
    *(f"intake {step}" for step in TRANSACTION),
    "person read",
    "person decide",
)
ANYWHERE: Final = (Fault.CRASH, Fault.PAUSE, Fault.FREEZE, Fault.RESTART, Fault.JUMP, Fault.STEP)
PAIRS: Final = (
    *product(POINTS, ANYWHERE),
    *((point, Fault.COMMIT_LOST) for point in ("claim commit", "record commit", "intake commit", "record statement")),
    *((point, Fault.ANSWER_LOST) for point in POINTS if point.endswith(("committed", "executed"))),
)

# Of each step of a storm; the rest go on undisturbed.
_CHANCES: Final[dict[Fault, float]] = {
    Fault.CRASH: 0.035,
    Fault.PAUSE: 0.03,
    Fault.FREEZE: 0.006,
    Fault.RESTART: 0.004,
    Fault.JUMP: 0.012,
    Fault.STEP: 0.004,
    Fault.COMMIT_LOST: 0.02,
    Fault.ANSWER_LOST: 0.03,
}
_LAWFUL: Final = frozenset(PAIRS)


@dataclass(slots=True)
class Coverage:
    """How often each point was met by each fault, and each way of a call taken."""

    schedules: int = 0
    steps: int = 0
    taken: Counter[str] = field(default_factory=Counter)
    points: Counter[str] = field(default_factory=Counter)

    def add(self, other: Coverage) -> None:
        """Add another's counts."""
        self.schedules += other.schedules
        self.steps += other.steps
        self.taken.update(other.taken)
        self.points.update(other.points)

    def missing(self) -> list[str]:
        """Give the pairs and the calls that never happened."""
        wanted = [f"{point} × {fault}" for point, fault in PAIRS] + [f"call × {call}" for call in Call]
        return [name for name in wanted if not self.taken[name]]

    def of(self, fault: str) -> int:
        """Give how often a fault was taken, wherever it was."""
        return sum(count for name, count in self.taken.items() if name.endswith(f"× {fault}"))


@dataclass(slots=True)
class Plan:
    """The faults of one schedule: some are aimed at a point, by turns of the seed; the others come by chance."""

    rng: Random
    seed: int
    coverage: Coverage
    calm: bool = False
    _aimed: list[tuple[str, Fault, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Two pairs a schedule, each met before its first, second or third occurrence.
        for place in (2 * self.seed, 2 * self.seed + 1):
            point, fault = PAIRS[place % len(PAIRS)]
            self._aimed.append((point, fault, self.rng.randrange(3)))

    def at(self, point: str) -> Fault | None:
        """Give what happens to the one who stands at `point` and is about to go on."""
        self.coverage.points[point] += 1
        fault = None if self.calm else self._drawn(point)
        if fault is not None:
            self.coverage.taken[f"{point} × {fault}"] += 1
        return fault

    def call(self) -> Call:
        """Give what becomes of the next call."""
        call = Call.ACCEPTED if self.calm else self.rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        self.coverage.taken[f"call × {call}"] += 1
        return call

    def _drawn(self, point: str) -> Fault | None:
        for place, (aimed_at, fault, occurrence) in enumerate(self._aimed):
            if aimed_at == point:
                self._aimed[place] = (point, fault, occurrence - 1)
                if occurrence == 0:
                    return fault
        # Around the call faults come more often: there they could cost a message, or make two.
        number = self.rng.random() / (2.0 if point.startswith("send") else 1.0)
        for fault, chance in _CHANCES.items():
            number -= chance
            if number < 0:
                return fault if (point, fault) in _LAWFUL else None
        return None
