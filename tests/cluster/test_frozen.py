"""Hosts that stand still, and hosts whose clock is put on and back: both may come too late, and neither does harm."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from notifyops import children
from tests.cluster.machine import QUICK, ROOT, STARTS_WITHIN_S, Field, eventually
from tests.cluster.test_two_clusters import faketime

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_a_worker_that_was_frozen_between_claim_and_call_makes_no_call(field: Field) -> None:
    """SIGSTOP after the claim, SIGCONT when another worker has long delivered: the check at the write says no."""
    (key,) = field.owe("frozen-before")
    frozen = subprocess.Popen(
        [sys.executable, "-m", "tests.cluster.frozen"],
        cwd=ROOT,
        env={**field.env, **QUICK},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        eventually(lambda: children.parent_and_state(frozen.pid)[1] == "T", STARTS_WITHIN_S)
        assert [entry["kind"] for entry in field.log(key)] == ["claimed"]
        field.start()
        eventually(partial(field.all_accepted, [key]), 60)
        os.kill(frozen.pid, signal.SIGCONT)
        said, _ = frozen.communicate(timeout=60)
    finally:
        frozen.kill()
    assert (frozen.returncode, said.split()) == (0, ["not_sent.lease_over"])
    assert [entry["kind"] for entry in field.log(key)] == ["claimed", "lease_lost", "claimed", "result", "late"]
    ledger = field.sandbox.ledger(key)
    assert (ledger.accepted, ledger.http_requests) == (1, 1)


def test_a_hosts_clock_that_is_put_on_or_back_makes_no_call_early_late_or_twice(field: Field, tmp_path: Path) -> None:
    """An hour on while calls run, a day back while a retry waits: the database's clock and the boot clock count."""
    clock = tmp_path / "clock"
    clock.write_text("+0s")
    stepping = {
        "LD_PRELOAD": faketime(),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    patient = {"NOTIFYOPS_PROVIDER_TIMEOUT_S": "30", "NOTIFYOPS_LEASE_S": "90", "NOTIFYOPS_RETRY_DELAYS_S": "3,3"}
    cluster = field.spawn({**stepping, **patient})
    eventually(cluster.is_whole, STARTS_WITHIN_S, every_s=0.2)
    eventually(lambda: len(field.beats("loop")) == 2, STARTS_WITHIN_S)
    keys = field.in_flight([f"on-{n}" for n in range(10)], seconds=1.5)
    clock.write_text("+3600s")
    eventually(partial(field.all_accepted, keys), 60)

    field.sandbox.fault(stage="before_accept", kind="status", status=503, match="back$", times=1)
    (retried,) = field.owe("back")
    eventually(lambda: field.intent(retried)["status"] == "retry", 60)
    clock.write_text("-86400s")
    eventually(partial(field.all_accepted, [retried]), 60)
    more = field.owe(*(f"after-{n}" for n in range(10)))
    eventually(partial(field.all_accepted, more), 60)
    assert [field.sandbox.ledger(key).http_requests for key in (*keys, *more, retried)] == [1] * 20 + [2]
    first, second = field.sandbox.requests(retried)
    assert second["at_s"] - first["at_s"] > 2
    assert cluster.process.poll() is None
