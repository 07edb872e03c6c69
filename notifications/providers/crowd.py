"""How many calls one host may hold open: a slow one must not take all the places that the others need."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

# A call that lasts longer makes its host a slow one; a receiver should only store what it gets, and answer.
SLOW_S: Final = 1.0
# So many places a slow host may hold at once, an eighth of a loop's usual 32.
MOST: Final = 4
# Hosts whose slowness is remembered; what is forgotten is found out again by at most one loop's calls.
REMEMBERED: Final = 10_000


@dataclass(slots=True)
class _Host:
    """Its calls in flight, by when each began, and whether its last one that ended was slow."""

    began: list[float] = field(default_factory=list)
    is_slow: bool = False


class Crowd:
    """Counts the calls in flight of each host. A quick host is never held back, however many messages it gets."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    def is_full(self, name: str) -> bool:
        """Say whether the host is slow and holds all the places that it may."""
        host = self._hosts.get(name)
        if host is None or len(host.began) < MOST:
            return False
        late = self._monotonic() - SLOW_S
        return host.is_slow or sum(began <= late for began in host.began) >= MOST

    @contextmanager
    def one_more(self, name: str) -> Iterator[None]:
        """Hold one place of the host for the time of a call, and note how long that took."""
        host = self._hosts.setdefault(name, _Host())
        self._hosts.move_to_end(name)
        began = self._monotonic()
        host.began.append(began)
        try:
            yield
        finally:
            host.began.remove(began)
            host.is_slow = self._monotonic() - began > SLOW_S
            if not (host.began or host.is_slow):
                self._hosts.pop(name, None)
            self._forget()

    def _forget(self) -> None:
        """Let the hosts go that were called the longest time ago; never one that is being called."""
        while len(self._hosts) > REMEMBERED and not next(iter(self._hosts.values())).began:
            self._hosts.popitem(last=False)
