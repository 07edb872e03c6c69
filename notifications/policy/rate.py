"""What a provider's own headers say about how fast it may be called.

Source: IETF draft-ietf-httpapi-ratelimit-headers-06, sections 3 and 5; resend.com/docs/api-reference/rate-limit.
"""

from __future__ import annotations

from collections.abc import Mapping

# Where no policy names the window: Resend's limits are those of a second.
DEFAULT_WINDOW_S = 1
# A limit of a longer window is a quota, which other rules keep.
LONGEST_WINDOW_S = 60
HIGHEST_PER_S = 10_000.0


def stated_rate(limits: Mapping[str, int]) -> float | None:
    """Give the calls a second that the headers allow; None where they say nothing to act on."""
    limit = limits.get("ratelimit-limit", 0)
    window_s = limits.get("ratelimit-window", DEFAULT_WINDOW_S)
    if limit < 1 or not 1 <= window_s <= LONGEST_WINDOW_S:
        return None
    return min(limit / window_s, HIGHEST_PER_S)


def left(limits: Mapping[str, int]) -> int | None:
    """Give how many calls are left in the window, where that is less than a quarter; else there is no hurry."""
    limit, remaining = limits.get("ratelimit-limit", 0), limits.get("ratelimit-remaining")
    if stated_rate(limits) is None or remaining is None or 4 * remaining >= limit:
        return None
    return max(0, remaining)
