"""Two real clusters outlive a provider that is away: no message is burned, and each goes out once."""

from __future__ import annotations

import time

import pytest

from tests.cluster.machine import Field, eventually

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
WAITING = 200
_BURNED = "SELECT max(failure_count), count(*) FILTER (WHERE status = 'needs_review') FROM notifyops.intents"
_OPEN = "SELECT count(*) FROM notifyops_private.notifications_circuit WHERE reason = 'outage'"


def test_an_outage_of_both_clusters_provider_burns_nothing_and_all_goes_out_afterwards(field: Field) -> None:
    """H-OPS-2, with processes: the breaker, its probes and the recovery are shared by all hosts."""
    field.sandbox.fault(kind="status", status=503, name="service_unavailable", times=None)
    numbers = {"NOTIFYOPS_BREAKER_COOLDOWN_S": "0.5", "NOTIFYOPS_CONCURRENCY": "8"}
    field.start(**numbers)
    second = field.spawn(numbers)
    eventually(second.is_whole, 90, every_s=0.2)
    keys = field.owe(*(f"demo-{number:03d}" for number in range(WAITING)))
    eventually(lambda: field.owner.execute(_OPEN).fetchone() == (1,), 60)
    time.sleep(4)
    asked = int(field.sandbox.order("GET", "ledger")["http_requests"])
    # What was under way when it opened, and a probe now and then.
    assert asked <= 2 * (8 + 1) + 12
    field.sandbox.order("DELETE", "faults")
    eventually(lambda: field.settled(WAITING), 120)
    field.nothing_lost_nothing_doubled(keys)
    assert field.owner.execute(_BURNED).fetchone() == (1, 0)
