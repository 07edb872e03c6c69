"""Run the bare loop under the same conditions as ours: its tables, its backlog, its start."""

from __future__ import annotations

import time
from typing import Any, Final

import psycopg

from bench.bare_loop import START_LOCK
from bench.sample import Sample, Window, told
from bench.stage import BenchFailed, Stage, tail, wait
from notifyops import children
from notifyops.children import Child

WITHIN_S: Final = 120.0
# The hot row as narrow as ours and filled alike; its due index is partial, as ours is.
_TABLES: Final = """
CREATE SCHEMA IF NOT EXISTS bench_bare;
CREATE TABLE IF NOT EXISTS bench_bare.intent (
    id bigint PRIMARY KEY, key text NOT NULL, body text NOT NULL, status text NOT NULL, next_at timestamptz NOT NULL,
    lease_token uuid, lease_until timestamptz, provider_id text, http_status integer,
    attempts integer NOT NULL DEFAULT 0, updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 80);
CREATE INDEX IF NOT EXISTS intent_due ON bench_bare.intent (next_at, id) WHERE status = 'pending';
CREATE TABLE IF NOT EXISTS bench_bare.attempt (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, intent_id bigint NOT NULL, attempt integer NOT NULL,
    event text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp(), lease_token uuid, http_status integer,
    provider_id text, latency_ms real
);
TRUNCATE bench_bare.intent, bench_bare.attempt;
"""
_BACKLOG: Final = """
INSERT INTO bench_bare.intent (id, key, body, status, next_at)
SELECT g, 'report-ready/bare-' || g, json_build_object('from', 'Notifications <notifications@example.com>', 'to',
    json_build_array('user' || g || '@example.com'), 'subject', 'Your report is ready', 'html', repeat('x', 460))::text,
    'pending', clock_timestamp()
FROM generate_series(1, %s) AS g
"""
_SPAN: Final = "SELECT count(*), extract(epoch FROM max(at) - min(at))::float FROM bench_bare.attempt"


def sample(stage: Stage, count: int, *, loops: int, in_flight: int) -> Sample:
    """Deliver `count` rows with so many bare loops, and give what it took."""
    stage.ask_provider("/reset?delay_ms=0")
    with stage.owner() as owner:
        _load(owner, count)
        owner.execute("SELECT pg_advisory_lock(%s)", (START_LOCK,))
        running = [_loop(stage, number, in_flight) for number in range(loops)]
        try:
            wait(lambda: _waiting(owner) == loops, 20, running[0], "the bare loop was not ready")
            window = Window(owner, stage.postgres.pid, *(child.pid for child in running))
            owner.execute("SELECT pg_advisory_unlock(%s)", (START_LOCK,))
            _join(running)
            row = owner.execute(_SPAN).fetchone()
            # The loops have ended: their CPU is read from the processes that are not collected yet.
            return told(window.close(), count=count, row=row, expected=2 * count, what="the bare loop")
        finally:
            children.stop(running)


def _load(owner: psycopg.Connection[Any], count: int) -> None:
    owner.execute(_TABLES)
    owner.execute(_BACKLOG, (count,))
    owner.execute("VACUUM (ANALYZE) bench_bare.intent, bench_bare.attempt")


def _loop(stage: Stage, number: int, in_flight: int) -> Child:
    url = f"http://127.0.0.1:{stage.provider_port}/emails"
    argv = ("-m", "bench.bare_loop", stage.urls["owner"], url, str(in_flight))
    child = Child(stage.command(f"bare-{number}", argv, stage.env("web")))
    child.start()
    return child


def _waiting(owner: psycopg.Connection[Any]) -> int:
    row = owner.execute(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND NOT granted", (START_LOCK,)
    ).fetchone()
    return int(row[0]) if row else 0


def _join(running: list[Child]) -> None:
    ends_at = time.monotonic() + WITHIN_S
    while not all(children.has_ended(child.pid) for child in running):
        if time.monotonic() > ends_at:
            raise BenchFailed(f"the bare loop did not end; its log: {tail(running[0].command.log)}")
        time.sleep(0.02)
