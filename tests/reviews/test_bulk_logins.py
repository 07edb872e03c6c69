"""What the worker's login alone can do with bulk runs: carry out what is ordered now, and nothing that it wishes."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.db import Error, connection, transaction

from notifications.models import Run
from reviews.bulk.models import BulkItem, BulkRun
from reviews.models import Hold, Review
from tests.reviews.bulk_cases import Provider, carried, make_cases, outcomes, planned, role, started, steered
from tests.reviews.cases import BOUNCED, make_case
from tests.reviews.deciding import decide

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def due_at_once(settings: Any) -> None:
    settings.NOTIFYOPS_UNDO_S = 0


def stopped(word: str) -> BulkRun:
    bulk = started(planned(make_cases(2)))
    steered(bulk, word)
    return carried(bulk)


def change(run_id: int | None, said: str) -> None:
    """Change the run's row past every function, as who has the worker's password could."""
    with role("worker"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE notifyops_private.notifications_run SET {said} WHERE id = %s", [run_id])


@pytest.mark.parametrize("word", ["pause", "cancel"])
@pytest.mark.parametrize(
    "said", ["state = 'running', ended_at = NULL", "state = 'interrupted'", "kind = 'other'", "key = 'other'"]
)
def test_no_worker_lets_a_run_go_on_that_a_person_stopped(word: str, said: str) -> None:
    bulk = stopped(word)
    with pytest.raises(Error, match="only a person lets it go on"):
        change(bulk.run_id, said)
    assert outcomes(carried(bulk, Provider(bulk))) == {"left": 2}


def test_no_worker_unsays_a_persons_wish() -> None:
    bulk = started(planned(make_cases(2)))
    steered(bulk, "cancel")
    for said in ("wish = ''", "wish = '', state = 'interrupted', ended_at = now()"):
        with pytest.raises(Error, match="only a person lets it go on"):
            change(bulk.run_id, said)
    assert carried(bulk, Provider(bulk)).run == Run.objects.get(state="cancelled")


@pytest.mark.parametrize("which", ["excluded", "after a cancel", "another version", "another reason"])
def test_a_worker_records_only_what_it_carries_out_now(which: str) -> None:
    good, bad = make_case(), make_case(BOUNCED)
    bulk = started(planned([good, bad]))
    if which == "after a cancel":
        steered(bulk, "cancel")
        carried(bulk)
    intent = bad if which == "excluded" else good
    item = BulkItem.objects.get(bulk=bulk, intent_id=intent.pk)
    assert item.outcome == ("excluded" if which == "excluded" else "left")
    row: dict[str, Any] = {
        "intent_id": intent.pk,
        "actor": bulk.actor,
        "action": "retry",
        "outcome": "done",
        "action_token": uuid4(),
        "seq_seen": item.seq - (which == "another version"),
        "seq_after": item.seq + 1,
        "reason_code": "other" if which == "another reason" else bulk.reason_code,
        "before": {},
        "after": {},
    }
    with role("worker"), transaction.atomic(), pytest.raises(Error, match="only decisions that a person ordered"):
        Review.objects.create(bulk=bulk, **row)


@pytest.mark.parametrize("verb", ["retry", "close"])
def test_a_case_that_one_had_taken_is_free_once_the_run_has_decided_it(verb: str) -> None:
    mine, moved, other = make_cases(3)
    for intent in (mine, moved, other):
        decide("take", intent, "lena", "", "")
    bulk = started(planned([mine, moved], verb=verb))
    decide("close", moved, "lena", "duplicate", "")
    moved.refresh_from_db()
    decide("reopen", moved, "lena", "closed_by_mistake", "Closed in error, see it again.")
    moved.refresh_from_db()
    decide("take", moved, "lena", "", "")
    carried(bulk, Provider(bulk))
    assert set(Hold.objects.values_list("pk", flat=True)) == {moved.pk, other.pk}, "skipped is not decided"
