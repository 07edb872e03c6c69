"""What the application says of each case of a bulk run: the run's remark outweighs none of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from notifications.models import Intent
from notifications.models import NotificationTypeRow as Row
from notifications.types import NotificationType, ReportData, registry
from reviews.models import Review
from tests.reviews.bulk_cases import Provider, carried, make_cases, outcomes, planned, started
from tests.reviews.cases import owner

pytestmark = pytest.mark.django_db(transaction=True)
REMARK = "Provider is back, see incident 4711."


@pytest.fixture
def asked_of(settings: Any) -> Iterator[list[str]]:
    """Give the reports that a type's application was asked about; it wants none of `r-0`."""
    settings.NOTIFYOPS_UNDO_S = 0
    heard: list[str] = []

    def still_wanted(report_id: str) -> bool:
        heard.append(report_id)
        return not report_id.endswith("-0")

    kind = NotificationType(name="asked_first", template="x", data=ReportData, still_wanted=still_wanted)
    registry.add(kind)
    Row.objects.using(owner()).create(name=kind.name, channel="email", required={"title": "string"})
    yield heard
    registry._types.pop(kind.name, None)


@pytest.mark.parametrize("remark", ["", REMARK])
def test_a_remark_on_a_run_does_not_outweigh_what_is_said_of_each_case(asked_of: list[str], remark: str) -> None:
    (unwanted,) = make_cases(1, type="asked_first", report_id="r-0")
    chosen = [unwanted, *make_cases(2, type="asked_first")]
    bulk = started(planned(chosen), reason=remark)
    bulk = carried(bulk, Provider(bulk))
    assert outcomes(bulk) == {"skipped": 1, "accepted": 2}
    assert set(asked_of) == {one.report_id for one in chosen}
    assert Intent.objects.get(pk=unwanted.pk).state == "needs_review"
    refusal = Review.objects.get(bulk=bulk, intent_id=unwanted.pk)
    assert (refusal.outcome, refusal.refusal, refusal.reason) == ("refused", "still_wanted", remark)
