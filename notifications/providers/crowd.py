"""How many calls one endpoint may hold open: a slow one must not take all the places that the others need."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

# A call that lasts longer makes its endpoint a slow one; a receiver should only store what it gets, and answer.
SLOW_S: Final = 1.0
# So many places a slow endpoint may hold at once, an eighth of a loop's usual 32.
MOST: Final = 4
# Names whose slowness is remembered; what is forgotten is found out again by at most one loop's calls.
REMEMBERED: Final = 10_000


@dataclass(slots=True)
class _Place:
    """Its calls in flight, by when each began, and whether its last one that ended was slow."""

    began: list[float] = field(default_factory=list)
    is_slow: bool = False


class Crowd:
    """Counts the calls in flight under each name: an endpoint, or a host.

    What is slow gets `most` places. What is quick is never held back, however many messages it gets.
    """

    def __init__(self, monotonic: Callable[[], float], most: int = MOST) -> None:
        self._monotonic = monotonic
        self._most = most
        self._known: OrderedDict[str, _Place] = OrderedDict()

    def is_full(self, name: str) -> bool:
        """Say whether it is slow and holds all the places that it may."""
        place = self._known.get(name)
        if place is None or len(place.began) < self._most:
            return False
        late = self._monotonic() - SLOW_S
        return place.is_slow or sum(began <= late for began in place.began) >= self._most

    @contextmanager
    def one_more(self, name: str) -> Iterator[None]:
        """Hold one place for the time of a call, and note how long that took."""
        place = self._known.setdefault(name, _Place())
        self._known.move_to_end(name)
        began = self._monotonic()
        place.began.append(began)
        try:
            yield
        finally:
            place.began.remove(began)
            place.is_slow = self._monotonic() - began > SLOW_S
            if not (place.began or place.is_slow):
                self._known.pop(name, None)
            self._forget()

    def _forget(self) -> None:
        """Let those go that were called the longest time ago; never one that is being called."""
        while len(self._known) > REMEMBERED and not next(iter(self._known.values())).began:
            self._known.popitem(last=False)
