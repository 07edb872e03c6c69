"""What the claim asks after a restore concerns what is older than the recovery, and nothing else."""

from __future__ import annotations

import pytest

from notifications.states import Found
from tests.delivery.asking import says
from tests.delivery.recovering import opened, recovered
from tests.delivery.workplace import Workplace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
_WHY = "SELECT id, why FROM notifyops_private.unclaimable_v1(%s::bigint[])"


def test_a_database_that_was_never_restored_bars_nothing(place: Workplace) -> None:
    assert place.sql(_WHY, [place.enqueue()]) == []


def test_all_is_barred_while_a_recovery_is_open_and_afterwards_only_what_is_older_is_looked_at(
    place: Workplace,
) -> None:
    old = place.enqueue("demo-001")
    opened(place)
    new = place.enqueue("demo-002")
    assert sorted(place.sql(_WHY, [old, new])) == [(old, "recovering"), (new, "recovering")]
    place.sql("UPDATE notifyops_private.notifications_recovery SET finished_at = notifyops_private.clock_v1()")
    assert place.sql(_WHY, [old, new]) == [(old, None)]


def test_what_is_owed_since_goes_out_at_once(place: Workplace) -> None:
    place.enqueue("demo-001")
    recovered(place, says(Found.INCONCLUSIVE, code="lookup.page_cap"))
    place.enqueue("demo-002")
    (sent,) = place.turn()
    assert sent.lease.notification_id == "report-ready/demo-002"
