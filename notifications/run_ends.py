"""How a run ends badly: a state and a code of the product, no name of a class; docs/write-a-run.md lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db import DatabaseError, InterfaceError

STOPPED_BY_HAND: Final = "stopped_by_hand"
# What a run did not name itself by GaveUp; the log says which error it was.
DATABASE_FAILED, HOST_FAILED, INTERNAL_ERROR = "database_failed", "host_failed", "internal_error"


@dataclass(frozen=True, slots=True)
class Failed:
    """An item that could not be done: its place in the work, and a code without any content."""

    place: int
    code: str


class GaveUp(Exception):
    """The work itself ends its run as failed; the text is the code. Nothing of the step that raised it is done.

    `failed` are the items for whose sake: they stay with the run until the work is started again.
    """

    def __init__(self, code: str, failed: Sequence[Failed] = ()) -> None:
        super().__init__(code)
        self.failed = failed


def ending(error: BaseException) -> tuple[str, str]:
    """Give the state and the code of a run that ended with this error."""
    if isinstance(error, KeyboardInterrupt | SystemExit):
        return "interrupted", STOPPED_BY_HAND
    if isinstance(error, GaveUp):
        return "failed", str(error)
    if isinstance(error, DatabaseError | InterfaceError):
        return "failed", DATABASE_FAILED
    return "failed", HOST_FAILED if isinstance(error, OSError | MemoryError) else INTERNAL_ERROR
