"""The leases that a loop holds: how many more it may claim, which may start now, and what each lane uses."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence

from notifications.delivery.lease import Lease
from notifications.delivery.shop import Rules

# Calls shorter than this, by the running mean of this weight, allow leases to wait for a place: no wait is longer.
QUICK_S = 0.25
WEIGHT = 0.1
# The most that wait in memory: a crash leaves this many more calls that nobody can vouch for. Larger claims cost less
# for each: from 96 to 192 the CPU of a delivery fell by a tenth.
AHEAD_COUNT = 192


class Stock:
    """Leases in memory, oldest first, and the calls under way by lane.

    Where calls are slow no lease waits: another host could be sending it.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._waiting: deque[Lease] = deque()
        self._busy: Counter[int] = Counter()  # calls under way, by lane
        self._held: Counter[int] = Counter()  # with what waits
        self._mean_s = 2 * QUICK_S  # slow until shown to be quick

    @property
    def is_ample(self) -> bool:
        """Whether more than half of what may wait is there: larger claims cost less for each."""
        return 2 * len(self._waiting) > self._ahead()

    def room(self) -> tuple[int, list[int]]:
        """Give how many to claim, and the lanes that may have no more.

        A lane may use the loop but for the reserve, and where calls are quick hold some more in memory.
        """
        rules = self._rules
        most = rules.concurrency + self._ahead()
        full = [lane for lane, count in self._held.items() if count >= most]
        fullest = max((count for lane, count in self._held.items() if count < most), default=0)
        return min(most + rules.reserve - self._held.total(), most - fullest), full

    def take(self, leases: Sequence[Lease]) -> None:
        """Take what was claimed."""
        for lease in leases:
            self._held[lease.lane_key] += 1
        self._waiting.extend(leases)

    def to_start(self, running: int) -> Iterator[Lease]:
        """Give leases while there are free places, in order, but past those whose lane uses all that it may."""
        rules = self._rules
        passed: list[Lease] = []
        while self._waiting and running < rules.concurrency + rules.reserve:
            lease = self._waiting.popleft()
            if self._busy[lease.lane_key] >= rules.concurrency:
                passed.append(lease)
                continue
            self._busy[lease.lane_key] += 1
            running += 1
            yield lease
        self._waiting.extendleft(reversed(passed))

    def took(self, seconds: float, *, is_typical: bool = True) -> None:
        """Count one call's time into the mean.

        Where each address is a service of its own, a slow one tells little of the next call, and its adapter holds it
        back: it counts as one that is slow, not by how slow it is.
        """
        self._mean_s += WEIGHT * ((seconds if is_typical else min(seconds, 2 * QUICK_S)) - self._mean_s)

    def ended(self, lease: Lease) -> None:
        """Free the place of a call, however it ended."""
        for counter in (self._busy, self._held):
            counter[lease.lane_key] -= 1
            if not counter[lease.lane_key]:
                del counter[lease.lane_key]

    def rest(self) -> Iterator[Lease]:
        """Give the leases that wait, to be given back; none waits afterwards."""
        while self._waiting:
            yield self._waiting.popleft()

    def _ahead(self) -> int:
        """Give how many may wait in memory: what is sent within QUICK_S, so that none waits longer."""
        if self._mean_s >= QUICK_S:
            return 0
        return min(AHEAD_COUNT, int(self._rules.concurrency * QUICK_S / max(self._mean_s, 0.001)))
