"""A workplace for every test of delivery; after each of them the invariants must hold.

Models are imported inside the fixtures: this file may be loaded before Django has its settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from notifications.sandbox.app import RunningSandbox, running_sandbox

if TYPE_CHECKING:
    from tests.delivery.workplace import Workplace


_SOME = "SELECT id FROM notifyops_private.notifications_intent ORDER BY id LIMIT 50"


@pytest.fixture(scope="session")
def one_sandbox() -> Iterator[RunningSandbox]:
    """Run the provider once for all tests; its receipts never come."""
    with running_sandbox(delivery_delay_s=3600.0) as running:
        yield running


@pytest.fixture
def sandbox(one_sandbox: RunningSandbox) -> RunningSandbox:
    """Give the sandbox as new: no mails, no faults, no limits."""
    one_sandbox.reset()
    one_sandbox.configure(rate_per_s=None, daily_quota=None, monthly_quota=None, suspended_keys=[])
    return one_sandbox


@pytest.fixture
def place(transactional_db: None, sandbox: RunningSandbox, database_url: Callable[[str], str]) -> Iterator[Workplace]:
    """Give the workplace; whatever the test did, no invariant of delivery may be broken by it."""
    from notifications import doctor
    from notifications.models import ProviderAccount
    from tests.delivery.workplace import Workplace

    account = ProviderAccount.objects.get(name="resend")
    yield Workplace(sandbox, database_url, account.pk)
    broken, _ = doctor.check_moved(0, limit=20_000)
    assert broken == []
    assert told_of_many() == told_of_each()


def told_of_many() -> list[tuple[int, str | None, str | None]]:
    """Give what is said of some cases that are asked about at once."""
    return _told(f"SELECT * FROM notifyops_private.barred_many_v1(ARRAY({_SOME}), 'sandbox') ORDER BY id")


def told_of_each() -> list[tuple[int, str | None, str | None]]:
    """Give what is said of the same cases one by one."""
    return _told(
        f"SELECT * FROM (SELECT id, notifyops_private.forgotten_v1(id) AS restored, "
        f"notifyops_private.earlier_v1(id, 'sandbox') AS earlier FROM ({_SOME}) i) t "
        "WHERE restored IS NOT NULL OR earlier IS NOT NULL ORDER BY id"
    )


def _told(query: str) -> list[tuple[int, str | None, str | None]]:
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute(query)
        found: list[tuple[int, str | None, str | None]] = cursor.fetchall()
    return found
