"""The roles' rights, in the tests that commit."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def rights(request: pytest.FixtureRequest) -> None:
    """State the rights again: the flush after the test before took them along."""
    mark = request.node.get_closest_marker("django_db")
    if mark is None or not mark.kwargs.get("transaction"):
        return
    request.getfixturevalue("transactional_db")
    from django.db import connections

    from notifications import grants

    grants.apply(connections["owner"])
