"""How a cluster stops: what is under way is finished and recorded, and nothing hangs whoever gets which signal."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Callable

import pytest

from tests.cluster.machine import Cluster, Field, eventually

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

REPORTS = [f"stop-{n}" for n in range(16)]
SLOW = {"NOTIFYOPS_PROVIDER_TIMEOUT_S": "12", "NOTIFYOPS_LEASE_S": "16"}


def nervous(cluster: Cluster) -> None:
    """SIGTERM to the parent alone, and again because it takes so long."""
    os.kill(cluster.parent, signal.SIGTERM)
    time.sleep(0.3)
    os.kill(cluster.parent, signal.SIGTERM)


def control_c(cluster: Cluster) -> None:
    """What a terminal does: SIGINT to every process of the group."""
    os.killpg(cluster.parent, signal.SIGINT)


def group(cluster: Cluster) -> None:
    """What systemd's default KillMode and GNU timeout do."""
    os.killpg(cluster.parent, signal.SIGTERM)


@pytest.mark.parametrize("tell", [nervous, control_c])
def test_a_stop_finishes_and_records_the_calls_under_way(field: Field, tell: Callable[[Cluster], None]) -> None:
    cluster = field.start(**SLOW)
    keys = field.in_flight(REPORTS, seconds=2)
    cluster.remember()
    tell(cluster)
    assert cluster.ended(60) == 0
    assert field.settled(len(keys))
    assert [field.sandbox.ledger(key).http_requests for key in keys] == [1] * len(keys)
    said = [json.loads(line)["message"] for line in cluster.printed().splitlines() if '"cluster_' in line]
    starts = r"qcluster of site \S+ \(mode \w+\) starts on \S+ as process \d+, for \d+ loops in all; SIGTERM ends it"
    assert re.fullmatch(starts, said[0])
    assert said[-1] == "qcluster has ended: nothing is in flight here"


def test_a_stop_claims_no_more(field: Field) -> None:
    cluster = field.start(**SLOW)
    field.in_flight(["first"], seconds=2)
    cluster.remember()
    cluster.process.terminate()
    time.sleep(0.5)
    (late,) = field.owe("late")
    assert cluster.ended(60) == 0
    assert field.intent(late)["status"] == "pending"


def test_sigterm_to_the_whole_group_never_hangs_and_the_keys_settle_what_it_cut(field: Field) -> None:
    cluster = field.start(**SLOW)
    keys = field.in_flight(REPORTS, seconds=2)
    cluster.remember()
    group(cluster)
    assert cluster.ended(60) in (0, 70)
    field.start()
    eventually(lambda: field.settled(len(keys)), 90)
    field.nothing_lost_nothing_doubled(keys)


def test_a_stop_during_the_start_ends_the_start(field: Field) -> None:
    cluster = field.spawn()
    eventually(lambda: len(cluster.living()) > 2, 60, every_s=0.005)
    assert cluster.stop() == 0


def test_a_call_that_outlasts_the_grace_does_not_keep_the_cluster(field: Field) -> None:
    cluster = field.start()
    # The worker is stopped, so its loop can neither end the call nor hear of the stop.
    (key,) = field.in_flight(["frozen"], seconds=1.5)
    cluster.remember()
    os.kill(field.caller(key, 1), signal.SIGSTOP)
    cluster.process.terminate()
    # The provider's deadline of 2 s, and 15 s.
    assert cluster.ended(60) == 75
