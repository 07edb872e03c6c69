"""A cluster that lives and claims nothing is killed; one that works, or cannot work, is left alone."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from notifyops import children, watchdog
from notifyops.watchdog import Watchdog

Connect = Callable[..., psycopg.Connection[Any]]
BEAT = """
    INSERT INTO notifications_workerbeat (worker, host, role, slot, started_at, beat_at)
    VALUES ('w', 'h', 'loop', 0, clock_timestamp(), clock_timestamp() - make_interval(secs => %s))
"""
WORKERS = """
import os, time
os.fork()
print("up", flush=True)
time.sleep(60)
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[children.Child]:
    """Run two processes in the cluster's place."""
    log = tmp_path / "log"
    child = children.Child(
        children.Command("qcluster", (sys.executable, "-c", WORKERS), log, tmp_path, dict(os.environ), grace_s=2)
    )
    child.start()
    end = time.monotonic() + 60
    while log.read_text().count("up") < 2:
        assert time.monotonic() < end
        time.sleep(0.02)
    yield child
    children.stop([child])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("age_s", "expected"), [(0, True), (29, True), (31, False)])
def test_a_beat_counts_for_thirty_seconds(
    as_role: Connect, database_url: Callable[[str], str], age_s: int, expected: bool
) -> None:
    as_role("owner").execute(BEAT, [age_s])
    assert watchdog.has_beat(database_url("worker")) is expected


@pytest.mark.django_db(transaction=True)
def test_no_beat_at_all_is_silence(database_url: Callable[[str], str]) -> None:
    assert watchdog.has_beat(database_url("worker")) is False


def test_a_database_that_does_not_answer_is_not_silence() -> None:
    assert watchdog.has_beat("postgresql://u:p@127.0.0.1:1/x") is None


@pytest.mark.django_db(transaction=True)
def test_a_silent_cluster_is_killed_whole_even_when_it_is_stopped(
    cluster: children.Child, database_url: Callable[[str], str]
) -> None:
    everyone = [cluster.pid, *children.descendants(cluster.pid)]
    assert len(everyone) == 2
    for pid in everyone:
        os.kill(pid, signal.SIGSTOP)
    dog = Watchdog(cluster, database_url("worker"), grace_s=0)
    assert dog.look()
    end = time.monotonic() + 60
    while not all(children.parent_and_state(pid)[1] in ("", "Z", "X") for pid in everyone):
        assert time.monotonic() < end, "a killed process lives on"
        time.sleep(0.02)


@pytest.mark.django_db(transaction=True)
def test_a_cluster_that_beats_or_is_young_is_left_alone(
    cluster: children.Child, as_role: Connect, database_url: Callable[[str], str]
) -> None:
    assert not Watchdog(cluster, database_url("worker")).look()
    as_role("owner").execute(BEAT, [0])
    assert not Watchdog(cluster, database_url("worker"), grace_s=0).look()
    assert not children.has_ended(cluster.pid)


def test_a_cluster_without_a_database_is_left_alone(cluster: children.Child) -> None:
    assert not Watchdog(cluster, "postgresql://u:p@127.0.0.1:1/x", grace_s=0).look()
    assert not children.has_ended(cluster.pid)


@pytest.mark.django_db(transaction=True)
def test_a_cluster_gets_its_grace_again_after_the_database_came_back(
    cluster: children.Child, database_url: Callable[[str], str]
) -> None:
    dog = Watchdog(cluster, "postgresql://u:p@127.0.0.1:1/x", grace_s=5)
    cluster.started_at -= 100
    assert not dog.look()
    dog.url, dog.looked_at = database_url("worker"), 0.0
    assert not dog.look()
    assert dog.reachable_since is not None
    dog.reachable_since, dog.looked_at = dog.reachable_since - 100, 0.0
    assert dog.look()
