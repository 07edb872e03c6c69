"""For a host project's tests: `pytest_plugins = ["notifications.pytest_plugin"]` gives the fixture `outbox_box`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from notifications import outbox
from notifications.outbox_captured import Box


@pytest.fixture
def outbox_box(db: None) -> Iterator[Box]:
    """Give what the code under test owes: `assert [one.to for one in outbox_box] == ["ana@example.com"]`."""
    with outbox.captured() as box:
        yield box
