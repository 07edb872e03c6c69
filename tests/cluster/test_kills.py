"""Which process of the cluster may be killed, and what must hold: work resumes, no orphan, an honest exit code."""

from __future__ import annotations

import os
import signal

import pytest

from tests.cluster.machine import Cluster, Field, eventually

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

NO_ORPHAN_WITHIN_S = 2.0
RESUMES_WITHIN_S = 15.0


def hit(cluster: Cluster, pid: int) -> None:
    cluster.remember()
    os.kill(pid, signal.SIGKILL)


def ends(cluster: Cluster, *codes: int) -> None:
    """See the cluster end by itself with one of the codes, and all its processes with it."""
    assert cluster.ended(5) in codes
    eventually(lambda: not cluster.orphans(), NO_ORPHAN_WITHIN_S)


def works(field: Field, name: str) -> None:
    keys = field.owe(f"{name}-1", f"{name}-2")
    eventually(lambda: all(field.intent(key)["status"] == "accepted" for key in keys), RESUMES_WITHIN_S)
    field.nothing_lost_nothing_doubled(keys)


def test_a_killed_busy_worker_is_replaced_and_the_cluster_lives_on(field: Field) -> None:
    cluster = field.start()
    hit(cluster, field.beats("loop")[0])
    works(field, "busy")
    # Both slots are held again, by workers that were there before or are new.
    eventually(lambda: len([pid for pid in field.beats("loop") if pid in running(cluster)]) == 2, RESUMES_WITHIN_S)
    assert cluster.stop() == 0
    assert not cluster.orphans()


def running(cluster: Cluster) -> list[int]:
    cluster.remember()
    return cluster.orphans()


def test_a_killed_idle_worker_ends_the_cluster_which_starts_again(field: Field) -> None:
    cluster = field.start()
    idle = set(cluster.workers) - set(field.beats("loop")) - set(field.beats("chores"))
    # The first of them to be forked waits for the queue while it holds its lock.
    hit(cluster, min(idle))
    ends(cluster, 75)
    field.start()
    works(field, "idle")


def test_a_killed_monitor_ends_the_cluster_which_starts_again(field: Field) -> None:
    cluster = field.start()
    hit(cluster, cluster.monitor)
    ends(cluster, 75)
    field.start()
    works(field, "monitor")


def test_a_killed_pusher_is_replaced_and_the_cluster_lives_on(field: Field) -> None:
    cluster = field.start()
    hit(cluster, cluster.pusher)
    eventually(lambda: len(running(cluster)) == len(cluster.workers) + 4, RESUMES_WITHIN_S)
    # A new task is fetched by the new pusher: only a hand-over queues one, so a loop must end.
    hit(cluster, field.beats("loop")[0])
    works(field, "pusher")
    assert cluster.stop() == 0


def test_a_killed_sentinel_takes_all_its_children_along(field: Field) -> None:
    cluster = field.start()
    hit(cluster, cluster.sentinel)
    ends(cluster, 70)
    field.start()
    works(field, "sentinel")


def test_a_killed_parent_takes_all_its_children_along(field: Field) -> None:
    cluster = field.start()
    hit(cluster, cluster.parent)
    ends(cluster, -signal.SIGKILL)
    field.start()
    works(field, "parent")
