"""Hundreds of refusals a test: their lines and traces would take longer than the requests."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.delivery.conftest import one_sandbox, place, sandbox

__all__ = ["one_sandbox", "place", "sandbox"]


@pytest.fixture
def quiet() -> Iterator[None]:
    """Log nothing."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
