"""The watchdog: it queues what is missing, once, however many of its minutes went by."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core import signing
from django.utils import timezone
from django_q.brokers import get_broker
from django_q.models import OrmQ, Schedule
from django_q.scheduler import scheduler

from notifications import chores, looping, readiness
from notifications.delivery import slots
from tests.delivery.workplace import Workplace, connected

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.role("worker")]


def queued() -> list[tuple[Any, Any]]:
    return sorted((one.task["func"], tuple(one.task["args"])) for one in OrmQ.objects.all())


ALL = [
    *(("notifications.tasks.deliver", (number,)) for number in range(settings.NOTIFYOPS_LOOPS)),
    ("notifications.tasks.tend", ()),
]


def test_every_missing_loop_is_queued_once_however_often_the_watchdog_looks(place: Workplace) -> None:
    """H-SCH-2."""
    for _ in range(5):
        looping.watch()
    assert queued() == sorted(ALL)


def test_three_hours_of_missed_minutes_are_one_tick(place: Workplace) -> None:
    """H-SCH-2: the schedule's own catch-up is off, so that a stopped cluster does not run its past."""
    readiness.ensure_schedule()
    readiness.ensure_schedule()
    Schedule.objects.update(next_run=timezone.now() - timedelta(hours=3))
    for _ in range(3):
        scheduler(broker=get_broker())
    assert [name for name, _ in queued()] == ["notifications.tasks.watch"]
    assert Schedule.objects.get().next_run > timezone.now()


def test_a_held_slot_is_not_queued(place: Workplace) -> None:
    with psycopg.connect(place.dsn(), autocommit=True) as holder:
        holder.execute("SELECT pg_try_advisory_lock(%s, 0)", (slots.LOOPS,))
        holder.execute("SELECT pg_try_advisory_lock(%s, 0)", (slots.CHORES,))
        looping.watch()
    assert queued() == sorted(ALL)[1:-1]


def test_nothing_is_queued_while_every_slot_is_held(place: Workplace) -> None:
    with psycopg.connect(place.dsn(), autocommit=True) as holder:
        for number in range(settings.NOTIFYOPS_LOOPS):
            holder.execute("SELECT pg_try_advisory_lock(%s, %s)", (slots.LOOPS, number))
        holder.execute("SELECT pg_try_advisory_lock(%s, 0)", (slots.CHORES,))
        assert looping.watch() == "nothing missing"
    assert queued() == []


def test_a_task_that_was_just_fetched_is_on_its_way(place: Workplace) -> None:
    looping.watch()
    OrmQ.objects.update(lock=timezone.now() + timedelta(seconds=settings.Q_CLUSTER["retry"]))
    looping.watch()
    assert queued() == sorted(ALL)


def test_a_task_that_a_dead_worker_had_fetched_does_not_keep_its_slot_empty(place: Workplace) -> None:
    """The queue would give it out again only after minutes."""
    looping.watch()
    OrmQ.objects.update(lock=timezone.now() + timedelta(seconds=settings.Q_CLUSTER["retry"] - 30))
    looping.watch()
    assert queued() == sorted(ALL + ALL)


def test_a_task_that_cannot_be_read_does_not_stop_the_watchdog(place: Workplace) -> None:
    """The site's secret key was changed: the queue drops what the old one signed."""
    unreadable = signing.dumps({"func": "notifications.tasks.deliver"}, key="another-key")
    OrmQ.objects.create(key="notifyops", payload=unreadable, lock=timezone.now())
    assert looping.watch() == f"queued {len(ALL)}"


def test_a_chore_that_fails_keeps_no_other_from_its_turn(place: Workplace) -> None:
    async def broken(connection: psycopg.AsyncConnection[Any]) -> None:
        raise ValueError("boom")

    async def scene() -> None:
        async with await connected(place.dsn()) as connection:
            await chores._do(chores.Duty("broken", 1.0, broken), connection)
            for duty in chores.DUTIES:
                await chores._do(duty, connection)

    place.sql(
        "INSERT INTO notifyops_private.notifications_workerbeat (worker, host, role, slot, started_at, beat_at) "
        "SELECT 'w' || n, 'host', 'loop', 0, now() - n * interval '20 h', now() - n * interval '20 h' "
        "FROM generate_series(0, 2) AS n",
    )
    asyncio.run(scene())
    assert place.sql("SELECT count(*) FROM notifyops_private.notifications_workerbeat") == [(2,)]


def test_a_successor_of_a_larger_installation_ends_and_queues_none_of_its_own(place: Workplace) -> None:
    assert looping.deliver(settings.NOTIFYOPS_LOOPS) == "not wanted"
    assert queued() == []
