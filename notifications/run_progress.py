"""How far the step is that runs now: told beside its transaction, so that a long step is seen before it commits."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, Final

from django.db import DatabaseError, InterfaceError, connection

# Often enough for a bar that moves, and nothing beside the work itself.
EVERY_S: Final = 1.0
_TELL: Final = """
UPDATE notifyops_private.notifications_run
SET step_done_count = %s, beat_at = clock_timestamp() WHERE id = %s AND epoch = %s AND state = 'running'
"""


class Progress:
    """Writes a count to one start of a run, on a connection of its own that commits each time.

    It never fails the work: where it cannot be written, the page shows an older count.
    """

    def __init__(self, run: int, epoch: int, *, every_s: float = EVERY_S) -> None:
        self._run, self._epoch, self._every_s = run, epoch, every_s
        self._next_at = 0.0
        self._line: Any = None

    def tell(self, count: int) -> None:
        """Say how many items the step has done so far, unless that was said a moment ago."""
        if time.monotonic() < self._next_at:
            return
        self._next_at = time.monotonic() + self._every_s
        try:
            if self._line is None:
                self._line = connection.copy()
                with self._line.cursor() as cursor:
                    # The step waits for this: whoever holds the row longer makes it miss one count, and no more.
                    cursor.execute("SET lock_timeout = '500ms'")
            with self._line.cursor() as cursor:
                cursor.execute(_TELL, [count, self._run, self._epoch])
        except (DatabaseError, InterfaceError):
            self.close()

    def close(self) -> None:
        """Give the connection back."""
        if self._line is not None:
            with suppress(DatabaseError, InterfaceError):
                self._line.close()
            self._line = None
