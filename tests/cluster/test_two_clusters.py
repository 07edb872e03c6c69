"""Two clusters on one database: slow providers, a flood of ticks, and a host whose clock is wrong."""

from __future__ import annotations

import time
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from notifications import looping
from tests.cluster.machine import STARTS_WITHIN_S, Field, eventually

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

LIBRARY = "faketime/libfaketime.so.1"


def never_open_twice(field: Field, keys: list[str]) -> bool:
    """Tell whether the provider never had two open calls for one key."""
    for key in keys:
        calls = field.sandbox.requests(key)
        if any(call["ended_at_s"] is None or call["ended_at_s"] > later["at_s"] for call, later in pairwise(calls)):
            return False
    return True


def test_a_provider_slower_than_its_deadline_never_makes_two_mails(field: Field) -> None:
    """H-DUP-2: each first call is given up after 2 s and booked after 3; the ladder comes later than that."""
    slow = {"NOTIFYOPS_RETRY_DELAYS_S": "2,2"}
    field.start(**slow)
    field.start(**slow)
    keys = field.in_flight([f"dup-2-{n}" for n in range(20)], seconds=3)
    eventually(lambda: field.settled(20), 90)
    assert never_open_twice(field, keys)
    for key in keys:
        row = field.sandbox.ledger(key)
        assert (row.accepted, row.http_requests, row.replays) == (1, 2, 1)
        assert [attempt["outcome"] for attempt in field.attempts(key)] == ["unknown", "accepted"]


@pytest.mark.role("worker")
def test_a_flood_of_ticks_calls_once_for_each_notification(field: Field) -> None:
    """H-DUP-3: thirty ticks at once for one due notification, and again for two hundred."""
    patient = {"NOTIFYOPS_PROVIDER_TIMEOUT_S": "30", "NOTIFYOPS_LEASE_S": "60"}
    field.start(**patient)
    field.start(**patient)
    for reports in (["dup-3"], [f"dup-3-{n}" for n in range(200)]):
        for number in range(30):
            looping.chain("notifications.tasks.deliver", number % 2)
        keys = field.owe(*reports)
        eventually(partial(field.all_accepted, keys), 90)
    assert field.settled(201)
    assert field.sandbox.order("GET", "ledger")["http_requests"] == 201
    # Ticks that find their slot held end at once; only the tasks that run now stay in the table.
    waiting = "SELECT count(*) FROM notifyops_private.django_q_ormq"
    eventually(lambda: field.owner.execute(waiting).fetchone()[0] <= 3, 60)  # type: ignore[index]


@pytest.mark.parametrize("skew_s", [300, -300])
def test_a_host_with_a_wrong_clock_neither_steals_leases_nor_shifts_due_times(field: Field, skew_s: int) -> None:
    """H-STK-3: leases and due times are judged by the database's clock, whatever a host believes."""
    skewed = {"LD_PRELOAD": faketime(), "FAKETIME": f"{skew_s:+d}s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    # Far from the calls' length, so that a busy machine makes no call late; a lease that ends 300 s early is lost all
    # the same.
    patient = {"NOTIFYOPS_PROVIDER_TIMEOUT_S": "30", "NOTIFYOPS_LEASE_S": "90", "NOTIFYOPS_CONCURRENCY": "10"}
    # One loop for the skewed host; the right one wants two, and so takes the second slot. Twenty calls need both.
    wrong = field.spawn({"NOTIFYOPS_LOOPS": "1", **patient, **skewed})
    eventually(lambda: len(field.beats("loop")) == 1, STARTS_WITHIN_S)
    right = field.spawn(patient)
    eventually(lambda: len(field.beats("loop")) == 2, STARTS_WITHIN_S)
    keys = field.in_flight([f"stk-3-{n}" for n in range(20)], seconds=1.5)
    eventually(lambda: field.settled(20), 90)
    assert never_open_twice(field, keys)
    assert [field.sandbox.ledger(key).http_requests for key in keys] == [1] * 20
    callers = {field.caller(key, 1) for key in keys}
    assert len(callers) == 2, "one of the hosts made no call"

    field.sandbox.fault(stage="before_accept", kind="status", status=503, match="due$", times=1)
    began = time.monotonic()
    (key,) = field.owe("due")
    eventually(lambda: field.intent(key)["status"] == "accepted", 60)
    assert time.monotonic() - began < 60
    first, second = field.sandbox.requests(key)
    assert 0.1 < second["at_s"] - first["at_s"] < 60
    assert (wrong.process.poll(), right.process.poll()) == (None, None)


def faketime() -> str:
    """Give the library that shifts a process's clock; `make test` installs it."""
    found = [str(path) for path in Path("/usr/lib").glob(f"*/{LIBRARY}")] or [
        str(path) for path in (Path("/usr/lib", LIBRARY), Path("/usr/lib64", LIBRARY)) if path.exists()
    ]
    assert found, "libfaketime is missing: install it (Debian: apt-get install libfaketime), then run this test again"
    return found[0]
