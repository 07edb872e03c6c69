"""A token's limit, shared by all hosts: each process draws a twentieth of it at a time and counts that by itself.

The database's row is the only truth, so all hosts together never grant more than the limit in a minute; what a process
drew and did not use is lost with the minute.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field
from typing import Final

from django.db import connection

from notifications.api.problems import Problem
from notifications.models import ApiToken

DRAWS: Final = 20
_DRAW: Final = "SELECT granted, remaining, resets_in_s FROM notifyops_private.draw_v1(%s, %s, %s)"


@dataclass(slots=True)
class Allotment:
    """What one process holds of one token's minute."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    ends_at: float = 0.0
    have: int = 0
    shared: int = 0

    def take(self, token: ApiToken) -> bool:
        """Use one request of the limit; False where this minute's are used up."""
        now = time.monotonic()
        if now >= self.ends_at:
            self.have, self.shared = 0, 1
        if self.have == 0 and self.shared > 0:
            with connection.cursor() as cursor:
                cursor.execute(_DRAW, [token.pk, max(1, token.per_minute // DRAWS), token.per_minute])
                row = cursor.fetchone()
            assert row is not None
            self.have, self.shared, self.ends_at = row[0], row[1], now + row[2]
        if self.have == 0:
            return False
        self.have -= 1
        return True

    def headers(self, limit: int) -> dict[str, str]:
        """Give the draft standard's headers; others may use what they call remaining."""
        return {
            "RateLimit-Limit": str(limit),
            "RateLimit-Remaining": str(self.have + self.shared),
            "RateLimit-Reset": str(max(1, math.ceil(self.ends_at - time.monotonic()))),
        }


_allotments: Final[dict[int, Allotment]] = {}
_guard: Final = threading.Lock()


def take(token: ApiToken) -> dict[str, str]:
    """Use one request of the token's limit; give the answer's headers. Raises Problem with Retry-After."""
    with _guard:
        allotment = _allotments.setdefault(token.pk, Allotment())
    with allotment.lock:
        is_granted = allotment.take(token)
        headers = allotment.headers(token.per_minute)
    if not is_granted:
        wait = {"Retry-After": headers["RateLimit-Reset"]}
        raise Problem(
            "rate_limited", f"The token may make {token.per_minute} requests a minute.", headers=headers | wait
        )
    return headers


def forget() -> None:
    """Drop what this process holds: for tests, which empty the table."""
    _allotments.clear()
