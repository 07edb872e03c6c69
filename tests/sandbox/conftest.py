"""A sandbox, and a receiver of its webhooks, for every test of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from notifications.sandbox.app import RunningSandbox, running_sandbox
from tests.sandbox.receiver import Receiver, running_receiver


@pytest.fixture
def sandbox() -> Iterator[RunningSandbox]:
    """One without a rate limit, whose deliveries and webhook retries come a thousand times faster."""
    with running_sandbox(delivery_delay_s=0.01, retry_scale=0.001) as running:
        yield running


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as running:
        yield running
