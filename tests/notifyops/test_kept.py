"""The pool of a serving process: what is kept answers, what is missing is connected, and nothing waits for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from notifyops.kept import pool as kept
from notifyops.kept.pool import Kept, answers
from tests.notifyops.relay import Relay

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture
def relay(database_url: Callable[[str], str]) -> Iterator[Relay]:
    with Relay(database_url("web")) as one:
        yield one


@pytest.fixture
def pool(relay: Relay) -> Iterator[Kept]:
    one = pool_of(relay)
    yield one
    one.close()


def pool_of(relay: Relay, size: int = 4) -> Kept:
    return Kept(conninfo_to_dict(relay.url, connect_timeout=10) | {"autocommit": True}, lambda _: None, size=size)


def filled(pool: Kept, count: int) -> list[int]:
    """Have so many kept; give their sessions, the last one given back at the end."""
    taken = [pool.getconn() for _ in range(count)]
    for one in taken:
        pool.putconn(one)
    return [one.info.backend_pid for one in taken]


def used(pool: Kept) -> int:
    """Take one, use it, give it back; give its session."""
    one = pool.getconn()
    try:
        row = one.execute("SELECT pg_backend_pid()").fetchone()
        assert row is not None
        return int(row[0])
    finally:
        pool.putconn(one)


def test_what_was_given_back_last_is_used_again(pool: Kept, relay: Relay) -> None:
    first, last = filled(pool, 2)
    assert [used(pool) for _ in range(3)] == [last] * 3
    assert (relay.flows, first != last) == (2, True)


def test_flows_that_have_fallen_silent_cost_one_look_and_no_wait_for_each(pool: Kept, relay: Relay) -> None:
    dead = filled(pool, 4)
    relay.silence()
    assert used(pool) not in dead
    # All four were given up with the first: the next ones meet none of them.
    with ThreadPoolExecutor(4) as many:
        assert not set(many.map(lambda _: used(pool), range(8))) & set(dead)


def test_a_silent_flow_is_given_up_in_time(pool: Kept, relay: Relay) -> None:
    (connection,) = (pool.getconn(),)
    assert answers(connection)
    relay.silence()
    assert not answers(connection, within_s=0.2)
    pool.putconn(connection)
    assert used(pool)


def test_a_session_that_the_server_ended_costs_no_error(pool: Kept, as_role: Connect) -> None:
    (gone,) = filled(pool, 1)
    as_role("postgres").execute("SELECT pg_terminate_backend(%s, 30000)", [gone])
    assert used(pool) != gone


def test_while_the_database_is_away_each_is_told_at_once_and_when_it_is_back_the_next_is_served(
    pool: Kept, relay: Relay
) -> None:
    filled(pool, 3)
    relay.down()
    for _ in range(20):
        with pytest.raises(psycopg.OperationalError):
            pool.getconn()
    relay.up()
    assert used(pool), "and none of the failures has kept a place"
    filled(pool, 4)


def test_when_all_are_in_use_one_waits_for_a_place_and_not_for_ever(
    pool: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = [pool.getconn() for _ in range(4)]
    monkeypatch.setattr(kept, "WAIT_S", 0.1)
    with pytest.raises(psycopg.OperationalError, match="all 4 connections of this process"):
        pool.getconn()
    monkeypatch.setattr(kept, "WAIT_S", 30.0)
    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(used, pool)
        pool.putconn(taken.pop())
        assert waiting.result(30)
    for one in taken:
        pool.putconn(one)


def test_what_is_in_the_middle_of_something_is_not_kept(pool: Kept) -> None:
    begun, broken, failed = (pool.getconn() for _ in range(3))
    spoilt = {begun.info.backend_pid, broken.info.backend_pid}
    begun.autocommit = False
    begun.execute("SELECT 1")
    broken.close()
    with pytest.raises(psycopg.errors.DivisionByZero):
        failed.execute("SELECT 1/0")
    for one in (begun, broken, failed):
        pool.putconn(one)
    assert (begun.closed, broken.closed, failed.closed) == (True, True, False)
    assert not set(filled(pool, 4)) & spoilt


def test_idle_and_old_ones_are_closed(pool: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    first, last = filled(pool, 2)
    monkeypatch.setattr(kept, "IDLE_S", -1.0)
    used(pool)
    monkeypatch.setattr(kept, "IDLE_S", 600.0)
    assert used(pool) not in (first, last)
    young = used(pool)
    monkeypatch.setattr(kept, "OLD_S", 0.0)
    assert used(pool) == young
    assert used(pool) != young


def test_many_threads_share_few(pool: Kept, relay: Relay) -> None:
    together, most, lock = 0, 0, threading.Lock()

    def one(_: int) -> None:
        nonlocal together, most
        connection = pool.getconn()
        with lock:
            together += 1
            most = max(most, together)
        connection.execute("SELECT pg_sleep(0.01)")
        time.sleep(0)
        with lock:
            together -= 1
        pool.putconn(connection)

    with ThreadPoolExecutor(12) as many:
        list(many.map(one, range(60)))
    assert (most <= 4, relay.flows <= 4) == (True, True)
