"""The API's tests begin with nothing drawn of any limit."""

from __future__ import annotations

import pytest

from tests.delivery.conftest import one_sandbox, place, sandbox

__all__ = ["one_sandbox", "place", "sandbox"]


@pytest.fixture(autouse=True)
def nothing_drawn() -> None:
    """Forget what this process held of tokens of tests before: their numbers may come again."""
    from notifications.api import limits

    limits.forget()
