"""Whether everything is all right, in one word: the judgement of the console's first line and of `notify status`."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Overall(StrEnum):
    """How delivery stands, from the worst to the best."""

    STANDS_STILL = "stands_still"
    HELD_UP = "held_up"
    OFF = "off"
    PAUSED = "paused"
    RUNS = "runs"


# A loop beats after each claim, at least every poll; half a minute of silence is the supervisor's limit too.
BEAT_S: Final = 30


def overall(*, workers: int, circuits: int, pauses: int, mode: str, troubled: bool) -> Overall:
    """Give the worst that holds.

    `workers` have beaten within BEAT_S, `circuits` and `pauses` stand now, `mode` is the site's; `troubled`: nothing is
    sent from this database at all.
    """
    if troubled or not workers:
        return Overall.STANDS_STILL
    if circuits:
        return Overall.HELD_UP
    if mode == "off":
        return Overall.OFF
    return Overall.PAUSED if pauses else Overall.RUNS
