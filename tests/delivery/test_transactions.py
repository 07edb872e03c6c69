"""The notification belongs to the caller's transaction: it commits with it, or it never was."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import psycopg
import pytest
from django.core.handlers.base import BaseHandler
from django.db import connection, connections, transaction
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from psycopg.types.json import Jsonb

from notifications import outbox
from tests.delivery.workplace import Workplace, connected, looped, nothing_waits

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
OWE = "SELECT id FROM notifyops.enqueue('report_ready', %s, 'ana@example.com', %s)"


def nothing_happened(place: Workplace) -> bool:
    traces = place.sql(
        "SELECT (SELECT count(*) FROM notifyops_private.notifications_intent), "
        "(SELECT count(*) FROM notifyops_private.notifications_intentkey), "
        "(SELECT count(*) FROM notifyops_private.notifications_logentry)"
    )
    return traces == [(0, 0, 0)] and place.turn() == [] and place.sandbox.requests() == []


def test_a_rolled_back_enqueue_never_was(place: Workplace) -> None:
    """H-TXN-1 a."""
    with psycopg.connect(place.dsn("web")) as caller:
        caller.execute(OWE, ("demo-001", Jsonb({"title": "Q3"})))
        caller.rollback()
    assert nothing_happened(place)


def test_an_enqueue_in_a_rolled_back_savepoint_never_was(place: Workplace) -> None:
    """H-TXN-1 b: the outer transaction commits, the inner atomic() did not."""
    with transaction.atomic():
        point = transaction.savepoint()
        with transaction.atomic():
            outbox.enqueue("report_ready", "demo-001", "ana@example.com", {"title": "Q3"})
        transaction.savepoint_rollback(point)
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    assert nothing_happened(place)


def test_a_view_that_fails_after_its_enqueue_notifies_nobody(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    """H-TXN-1 c: under ATOMIC_REQUESTS."""
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", True)

    def view(request: HttpRequest) -> HttpResponse:
        outbox.enqueue("report_ready", "demo-001", "ana@example.com", {"title": "Q3"})
        raise RuntimeError("after the enqueue")

    atomic: Any = BaseHandler().make_view_atomic(view)
    with pytest.raises(RuntimeError):
        atomic(RequestFactory().post("/reports/"))
    assert nothing_happened(place)


def test_an_open_transaction_is_not_seen_and_its_commit_is_within_one_poll(place: Workplace) -> None:
    """H-TXN-1 d: the transaction stays open for many polls."""
    shop = place.shop(poll_s=0.1)

    async def scene() -> tuple[int, float]:
        committed_at = 0.0

        def over() -> bool:
            return bool(place.sandbox.requests()) and committed_at > 0

        async with await psycopg.AsyncConnection.connect(place.dsn("web")) as caller:
            await caller.execute(OWE, ("demo-001", Jsonb({"title": "Q3"})))
            loop = asyncio.create_task(looped(place.dsn(), shop, until=over))
            await asyncio.sleep(1.5)
            before = len(place.sandbox.requests())
            committed_at = time.time()
            await caller.commit()
            await loop
        return before, place.sandbox.requests()[0]["at_s"] - committed_at

    before, took_s = place.play(scene())
    assert before == 0
    # A poll, and the patience of a busy machine.
    assert took_s < 30.0
    assert place.states() == {"demo-001": "accepted"}


def test_plain_sql_is_delivered_by_the_wake_up_long_before_the_poll(place: Workplace) -> None:
    """H-TXN-2: the poll is set to 90 s, so that only the NOTIFY of the enqueue can explain the delivery."""
    assert delivered_after_s(place, poll_s=90.0) < 60.0


def test_plain_sql_is_delivered_within_one_poll_where_the_wake_up_is_lost(place: Workplace) -> None:
    """H-TXN-2: somebody else holds the gate of the NOTIFY; the poll finds the notification all the same."""
    with psycopg.connect(place.dsn("owner")) as other:
        other.execute("SELECT pg_advisory_xact_lock(7802, 1)")
        assert delivered_after_s(place, poll_s=0.2) < 60.0


def delivered_after_s(place: Workplace, *, poll_s: float) -> float:
    shop = place.shop(poll_s=poll_s)

    async def scene() -> float:
        stop = asyncio.Event()
        loop = asyncio.create_task(looped(place.dsn(), shop, until=stop.is_set, budget_s=120.0))
        await asyncio.sleep(1.0)  # the loop has looked, found nothing, and waits
        began = time.monotonic()
        await asyncio.to_thread(place.enqueue)
        async with await connected(place.dsn()) as look:
            quiet = await nothing_waits(look)
            while not quiet():
                await asyncio.sleep(0.02)
        took_s = time.monotonic() - began
        stop.set()
        await asyncio.to_thread(place.enqueue, "wakes-it-to-end", not_before="2099-01-01T00:00:00Z")
        with psycopg.connect(place.dsn("owner"), autocommit=True) as owner:
            owner.execute("SELECT pg_notify('notifyops_due', '')")
        await loop
        return took_s

    took: float = place.play(scene())
    assert place.states()["demo-001"] == "accepted"
    return took
