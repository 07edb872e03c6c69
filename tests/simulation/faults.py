"""What can go wrong, where, and how often it was tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product
from random import Random
from typing import Final, TypeVar

from tests.simulation.points import POINTS, TRANSACTION


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


class Fate(StrEnum):
    """What becomes of a message after the provider took it."""

    DELIVERED = "delivered"
    OPENED = "opened"
    DELAYED = "delayed"
    SOFT_BOUNCED = "soft_bounced"
    ARRIVED = "arrived"  # after it had come back
    BOUNCED = "bounced"
    COMPLAINED = "complained"
    SUPPRESSED = "suppressed"
    FAILED = "failed"
    SILENT = "silent"


class Post(StrEnum):
    """What may become of one event on its way to us."""

    SOON = "soon"
    EARLY = "early"  # before the answer to our call is recorded
    LATE = "late"
    DOUBLED = "doubled"
    LOST = "lost"


class Look(StrEnum):
    """What may become of one reading call of a look-up."""

    READ = "read"
    SLOW = "slow"
    LOST = "lost"
    FAILED = "failed"  # 500
    LIMITED = "limited"  # 429
    MALFORMED = "malformed"
    HIDES = "hides"  # leaves out what was accepted long ago: the provider's lie


class Deed(StrEnum):
    """What a log must tell of in some schedule, or a part of this world would play to nobody."""

    SETTLED_BY_RECEIPT = "settled_by_receipt"
    SETTLED_BY_ASKING = "settled_by_asking"
    SAID_ABSENT = "said_absent"
    RETRIED_ON_ABSENCE = "retried_on_absence"
    SENT_ON_ABSENCE = "sent_on_absence"  # past the window
    ADOPTED = "adopted"
    CONFIRMED = "confirmed"
    UNCONFIRMED = "unconfirmed"
    CONTRADICTED = "contradicted"
    SECOND_MESSAGE = "second_message"
    BLOCKED = "blocked"
    ANEW = "anew"  # a new generation, after the old one's message came back
    OLD_RECEIPT = "old_receipt"
    CORRECTED = "corrected"  # owed to another address
    RESEND_ASKED = "resend_asked"
    RESENT = "resent"  # by order of two


FATES: Final[dict[Fate, int]] = {
    Fate.DELIVERED: 36,
    Fate.OPENED: 6,
    Fate.DELAYED: 8,
    Fate.SOFT_BOUNCED: 10,
    Fate.ARRIVED: 12,
    Fate.BOUNCED: 8,
    Fate.COMPLAINED: 7,
    Fate.SUPPRESSED: 4,
    Fate.FAILED: 6,
    Fate.SILENT: 8,
}
POSTS: Final[dict[Post, int]] = {Post.SOON: 50, Post.EARLY: 15, Post.LATE: 12, Post.DOUBLED: 13, Post.LOST: 10}
LOOKS: Final[dict[Look, int]] = {
    Look.READ: 72, Look.SLOW: 5, Look.LOST: 6, Look.FAILED: 6, Look.LIMITED: 4, Look.MALFORMED: 4, Look.HIDES: 3,
}  # fmt: skip
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

ANYWHERE: Final = (Fault.CRASH, Fault.PAUSE, Fault.FREEZE, Fault.RESTART, Fault.JUMP, Fault.STEP)
PAIRS: Final = (
    *product(POINTS, ANYWHERE),
    *((point, Fault.COMMIT_LOST) for point in POINTS if point.endswith(("commit", "statement"))),
    *((point, Fault.ANSWER_LOST) for point in POINTS if point.endswith(("committed", "executed"))),
)

# Pairs that each schedule aims at: all, and those at points that a storm seldom comes to, the rarest most often.
_SELDOM: Final = ("record", "receive", "apply", "ask", "look", "person pause")
RARE: Final = tuple(pair for pair in PAIRS if pair[0].startswith(_SELDOM))
RAREST: Final = tuple(pair for pair in PAIRS if pair[0].startswith("ask ") and pair[0].split()[1] in TRANSACTION)
AIMED: Final = ((PAIRS, 8), (RARE, 10), (RAREST, 10))
# Of each step of a storm; the rest go on undisturbed.
CHANCES: Final[dict[Fault, float]] = {
    Fault.CRASH: 0.035, Fault.PAUSE: 0.03, Fault.FREEZE: 0.006, Fault.RESTART: 0.004, Fault.JUMP: 0.012,
    Fault.STEP: 0.004, Fault.COMMIT_LOST: 0.02, Fault.ANSWER_LOST: 0.03,
}  # fmt: skip
# How often a call that failed begins an outage: so many of the next, from … to, fail in this way; the circuit opens.
Outage = tuple[float, Call, int, int]
OUTAGE: Final[Outage] = (0.25, Call.FAILED_BEFORE, 2, 5)
# Where every seventh step is disturbed, hardly a call comes to its end, and little can happen after it.
FIERCE: Final = (0.2, 0.4, 0.8)
_LAWFUL: Final = frozenset(PAIRS)
_WAYS: Final[dict[str, type[StrEnum]]] = {"call": Call, "fate": Fate, "post": Post, "look": Look, "deed": Deed}
# An ordered retry waits for seconds only: that a word stops just this one is too rare here; tests/receipts
# (test_heard_of, test_given_up) and tests/delivery play it.
_RARE_DEEDS: Final = frozenset({Deed.CONTRADICTED})
WANTED: Final = (
    *(f"{point} × {fault}" for point, fault in PAIRS if (point, fault) not in RAREST),
    *(f"{name} × {way}" for name, ways in _WAYS.items() for way in ways if way not in _RARE_DEEDS),
)
W = TypeVar("W", bound=StrEnum)


@dataclass(slots=True)
class Coverage:
    """How often each point was met by each fault, and each way of a call taken."""

    schedules: int = 0
    steps: int = 0
    taken: Counter[str] = field(default_factory=Counter)
    points: Counter[str] = field(default_factory=Counter)
    # Notifications of which nobody knew whether they were out, and how many of these ended without a person.
    doubts: Counter[str] = field(default_factory=Counter)

    def add(self, other: Coverage) -> None:
        """Add another's counts."""
        self.schedules += other.schedules
        self.steps += other.steps
        self.taken.update(other.taken)
        self.points.update(other.points)
        self.doubts.update(other.doubts)

    def missing(self) -> list[str]:
        """Give the pairs and the calls that never happened."""
        # Few schedules come to the rarest transaction at all: there each fault is wanted at one of its points.
        met = {fault for point, fault in RAREST if self.taken[f"{point} × {fault}"]}
        rare = [fault for fault in ANYWHERE if fault not in met]
        return [name for name in WANTED if not self.taken[name]] + [f"{RAREST[0][0]} … × {fault}" for fault in rare]

    def of(self, fault: str) -> int:
        """Give how often a fault was taken, wherever it was."""
        return sum(count for name, count in self.taken.items() if name.endswith(f"× {fault}"))


@dataclass(slots=True)
class Plan:
    """The faults of one schedule: some are aimed at a point, by turns of the seed; the others come by chance."""

    rng: Random
    seed: int
    coverage: Coverage
    calls: Mapping[Call, int]
    looks: Mapping[Look, int]
    chances: Mapping[Fault, float]
    outage: Outage
    is_steady: bool  # the database's clock is never stepped: worlds are judged by its times
    calm: bool = False
    fierce: float = 1.0
    _outage: int = 0
    _aimed: list[tuple[str, Fault, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fierce = self.rng.choice(FIERCE)
        # Some pairs a schedule, each met before its first or second occurrence.
        for pairs, count in AIMED:
            spread = sorted(pairs, key=lambda pair: pair[1])  # else all of a schedule would meet at one point
            for place in range(count * self.seed, count * (self.seed + 1)):
                point, fault = spread[place % len(spread)]
                if not self._is_possible(fault):
                    continue
                self._aimed.append((point, fault, self.rng.randrange(2)))

    def _is_possible(self, fault: Fault) -> bool:
        return fault is not Fault.STEP or not self.is_steady

    def at(self, point: str) -> Fault | None:
        """Give what happens to the one who stands at `point` and is about to go on."""
        self.coverage.points[point] += 1
        fault = None if self.calm else self._drawn(point)
        if fault is not None:
            self.coverage.taken[f"{point} × {fault}"] += 1
        return fault

    def call(self) -> Call:
        """Give what becomes of the next call."""
        if self._outage and not self.calm:
            self._outage, way = self._outage - 1, self.outage[1]
            self.coverage.taken[f"call × {way}"] += 1
            return way
        way = self._way("call", self.calls)
        chance, _, least, most = self.outage
        if way in (Call.REFUSED, Call.FAILED_BEFORE, Call.LOST_REQUEST) and self.rng.random() < chance:
            self._outage = self.rng.randint(least, most)
        return way

    def fate(self) -> Fate:
        """Give what becomes of a message that was just accepted: recipients have their own weather."""
        return self._way("fate", FATES, always=True)

    def post(self) -> Post:
        """Give what becomes of an event on its way."""
        return self._way("post", POSTS)

    def look(self) -> Look:
        """Give what becomes of the next reading call."""
        return self._way("look", self.looks)

    def _way(self, name: str, weights: Mapping[W, int], *, always: bool = False) -> W:
        ways = list(weights)  # the first is how it goes in calm weather
        way = ways[0] if self.calm and not always else self.rng.choices(ways, list(weights.values()))[0]
        self.coverage.taken[f"{name} × {way}"] += 1
        return way

    def _drawn(self, point: str) -> Fault | None:
        for place, (aimed_at, fault, occurrence) in enumerate(self._aimed):
            if aimed_at == point:
                self._aimed[place] = (point, fault, occurrence - 1)
                if occurrence == 0:
                    return fault
        # Around the call faults come more often: there they could cost a message, or make two.
        number = self.rng.random() / (self.fierce * (2.0 if point.startswith("send") else 1.0))
        for fault, chance in self.chances.items():
            number -= chance
            if number < 0:
                return fault if (point, fault) in _LAWFUL and self._is_possible(fault) else None
        return None
