"""What a bulk run needs to go on: a place, a person who still may, an order as strong as the first."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from notifications import works
from reviews import reading
from reviews.bulk import limits, pace
from reviews.bulk import order as bulk_order
from reviews.bulk.models import BulkItem, BulkRun
from reviews.bulk.outcomes import waiting
from reviews.refusals import ChangedMeanwhile, NotProven
from tests.reviews.bulk_cases import Provider, carried, make_cases, outcomes, planned, role, started, steered, who
from tests.reviews.cases import owner

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def due_at_once(settings: Any) -> None:
    settings.NOTIFYOPS_UNDO_S = 0


def paused(count: int, **story: Any) -> BulkRun:
    """Give a run that a person has paused before its first case."""
    bulk = started(planned(make_cases(count, **story)), canary=1)
    steered(bulk, "pause")
    bulk = carried(bulk)
    assert bulk.run is not None
    assert bulk.run.state == "paused"
    return bulk


def test_stopped_runs_whose_orders_are_unknown_take_no_place_from_a_new_one() -> None:
    stopped = []
    for _ in range(works.AT_ONCE):
        bulk = started(planned(make_cases(2)), canary=1)
        carried(bulk, lambda: BulkItem.objects.filter(bulk=bulk, outcome="released").exists())  # noqa: B023
        steered(bulk, "pause")
        carried(bulk)
        stopped.append(bulk.pk)
    fresh = started(planned(make_cases(2)))
    with role("worker"):
        assert waiting() == [fresh.pk, *stopped]


def test_letting_many_go_on_wants_the_second_factor_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    bulk, lena = paused(3), who("lena")
    monkeypatch.setattr(limits, "FEW", 2)
    with transaction.atomic(), pytest.raises(NotProven):
        bulk_order.steer(bulk.pk, "resume", replace(lena, is_proven=False), reading.now())
    with transaction.atomic():
        assert bulk_order.steer(bulk.pk, "resume", lena, reading.now())


def test_who_may_decide_few_lets_no_more_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    bulk = paused(3)
    User.objects.get(username="lena").groups.set(who("olga").user.groups.all())  # type: ignore[union-attr]
    monkeypatch.setattr(limits, "FEW", 2)
    with pytest.raises(limits.TooMany):
        steered(bulk, "resume")


@pytest.mark.slow
def test_a_run_goes_on_for_a_day_after_its_plan_and_not_later() -> None:
    bulk = paused(2)
    plans = BulkRun.objects.using(owner()).filter(pk=bulk.pk)
    plans.update(planned_at=bulk.planned_at - timedelta(days=1, minutes=1))
    with pytest.raises(ChangedMeanwhile, match="more than a day old"):
        steered(bulk, "resume")
    plans.update(planned_at=bulk.planned_at - timedelta(hours=23))
    assert steered(bulk, "resume")
    assert outcomes(carried(bulk, Provider(bulk))) == {"accepted": 2}


def test_who_loses_the_permission_while_it_runs_orders_nothing_more() -> None:
    bulk = started(planned(make_cases(8)), canary=1)

    def withdrawn(provider: Provider) -> bool:
        if provider.seen:
            User.objects.using(owner()).filter(username="lena").update(is_active=False)
        return False

    bulk = carried(bulk, Provider(bulk, then=withdrawn))
    assert bulk.run is not None
    assert (bulk.run.state, bulk.run.code) == ("failed", "not_permitted")
    assert outcomes(bulk)["left"] == 7


@pytest.mark.slow
def test_no_more_is_ordered_ahead_than_is_known_to_go_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "AHEAD", 4)
    bulk = started(planned(make_cases(30)), canary=2)
    looks: list[int] = []

    class FallsSilent(Provider):
        def __call__(self) -> bool:
            if len(self.seen) < 2:
                super().__call__()
            looks.append(BulkItem.objects.filter(bulk=bulk, outcome="released").count())
            return looks.count(4) > 12 or looks[-1] > 4

    carried(bulk, FallsSilent(bulk))
    assert max(looks) == 4
    provider = Provider(bulk)
    assert outcomes(carried(bulk, provider)) == {"accepted": 30}
    assert provider.most_waiting > 4, "it grows with what was accepted"
