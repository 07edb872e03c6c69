"""django-q2's tables are a nudge and no truth: locked, gone, behind, or doubled, deliveries go on."""

from __future__ import annotations

import threading
from datetime import timedelta

import psycopg
import pytest
from django.db import connections
from django.utils import timezone
from django_q.brokers import get_broker
from django_q.models import OrmQ, Schedule
from django_q.scheduler import scheduler

from notifications import readiness
from tests.cluster.machine import Field, eventually

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

TABLES = ("django_q_ormq", "django_q_schedule", "django_q_task")


def business_change(field: Field, report: str) -> None:
    """Save a report and owe its notification in one transaction, with no patience for a lock."""
    with field.web.transaction():
        field.web.execute("SET LOCAL lock_timeout = '1s'")
        field.web.execute("SELECT set_config('notifyops_test.report', %s, true)", [report])
        field.owe(report)


def test_with_the_queue_locked_the_business_commits_and_the_running_loops_deliver(field: Field) -> None:
    field.start()
    with field.owner.transaction():
        for table in TABLES:
            field.owner.execute(f"LOCK TABLE notifyops_private.{table} IN ACCESS EXCLUSIVE MODE")
        business_change(field, "locked")
        eventually(lambda: field.intent("report-ready/locked")["status"] == "accepted", 60)


def test_with_the_queue_gone_the_business_commits_and_is_delivered_when_it_is_back(field: Field) -> None:
    for table in TABLES:
        field.owner.execute(f"ALTER TABLE notifyops_private.{table} RENAME TO {table}_gone")
    try:
        business_change(field, "gone")
        assert field.states() == {"pending": 1}
    finally:
        for table in TABLES:
            field.owner.execute(f"ALTER TABLE notifyops_private.{table}_gone RENAME TO {table}")
    field.start()
    eventually(lambda: field.settled(1), 60)


@pytest.mark.role("worker")
def test_after_hours_of_standstill_the_minute_schedule_runs_once(field: Field) -> None:
    """H-SCH-2: what was missed is not caught up."""
    readiness.ensure_schedule()
    Schedule.objects.update(next_run=timezone.now() - timedelta(hours=3))
    for _ in range(3):
        scheduler(broker=get_broker())
    assert OrmQ.objects.count() == 1
    assert Schedule.objects.get().next_run > timezone.now()


@pytest.mark.role("worker")
def test_hosts_that_start_for_the_first_time_at_once_share_one_schedule(field: Field) -> None:
    at_once = threading.Barrier(4)

    def start() -> None:
        at_once.wait()
        readiness.ensure_schedule()
        connections.close_all()

    hosts = [threading.Thread(target=start) for _ in range(4)]
    for host in hosts:
        host.start()
    for host in hosts:
        host.join()
    assert Schedule.objects.count() == 1


@pytest.mark.role("worker")
def test_a_start_mends_a_schedule_that_is_doubled_paused_or_far_ahead(field: Field) -> None:
    for _ in range(2):
        Schedule.objects.create(
            func=readiness.WATCH, schedule_type=Schedule.DAILY, next_run=timezone.now() + timedelta(days=9), repeats=0
        )
    readiness.ensure_schedule()
    kept = Schedule.objects.get()
    assert (kept.schedule_type, kept.minutes, kept.repeats) == (Schedule.MINUTES, 1, -1)
    assert kept.next_run <= timezone.now()


def test_the_queue_takes_no_foreign_code(field: Field) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        field.owner.execute(
            "INSERT INTO notifyops_private.django_q_schedule (func, schedule_type, repeats) "
            "VALUES ('os.system', 'O', -1)"
        )
