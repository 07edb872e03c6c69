"""The places of open streams: so many in a process, and so many of one person."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable


class Full(Exception):
    """There is no seat: `is_own` where this person has too many streams open, else the whole process has."""

    def __init__(self, most: int, *, is_own: bool) -> None:
        super().__init__(most)
        self.most, self.is_own = most, is_own


class Seat:
    """The place of one open stream; closing it twice is harmless."""

    def __init__(self, leave: Callable[[], None]) -> None:
        self._leave: Callable[[], None] | None = leave

    def __del__(self) -> None:
        # Who leaves while the answer is being made has no stream that could be closed.
        self.close()

    def close(self) -> None:
        """Make the place free."""
        leave, self._leave = self._leave, None
        if leave is not None:
            leave()


class Seats:
    """`most` open at once in all, `most_each` of one person. Safe for threads."""

    def __init__(self, *, most: int, most_each: int) -> None:
        self.most, self.most_each = most, most_each
        # Taken and given back in the threads of requests, and wherever one is collected.
        self._lock = threading.RLock()
        self._taken: Counter[str] = Counter()

    @property
    def count(self) -> int:
        """Give how many are taken."""
        return self._taken.total()

    def take(self, whose: str) -> Seat:
        """Take a place. Raises Full."""
        with self._lock:
            if self._taken.get(whose, 0) >= self.most_each:
                raise Full(self.most_each, is_own=True)
            if self._taken.total() >= self.most:
                raise Full(self.most, is_own=False)
            self._taken[whose] += 1
        return Seat(lambda: self._left(whose))

    def _left(self, whose: str) -> None:
        with self._lock:
            self._taken[whose] -= 1
            if not self._taken[whose]:
                del self._taken[whose]
