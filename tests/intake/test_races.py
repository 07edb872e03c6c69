"""Two callers at once: one creates, the other waits and learns that it is there."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from notifications.models import Intent, IntentKey
from tests.intake.conftest import Call, Connect

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def waits_for_a_lock(watcher: psycopg.Connection[Any], pid: int) -> bool:
    """Wait until that session is blocked by another; False after a minute."""
    for _ in range(6000):
        row = watcher.execute("SELECT cardinality(pg_blocking_pids(%s))", (pid,)).fetchone()
        if row and row[0]:
            return True
        time.sleep(0.01)
    return False


def test_of_two_callers_racing_for_one_key_one_creates_and_the_other_is_told(
    writer: Connect, owe: Call, as_role: Connect
) -> None:
    with writer(autocommit=False) as first, writer(autocommit=False) as second, ThreadPoolExecutor(1) as pool:
        made = owe(first)
        waiting = pool.submit(owe, second)
        assert waits_for_a_lock(as_role("postgres"), second.info.backend_pid)
        first.commit()
        assert waiting.result(timeout=60) == (made[0], made[1], False, "pending")
        second.commit()
    assert Intent.objects.count() == 1


def test_when_the_first_rolls_back_the_second_creates(writer: Connect, owe: Call, as_role: Connect) -> None:
    with writer(autocommit=False) as first, writer(autocommit=False) as second, ThreadPoolExecutor(1) as pool:
        owe(first)
        waiting = pool.submit(owe, second)
        assert waits_for_a_lock(as_role("postgres"), second.info.backend_pid)
        first.rollback()
        assert waiting.result(timeout=60)[2]
        second.commit()
    assert Intent.objects.count() == 1


@pytest.mark.parametrize("level", [psycopg.IsolationLevel.REPEATABLE_READ, psycopg.IsolationLevel.SERIALIZABLE])
def test_under_a_frozen_snapshot_the_race_ends_with_40001_and_never_with_null(
    writer: Connect, owe: Call, level: psycopg.IsolationLevel
) -> None:
    with writer(autocommit=False) as snapshot, writer() as other:
        snapshot.isolation_level = level
        snapshot.execute("SELECT 1")
        assert owe(other)[2]
        with pytest.raises(psycopg.errors.SerializationFailure):
            owe(snapshot)
        snapshot.rollback()
        assert not owe(snapshot)[2]


def test_a_b_and_b_a_do_not_deadlock(writer: Connect) -> None:
    def items(*names: str) -> Jsonb:
        owed = {"notification_type": "report_ready", "recipient": "ana@example.com", "data": {"title": "Q3"}}
        return Jsonb([{**owed, "report_id": name} for name in names])

    ready = threading.Barrier(2, timeout=60)
    query = "SELECT created FROM notifyops.enqueue_many(%s) ORDER BY position"
    with writer() as one, writer() as two, ThreadPoolExecutor(2) as pool:

        def run(connection: psycopg.Connection[Any], names: list[str]) -> int:
            created = 0
            for turn in range(20):
                ready.wait()
                rows = connection.execute(query, (items(*(f"{name}-{turn}" for name in names)),)).fetchall()
                created += sum(row[0] for row in rows)
            return created

        names = [f"r{n:02}" for n in range(20)]
        counts = [pool.submit(run, one, names), pool.submit(run, two, names[::-1])]
        assert sum(count.result(timeout=120) for count in counts) == 400
    assert Intent.objects.count() == 400


def test_rows_are_written_in_one_order_however_they_are_given(writer: Connect) -> None:
    """By workspace, report and type, then by key, whether the caller named it or it was made of type and report."""
    plain: dict[str, Any] = {
        "notification_type": "report_ready",
        "recipient": "ana@example.com",
        "data": {"title": "Q"},
    }
    made = {**plain, "report_id": "b"}
    named = {**plain, "report_id": "b", "options": {"notification_id": "report-ready/b"}}
    after = {**plain, "report_id": "c", "options": {"notification_id": "report-ready/aa"}}
    query = "SELECT id FROM notifyops.enqueue_many(%s) ORDER BY position"
    with writer() as connection:
        ids = [row[0] for row in connection.execute(query, (Jsonb([after, named]),)).fetchall()]
        assert ids[1] < ids[0]
        assert connection.execute(query, (Jsonb([made, after]),)).fetchall() == [(ids[1],), (ids[0],)]
        other = [{**one, "options": {**one.get("options", {}), "workspace": "acme"}} for one in (after, made)]
        ids = [row[0] for row in connection.execute(query, (Jsonb(other),)).fetchall()]
        assert ids[1] < ids[0]


def at(connection: psycopg.Connection[Any], moment: datetime) -> psycopg.Connection[Any]:
    connection.execute("SELECT set_config('notifyops_test.now', %s, false)", (moment.isoformat(),))
    connection.commit()
    return connection


def test_a_report_is_owed_once_on_both_sides_of_a_months_end(writer: Connect, owe: Call, as_role: Connect) -> None:
    eve = datetime(2031, 1, 31, 23, 59, 59, 900_000, tzinfo=UTC)
    with writer() as last_month, writer() as next_month:
        first = owe(at(last_month, eve), "demo-009")
        assert owe(at(next_month, eve + timedelta(milliseconds=200)), "demo-009") == (
            first[0],
            first[1],
            False,
            "pending",
        )
    assert [str(intent.month) for intent in Intent.objects.all()] == ["2031-01-01"]
    assert IntentKey.objects.count() == 1


def test_two_sessions_on_both_sides_of_a_months_end_owe_one(writer: Connect, owe: Call, as_role: Connect) -> None:
    eve = datetime(2031, 1, 31, 23, 59, 59, 900_000, tzinfo=UTC)
    first, second = at(writer(autocommit=False), eve), at(writer(autocommit=False), eve + timedelta(milliseconds=200))
    with ThreadPoolExecutor(1) as pool:
        owe(first, "demo-009")
        waiting = pool.submit(owe, second, "demo-009")
        assert waits_for_a_lock(as_role("postgres"), second.info.backend_pid)
        first.commit()
        assert not waiting.result(timeout=60)[2]
        second.commit()
    assert Intent.objects.count() == 1
