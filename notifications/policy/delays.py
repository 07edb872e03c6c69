"""How long to wait: the ladder with its jitter, a provider's wish made usable, and never past a window."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from random import Random

DEFAULT_DELAY_S = 60.0  # where a type's ladder is empty and yet another attempt is allowed
JITTER = 0.2  # share by which ladder delays vary, so that a burst does not come back as a burst
CLAIM_ROOM_S = 5.0  # a repeat is due at least this long before the window closes, so that its claim finds it open


def ladder_delay(delays_s: Sequence[float], failure_count: int, rng: Random) -> float:
    """Give the step for the next failure with jitter; beyond the ladder's end the last step repeats."""
    step_s = delays_s[min(max(failure_count, 0), len(delays_s) - 1)] if delays_s else DEFAULT_DELAY_S
    return max(step_s, 0.0) * rng.uniform(1 - JITTER, 1 + JITTER)


def spread_later(wait_s: float, rng: Random) -> float:
    """Give a wait with jitter that is never shorter than asked."""
    return wait_s * (1 + JITTER * rng.random())


def usable(seconds: float | None) -> float:
    """Give a provider's number where it is one to act on, else 0."""
    return seconds if seconds is not None and isfinite(seconds) and seconds > 0 else 0.0


def inside_window(delay_s: float, left_s: float | None) -> float:
    """Shorten a delay so that the repeat is due while the window is open; None or a closed window shortens nothing."""
    if left_s is None or left_s <= 0:
        return delay_s
    return min(delay_s, left_s - min(CLAIM_ROOM_S, left_s / 2))
