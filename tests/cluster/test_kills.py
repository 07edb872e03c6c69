"""Which process of the cluster may be killed, and what must hold: work resumes, no orphan, an honest exit code."""

from __future__ import annotations

import signal

import pytest

from tests.cluster.machine import WORKERS, Field, eventually

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

RESUMES_WITHIN_S = 15.0


def works(field: Field, name: str) -> None:
    keys = field.owe(f"{name}-1", f"{name}-2")
    eventually(lambda: field.all_accepted(keys), RESUMES_WITHIN_S)
    field.nothing_lost_nothing_doubled(keys)


def test_a_killed_busy_worker_is_replaced_and_the_cluster_lives_on(field: Field) -> None:
    cluster = field.start()
    cluster.hit(field.beats("loop")[0])
    works(field, "busy")
    # Both slots are held again, by workers that were there before or are new.
    eventually(lambda: len([pid for pid in field.beats("loop") if pid in cluster.living()]) == 2, RESUMES_WITHIN_S)
    assert cluster.stop() == 0
    assert not cluster.living()


def test_a_killed_idle_worker_ends_the_cluster_which_starts_again(field: Field) -> None:
    cluster = field.start()
    idle = set(cluster.workers) - set(field.beats("loop")) - set(field.beats("chores"))
    # The first of them to be forked waits for the queue while it holds its lock.
    cluster.hit(min(idle))
    assert cluster.ended() == 75
    field.start()
    works(field, "idle")


def test_a_killed_monitor_ends_the_cluster_which_starts_again(field: Field) -> None:
    cluster = field.start()
    cluster.hit(cluster.monitor)
    assert cluster.ended() == 75
    field.start()
    works(field, "monitor")


def test_a_killed_pusher_is_replaced_and_the_cluster_lives_on(field: Field) -> None:
    cluster = field.start()
    cluster.hit(cluster.pusher)
    eventually(lambda: len(cluster.living()) == WORKERS + 4, RESUMES_WITHIN_S)
    # A new task is fetched by the new pusher: only a hand-over queues one, so a loop must end.
    cluster.hit(field.beats("loop")[0])
    works(field, "pusher")
    assert cluster.stop() == 0


def test_a_killed_sentinel_takes_all_its_children_along(field: Field) -> None:
    cluster = field.start()
    cluster.hit(cluster.sentinel)
    assert cluster.ended() == 70
    field.start()
    works(field, "sentinel")


def test_a_killed_parent_takes_all_its_children_along(field: Field) -> None:
    cluster = field.start()
    cluster.hit(cluster.parent)
    assert cluster.ended() == -signal.SIGKILL
    field.start()
    works(field, "parent")
