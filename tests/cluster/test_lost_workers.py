"""Workers that die in the middle of a call: the key and the frozen bytes make the second attempt safe."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from functools import partial

import pytest

from tests.cluster.machine import Cluster, Field, eventually

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

# The lease of 5 s, a restart, and the rounds of a shared machine.
TAKEN_OVER_WITHIN_S = 25.0


def booked(field: Field, report: str) -> str:
    """Owe one; give its key as soon as the provider has booked it, its answer still to come."""
    field.sandbox.fault(stage="after_accept", kind="delay", seconds=1.8, match=f"{report}$", times=1)
    (key,) = field.owe(report)
    eventually(lambda: field.sandbox.ledger(key).accepted, 60, every_s=0.005)
    return key


def settled_by_its_key(field: Field, key: str) -> None:
    eventually(lambda: field.intent(key)["status"] == "accepted", TAKEN_OVER_WITHIN_S)
    row = field.sandbox.ledger(key)
    assert (row.accepted, row.http_requests) == (1, 2)
    assert len({request["body_sha256"] for request in field.sandbox.requests(key)}) == 1
    first, second = field.attempts(key)
    assert (first["ended_by"], first["outcome"]) == ("lease_lost", "unknown")
    assert (second["ended_by"], second["outcome"]) == ("result", "accepted")
    assert field.intent(key)["provider_message_id"] == second["provider_message_id"] == row.ids[0]
    assert first["worker"] != second["worker"]


def test_a_worker_that_dies_when_the_provider_has_booked_is_taken_over(field: Field) -> None:
    """H-DUP-1, the child."""
    cluster = field.start()
    key = booked(field, "dup-1-child")
    cluster.hit(field.caller(key, 1))
    settled_by_its_key(field, key)
    assert cluster.process.poll() is None


def test_a_group_that_dies_when_the_provider_has_booked_is_taken_over_by_the_next_start(field: Field) -> None:
    """H-DUP-1, the whole group."""
    cluster = field.start()
    key = booked(field, "dup-1-group")
    cluster.remember()
    os.killpg(cluster.parent, signal.SIGKILL)
    assert cluster.ended() == -signal.SIGKILL
    field.start()
    settled_by_its_key(field, key)


def test_a_restarted_container_with_the_same_host_and_pids_does_not_keep_its_old_leases(field: Field) -> None:
    """H-STK-1: a new pid namespace gives each start the same process numbers, and the host's name stays."""
    first = contained(field)
    key = booked(field, "stk-1")
    caller = field.caller(key, 1)
    first.kill()
    contained(field)
    settled_by_its_key(field, key)
    if namespaces():
        assert field.caller(key, 2) in field.beats("loop")
        assert caller < 100
        assert field.caller(key, 2) < 100


def contained(field: Field) -> Cluster:
    """Start a cluster in a pid namespace of its own, where the machine lets us make one."""
    before = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc") if namespaces() else ()
    known = len(field.beats("loop"))
    cluster = field.spawn(before=before)
    eventually(lambda: len(field.beats("loop")) >= known + 2, 90)
    cluster.remember()
    return cluster


def namespaces() -> bool:
    command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def called(field: Field, key: str, times: int) -> bool:
    return field.sandbox.ledger(key).http_requests == times


def test_a_message_that_kills_each_worker_ends_with_a_person_and_harms_no_other(field: Field) -> None:
    """H-POI-3: the attempt is written before the call, so each death counts."""
    cluster = field.start()
    field.sandbox.fault(stage="before_accept", kind="hang", seconds=30, match="poison$", times=None)
    others = field.owe(*(f"poi-3-{n}" for n in range(10)))
    (poison,) = field.owe("poison")
    for deaths in (1, 2, 3):
        eventually(partial(called, field, poison, deaths), 90)
        time.sleep(0.3)  # whatever was claimed with it is done
        cluster.hit(field.caller(poison, deaths))
    eventually(lambda: field.intent(poison)["status"] == "needs_review", TAKEN_OVER_WITHIN_S)
    stands = field.intent(poison)
    assert (stands["last_error_code"], stands["attempts"], stands["known"]) == ("worker_lost", 3, "unknown")
    eventually(lambda: field.all_accepted(others), TAKEN_OVER_WITHIN_S)
    field.nothing_lost_nothing_doubled(others)
    assert cluster.process.poll() is None


def test_a_worker_that_was_frozen_past_its_lease_can_only_add_a_late_entry(field: Field) -> None:
    cluster = field.start()
    key = booked(field, "frozen")
    caller = field.caller(key, 1)
    os.kill(caller, signal.SIGSTOP)
    settled_by_its_key(field, key)
    os.kill(caller, signal.SIGCONT)
    late = eventually(lambda: [entry for entry in field.log(key) if entry["kind"] == "late"], 60)
    assert [entry["attempt"] for entry in late] == [1]
    assert [entry["kind"] for entry in field.log(key)] == ["claimed", "lease_lost", "claimed", "result", "late"]
    assert field.intent(key)["status"] == "accepted"
    assert field.sandbox.ledger(key).accepted == 1
    assert cluster.stop() == 0
