"""Long work in steps: what is done stays done, nothing is done twice, one process at a time, and bad ends are seen."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection
from psycopg import AsyncConnection

from notifications import run_lost, run_wishes, runs
from notifications.models import Run, RunItem, WorkerBeat

pytestmark = pytest.mark.django_db(transaction=True)
NUMBERS = range(1, 8)


def open_run(key: str = "numbers") -> Any:
    return runs.opened("count", key, title="count to seven", by="cli:olga@host")


def written() -> list[str]:
    """What the work of these tests leaves behind: a row for each number, in a table that any role may write."""
    return sorted(WorkerBeat.objects.values_list("worker", flat=True))


def count(run: runs.Running, *, until: int = 7, then: Callable[[], None] = lambda: None) -> None:
    """Write each number that is not behind the checkpoint; `then` happens within the step of `until`."""
    for number in NUMBERS:
        if number > run.checkpoint.get("number", 0):
            run.step(lambda: one(number, then if number == until else lambda: None))  # noqa: B023


def one(number: int, then: Callable[[], None]) -> runs.Done:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO notifyops_private.notifications_workerbeat (worker, host, role, slot, started_at, beat_at) "
            "VALUES (%s, 'h', 'r', 0, now(), now())",
            [f"n{number}"],
        )
    then()
    failed = [runs.Failed(number, "odd_one_out")] if number == 3 else []
    return runs.Done(1, {"number": number}, {"even" if number % 2 == 0 else "odd": 1}, failed)


class Broke(Exception):
    """The work's own fault."""


def breaks() -> None:
    raise Broke


@pytest.mark.role("worker")
def test_a_run_that_broke_goes_on_behind_its_last_step_and_does_nothing_twice(caplog) -> None:
    with pytest.raises(Broke), open_run() as run:
        count(run, until=5, then=breaks)
    row = Run.objects.get()
    assert (row.state, row.code, row.done_count, row.checkpoint) == ("failed", "internal_error", 4, {"number": 4})
    assert row.ended_at is not None
    told = [(record.action, record.error) for record in caplog.records if record.levelno == logging.ERROR]
    assert told == [("run_failed", "Broke")]
    with open_run() as again:
        assert (again.pk, again.resumed, again.epoch) == (row.pk, True, 2)
        count(again)
    row.refresh_from_db()
    assert (row.state, row.code, row.done_count, row.failed_count, row.step_count) == ("done", "", 7, 1, 7)
    assert row.tally == {"odd": 4, "even": 3}
    assert list(RunItem.objects.values_list("place", "code")) == [(3, "odd_one_out")]
    assert written() == [f"n{number}" for number in NUMBERS]


@pytest.mark.role("worker")
def test_a_long_step_tells_how_far_it_is_and_that_is_nothing_once_it_ends(database_url) -> None:
    seen: list[tuple[int, int]] = []

    def look() -> None:
        with psycopg.connect(database_url("worker")) as other:
            query = "SELECT done_count, step_done_count FROM notifyops_private.notifications_run"
            seen.extend(other.execute(query).fetchall())

    def long() -> runs.Done:
        for number in (40, 41, 90):
            run.reports(number)
        look()
        return runs.Done(100, {"number": 100})

    with open_run() as run:
        run.step(long)
        look()
    assert seen == [(0, 40), (100, 0)]  # at most once a second: 41 and 90 came too soon


@pytest.mark.role("worker")
def test_progress_that_cannot_be_told_fails_nothing(database_url) -> None:
    with psycopg.connect(database_url("worker")) as other, open_run() as run:
        other.execute("SELECT FROM notifyops_private.notifications_run FOR UPDATE")
        run.reports(1)
        other.rollback()
        run.step(lambda: runs.Done(1, {"number": 1}))
    assert Run.objects.get().state == "done"


@pytest.mark.role("worker")
def test_what_was_done_once_is_another_run_the_next_time() -> None:
    with open_run() as run:
        run.expects(0)
    with open_run() as other:
        assert (other.resumed, other.checkpoint) == (False, {})
    assert list(Run.objects.values_list("state", flat=True)) == ["done", "done"]


@pytest.mark.slow
@pytest.mark.role("worker")
def test_a_step_that_the_database_failed_is_done_again_whole() -> None:
    failures = [OperationalError("server closed the connection")] * 2

    def fails() -> None:
        if failures:
            raise failures.pop()

    with open_run() as run:
        count(run, until=2, then=fails)
    assert written() == [f"n{number}" for number in NUMBERS]
    assert Run.objects.get().step_count == 7


@pytest.mark.role("worker")
def test_a_connection_that_is_cut_off_in_a_step_is_opened_anew() -> None:
    cut = [connection]

    def cut_off() -> None:
        if cut:
            cut.pop()
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    with open_run() as run:
        count(run, until=4, then=cut_off)
    assert written() == [f"n{number}" for number in NUMBERS]
    assert Run.objects.get().state == "done"


@pytest.mark.role("worker")
def test_a_second_process_is_told_that_the_first_one_works() -> None:
    told: list[type[BaseException]] = []

    def second() -> None:
        try:
            with open_run():
                pass
        except runs.AlreadyRuns as error:
            told.append(type(error))
        finally:
            connection.close()

    with open_run() as run:
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(30)
        with open_run("another work"):
            pass
        count(run)
    assert told == [runs.AlreadyRuns]
    assert Run.objects.get(key="numbers").epoch == 1


@pytest.mark.role("worker")
def test_a_start_that_took_over_ends_the_right_of_the_older_one() -> None:
    """Where a connection broke, the lock went with it: the epoch still lets only the newest start write."""

    def another_starts() -> None:
        Run.objects.update(epoch=2)

    with pytest.raises(runs.AlreadyRuns), open_run() as old:
        count(old, until=2, then=another_starts)
    assert written() == ["n1"]
    assert Run.objects.get().state == "running"


@pytest.mark.role("worker")
@pytest.mark.parametrize(("word", "state"), [("pause", "paused"), ("cancel", "cancelled")])
def test_a_person_stops_it_between_two_steps(word, state) -> None:
    def asks() -> None:
        assert run_wishes.wish(Run.objects.get().pk, word, "user:lena")

    with pytest.raises(runs.Stopped, match=state), open_run() as run:
        count(run, until=3, then=asks)
    row = Run.objects.get()
    assert (row.state, row.wish, row.wished_by, row.done_count) == (state, "", "user:lena", 3)
    with open_run() as again:
        assert again.resumed == (state == "paused")
        assert again.checkpoint == ({"number": 3} if state == "paused" else {})


@pytest.mark.role("worker")
def test_ctrl_c_is_an_interruption_and_not_a_failure() -> None:
    def ctrl_c() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), open_run() as run:
        count(run, until=2, then=ctrl_c)
    row = Run.objects.get()
    assert (row.state, row.code, row.done_count) == ("interrupted", "stopped_by_hand", 1)


@pytest.mark.role("worker")
def test_a_run_whose_process_is_gone_is_noticed_once(database_url, caplog) -> None:
    """The chores see it by its lock, which died with its connection: nobody needs to have lived to say so."""
    quick, held = (Run.objects.create(kind="count", key=key, title="t", started_by="x") for key in ("lost", "held"))
    Run.objects.update(beat_at="2026-01-01T00:00:00Z")
    young = Run.objects.create(kind="count", key="young", title="t", started_by="x")

    async def notice() -> None:
        async with await AsyncConnection.connect(database_url("worker"), autocommit=True) as line:
            await run_lost.notice_lost(line)
            await run_lost.notice_lost(line)

    with psycopg.connect(database_url("worker"), autocommit=True) as holder:
        holder.execute("SELECT pg_advisory_lock(7806, hashtext('count/held'))")
        asyncio.run(notice())
    for run, state in ((quick, "interrupted"), (held, "running"), (young, "running")):
        run.refresh_from_db()
        assert run.state == state
    assert [record.run for record in caplog.records if record.levelno == logging.ERROR] == [quick.pk]


@pytest.mark.role("worker")
def test_what_is_over_cannot_be_stopped_and_what_lies_idle_can_be_cancelled() -> None:
    with open_run() as run:
        pass
    assert not run_wishes.wish(run.pk, "pause", "x")
    assert not run_wishes.wish(run.pk, "cancel", "x")
    with pytest.raises(Broke), open_run() as broken:
        breaks()
    assert not run_wishes.wish(broken.pk, "pause", "x")
    assert run_wishes.wish(broken.pk, "cancel", "x")
    assert Run.objects.get(pk=broken.pk).state == "cancelled"
