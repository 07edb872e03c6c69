"""A bulk close, whose outcome is known at once: the frozen list and nothing else, its record, and its roles."""

from __future__ import annotations

import pytest

from notifications.models import Intent, LogEntry
from reviews.bulk.models import BulkItem
from reviews.models import Review
from tests.reviews import cases
from tests.reviews.bulk_cases import carried, make_cases, outcomes, planned, started
from tests.reviews.cases import make_case

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_close_in_bulk_closes_the_frozen_list_and_nothing_else() -> None:
    chosen, other = make_cases(3), make_case(cases.UNKNOWN)
    bulk = started(planned(query="code=not_sent.refused", verb="close"))
    late = make_case()
    bulk = carried(bulk)
    assert bulk.run is not None
    assert (bulk.run.state, outcomes(bulk)) == ("done", {"closed": 3})
    assert set(Intent.objects.filter(state="closed")) == set(chosen)
    for intent in (other, late):
        assert Intent.objects.get(pk=intent.pk).seq == intent.seq
    rows = Review.objects.filter(bulk=bulk, intent__isnull=False)
    assert {row.intent_id for row in rows} == {one.pk for one in chosen}
    assert {(row.action, row.actor, row.outcome, row.reason_code) for row in rows} == {
        ("close", "user:lena", "done", "duplicate")
    }
    entries = LogEntry.objects.filter(kind="closed")
    assert {(entry.actor, entry.reason_code, entry.detail["bulk"]) for entry in entries if entry.detail} == {
        ("user:lena", "duplicate", bulk.pk)
    }
    assert BulkItem.objects.filter(bulk=bulk, settled_at=None).count() == 0
