"""Speak to the person at the terminal: plain lines, flushed, so that a pipe sees them at once."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator


def say(line: str) -> None:
    """Print one line now; a terminal that has gone away is no reason to fail."""
    with contextlib.suppress(BrokenPipeError, OSError):
        print(line, flush=True)


@contextlib.contextmanager
def step(what: str) -> Iterator[None]:
    """Tell that a step begins, and how long it took when it is done."""
    began = time.monotonic()
    say(f"  {what} ...")
    yield
    took = time.monotonic() - began
    if took >= 0.5:
        say(f"  {what}: {took:.1f} s")
