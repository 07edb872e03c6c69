"""Whoever names a key means what goes on under it, also where its address is corrected in that very moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from notifications.models import Intent
from tests.delivery.workplace import Workplace
from tests.intake.test_races import waits_for_a_lock

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "report-ready/demo-001"
_CORRECT = "SELECT notification_id, refused FROM notifyops_private.correct_v1(%s, %s, %s, %s, 'user:lena', 8.0)"
_CANCEL = "SELECT notification_id, outcome, state FROM notifyops.cancel(%s, 'moved on')"
_REPLACE = "SELECT id FROM notifyops.enqueue('report_ready', 'demo-001', 'ana@example.com', '{\"title\": \"Q4\"}', %s)"


@contextmanager
def correcting(place: Workplace) -> Iterator[tuple[psycopg.Connection[Any], int]]:
    """Give a lead's transaction that has given another address, and has not committed; and the case that it is of."""
    intent = place.enqueue()
    place.sandbox.fault(kind="status", status=422, name="invalid_to_address", times=1)
    place.turn()
    assert place.intent(intent).next_action == "correct_address"
    with psycopg.connect(place.dsn("web")) as lead:
        seen, masks = place.intent(intent).seq, Jsonb({"from": "a•••@e•••.com", "to": "b•••@e•••.com"})
        row = lead.execute(_CORRECT, (intent, seen, "bea@example.com", masks)).fetchone()
        assert row == (f"{KEY}~a2", None)
        yield lead, intent


def meanwhile(place: Workplace, lead: psycopg.Connection[Any], ask: Callable[[psycopg.Connection[Any]], Any]) -> Any:
    """Let a caller ask, and the lead commit once that waits for the case."""
    with (
        psycopg.connect(place.dsn("web")) as caller,
        psycopg.connect(place.database_url("postgres"), autocommit=True) as watcher,
        ThreadPoolExecutor(1) as pool,
    ):
        waiting = pool.submit(ask, caller)
        assert waits_for_a_lock(watcher, caller.info.backend_pid)
        lead.commit()
        return waiting.result(timeout=60)


def sent(place: Workplace) -> list[str]:
    """Let all that is owed go out; give the keys of what the provider took."""
    place.later(10)
    place.turn()
    return sorted(one["key"] for one in place.sandbox.requests() if one["key"] and one["status"] == 200)


def test_a_cancel_that_meets_a_correction_takes_back_what_goes_on(place: Workplace) -> None:
    with correcting(place) as (lead, intent):
        told = meanwhile(place, lead, lambda caller: caller.execute(_CANCEL, (KEY,)).fetchone())
    assert told == (f"{KEY}~a2", "cancelled", "cancelled")
    assert place.intent(intent).state == "closed"
    assert sent(place) == []


def test_what_replaces_one_that_is_being_corrected_is_sent_alone(place: Workplace) -> None:
    newer = Jsonb({"notification_id": "demo-001-v2", "supersedes": KEY})
    with correcting(place) as (lead, _):
        ((made,),) = meanwhile(place, lead, lambda caller: caller.execute(_REPLACE, (newer,)).fetchall())
    corrected = Intent.objects.get(notification_id=f"{KEY}~a2")
    assert (corrected.state, place.intent(made).supersedes_id) == ("cancelled", corrected.pk)
    assert place.log(corrected.pk)[-1]["detail"] == {"by": "demo-001-v2"}
    assert sent(place) == ["demo-001-v2"]
