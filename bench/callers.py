"""Callers that change their business and owe a notification, as fast as they can. A process of its own.

Usage: python -m bench.callers KIND CALLERS SECONDS RUN; prints committed transactions (for `bulk`: rows) a second.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg

BULK: Final = 1000
_BUSINESS: Final = "INSERT INTO bench_business.report (key, title) VALUES (%s, %s)"
_ENQUEUE: Final = "SELECT id FROM notifyops.enqueue('report_ready', %s, %s, jsonb_build_object('title', %s::text))"


@dataclass(slots=True)
class Crowd:
    """Several callers on one clock; the count of what they committed."""

    callers: int
    lasts_s: float
    counts: list[int] = field(default_factory=list)
    began_at: float = 0.0
    ended_at: float = 0.0

    def work(self, open_caller: Callable[[], Any]) -> float:
        """Let each caller work in a thread of its own; give how much they did in a second."""
        ready = threading.Barrier(self.callers, action=self._begin)
        threads = [threading.Thread(target=self._call, args=(open_caller, ready, n)) for n in range(self.callers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if len(self.counts) != self.callers:
            sys.exit("a caller failed; see the error above")
        return sum(self.counts) / (self.ended_at - self.began_at)

    def _begin(self) -> None:
        self.began_at = time.monotonic()

    def _call(self, open_caller: Callable[[], Any], ready: threading.Barrier, number: int) -> None:
        done = 0
        with open_caller() as transact:
            # The first transaction of a session plans and compiles: it is not what a caller pays.
            transact(f"{number}-warm")
            ready.wait()
            while time.monotonic() < self.began_at + self.lasts_s:
                done += transact(f"{number}-{done}")
        self.ended_at = max(self.ended_at, time.monotonic())
        self.counts.append(done)


def by_sql(run: str, *, enqueues: bool) -> Callable[[], Any]:
    """Give callers that speak psycopg with prepared statements, as the writer."""

    @contextmanager
    def caller() -> Iterator[Callable[[str], int]]:
        with psycopg.connect(os.environ["NOTIFYOPS_DATABASE_URL"], prepare_threshold=0) as connection:

            def transact(name: str) -> int:
                key = f"{run}-{name}"
                with connection.transaction():
                    connection.execute(_BUSINESS, (key, "Quarterly figures"))
                    if enqueues:
                        connection.execute(_ENQUEUE, (key, "ana@example.com", "Quarterly figures"))
                return 1

            yield transact

    return caller


def by_django(run: str, *, enqueues: bool) -> Callable[[], Any]:
    """Give callers that are a Django application and use the outbox."""
    import django

    django.setup()
    from django.db import connection, transaction

    from notifications import outbox

    @contextmanager
    def caller() -> Iterator[Callable[[str], int]]:
        def transact(name: str) -> int:
            key = f"{run}-{name}"
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute(_BUSINESS, [key, "Quarterly figures"])
                if enqueues:
                    outbox.enqueue("report_ready", key, "ana@example.com", {"title": "Quarterly figures"})
            return 1

        yield transact
        connection.close()

    return caller


def in_bulk(run: str) -> Callable[[], Any]:
    """Give a caller that owes 1,000 notifications in each transaction."""
    import django

    django.setup()
    from django.db import connection, transaction

    from notifications import outbox

    @contextmanager
    def caller() -> Iterator[Callable[[str], int]]:
        def transact(name: str) -> int:
            items = [
                outbox.Item("report_ready", f"{run}-{name}-{n}", f"user{n}@example.com", {"title": "Quarterly figures"})
                for n in range(BULK)
            ]
            with transaction.atomic():
                return len(outbox.enqueue_many(items))

        yield transact
        connection.close()

    return caller


def over_http(run: str, *, batch: int) -> Callable[[], Any]:
    """Give callers that keep one connection to the site, and owe `batch` notifications with each call."""
    url, token = urlsplit(os.environ["BENCH_API_URL"]), os.environ["BENCH_API_TOKEN"]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    plain = {
        "notification_type": "report_ready",
        "recipient": "ana@example.com",
        "data": {"title": "Quarterly figures"},
    }

    @contextmanager
    def caller() -> Iterator[Callable[[str], int]]:
        connection = http.client.HTTPConnection(str(url.hostname), url.port, timeout=60)

        def transact(name: str) -> int:
            items = [plain | {"report_id": f"{run}-{name}-{place}"} for place in range(batch)]
            path, body = ("/intents", items[0]) if batch == 1 else ("/intents/batch", {"mode": "all", "items": items})
            connection.request("POST", f"/api/v1{path}", json.dumps(body), headers)
            answer = connection.getresponse()
            told = answer.read()
            if answer.status != 201:
                sys.exit(f"{answer.status}: {told[:300]!r}")
            return batch

        yield transact
        connection.close()

    return caller


def main(argv: list[str]) -> None:
    """Run the callers that the command line names."""
    kind, callers, lasts_s, run = argv[0], int(argv[1]), float(argv[2]), argv[3]
    makers: dict[str, Callable[[], Callable[[], Any]]] = {
        "sql": lambda: by_sql(run, enqueues=False),
        "sql-enqueue": lambda: by_sql(run, enqueues=True),
        "django": lambda: by_django(run, enqueues=False),
        "django-outbox": lambda: by_django(run, enqueues=True),
        "bulk": lambda: in_bulk(run),
        "http": lambda: over_http(run, batch=1),
        "http-batch": lambda: over_http(run, batch=100),
    }
    crowd = Crowd(1 if kind == "bulk" else callers, lasts_s)
    print(f"{crowd.work(makers[kind]()):.1f}")


if __name__ == "__main__":
    main(sys.argv[1:])
