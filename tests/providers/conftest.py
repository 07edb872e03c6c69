"""Both event loops, a provider on them, and requests to send."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
import trustme
import uvloop

Runner = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Runner:
    """Run one coroutine to its end on a fresh loop of each kind."""
    factory = asyncio.new_event_loop if request.param == "asyncio" else uvloop.new_event_loop

    def run_on_it(work: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(_bounded(work))

    return run_on_it


async def _bounded(work: Awaitable[Any]) -> Any:
    async with asyncio.timeout(20):
        return await work


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    """A certificate authority that only these tests trust."""
    return trustme.CA()
