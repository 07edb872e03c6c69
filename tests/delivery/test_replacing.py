"""What replaces a notification takes the place of whatever has certainly not left, also of a case."""

from __future__ import annotations

import pytest

from notifications.states import EntryKind, State
from tests.delivery.workplace import Workplace

pytestmark = pytest.mark.django_db(transaction=True)


def newer(place: Workplace, older: str, kind: str = "report_ready") -> int:
    return place.enqueue("newer", kind=kind, supersedes=older, notification_id="newer", data={"title": "Q4"})


def test_what_waits_for_approval_is_replaced_and_nobody_can_approve_it_any_more(place: Workplace) -> None:
    old = place.enqueue(kind="report_approved")
    new = newer(place, "report-approved/demo-001", "report_approved")
    row = place.intent(old)
    assert (row.state, place.kinds(old), place.intent(new).state) == (
        "cancelled",
        ["held", "superseded"],
        "needs_review",
    )
    assert place.person(EntryKind.RELEASED, old, State.PENDING).refused == "move"
    assert place.person(EntryKind.RELEASED, new, State.PENDING, by="lena").refused is None
    place.turn()
    assert place.sandbox.order("GET", "ledger")["accepted"] == 1


def test_a_case_that_was_refused_is_replaced(place: Workplace) -> None:
    old = place.enqueue()
    place.sandbox.fault(kind="status", status=422, times=1)
    place.turn()
    assert (place.intent(old).state, place.intent(old).known) == ("needs_review", "invalid")
    newer(place, "report-ready/demo-001")
    assert (place.intent(old).state, place.log(old)[-1]["detail"]) == ("cancelled", {"by": "newer"})


@pytest.mark.parametrize("kind", ["report_ready", "report_once"])
def test_a_case_that_may_be_out_stays_a_persons(place: Workplace, kind: str) -> None:
    old = place.enqueue(kind=kind)
    if kind == "report_ready":  # a conflict: an earlier request was accepted
        place.sandbox.fault(kind="status", status=409, name="invalid_idempotent_request", times=1)
    else:
        place.sandbox.fault(stage="after_accept", kind="close", times=1)
    place.turn()
    assert place.intent(old).state == "needs_review"
    newer(place, f"{kind.replace('_', '-')}/demo-001")
    assert (place.intent(old).state, "superseded" in place.kinds(old)) == ("needs_review", False)
