"""The workplace of the delivery's tests, whose account takes events signed with two secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.delivery.conftest import one_sandbox, place, sandbox

if TYPE_CHECKING:
    from tests.delivery.workplace import Workplace
    from tests.receipts.post import Provider

__all__ = ["one_sandbox", "place", "sandbox"]


@pytest.fixture
def provider(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> Provider:
    """Give the provider's side: it signs events with a secret of ours and posts them to our address."""
    from tests.receipts.post import NEW, OLD, Provider

    monkeypatch.setenv("TEST_WEBHOOK_SECRET", NEW)
    monkeypatch.setenv("TEST_OLD_WEBHOOK_SECRET", OLD)
    place.sql(
        "UPDATE notifyops_private.notifications_provideraccount SET webhook_secret_refs = %s WHERE id = %s",
        "env:TEST_WEBHOOK_SECRET,env:TEST_OLD_WEBHOOK_SECRET",
        place.account,
    )
    return Provider(place)
