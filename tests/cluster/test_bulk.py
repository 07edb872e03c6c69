"""A real cluster carries a bulk run out: by itself within seconds, and past the death of every process of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from notifications.models import Intent, LogEntry
from reviews.bulk.models import BulkItem, BulkRun
from reviews.models import Review
from tests.cluster.machine import Field, eventually
from tests.reviews.bulk_cases import make_cases, outcomes, planned, started, steered

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def run_of(bulk: BulkRun) -> Any:
    return BulkRun.objects.select_related("run").get(pk=bulk.pk).run


def resumed(bulk: BulkRun) -> Any:
    """Let it go on where the stop rule saw too many calls that died with their processes."""
    run = run_of(bulk)
    if run.state == "paused":
        steered(bulk, "resume")
    return run


def released(bulk: BulkRun) -> int:
    return BulkItem.objects.filter(bulk=bulk, released_at__isnull=False).count()


def assert_each_once(field: Field, bulk: BulkRun, chosen: list[Intent]) -> None:
    """Each case was ordered once, tried once more, and taken once by the provider; each order has its record."""
    retried = Counter(LogEntry.objects.filter(kind="retried").values_list("intent_id", flat=True))
    assert retried == {intent.pk: 1 for intent in chosen}
    manual = Counter(LogEntry.objects.filter(kind="claimed", trigger="manual").values_list("intent_id", flat=True))
    assert manual == retried
    decided = Review.objects.filter(bulk=bulk, outcome="done", intent__isnull=False)
    assert Counter(decided.values_list("intent_id", flat=True)) == retried
    taken = {intent.pk: field.sandbox.ledger(intent.notification_id).accepted for intent in chosen}
    states = dict(Intent.objects.values_list("pk", "state"))
    # A call that died with its process may have been taken: then a person is asked, and nothing is sent again.
    assert set(states.values()) <= {"accepted", "needs_review"}
    assert all(taken[pk] == 1 if state == "accepted" else taken[pk] <= 1 for pk, state in states.items())


def test_a_run_starts_by_itself_and_ends_by_what_the_provider_took(field: Field) -> None:
    chosen = make_cases(12)
    bulk = started(planned(chosen), rate=20, canary=3)
    field.start(NOTIFYOPS_UNDO_S="0")
    eventually(lambda: run_of(bulk).state == "done", 90)
    assert outcomes(bulk) == {"accepted": 12}
    assert_each_once(field, bulk, chosen)


@pytest.mark.parametrize("whom", ["the chores' worker", "everybody"])
def test_whoever_is_killed_mid_run_leaves_no_case_twice_and_none_behind(field: Field, whom: str) -> None:
    chosen = make_cases(30)
    bulk = started(planned(chosen), rate=5, canary=2)
    cluster = field.start(NOTIFYOPS_UNDO_S="0")
    for aim in (4, 12):
        wait_for(lambda: resumed(bulk) and released(bulk) >= aim, bulk)  # noqa: B023
        if whom == "everybody":
            cluster.kill()
            assert released(bulk) < 30
            cluster = field.start(NOTIFYOPS_UNDO_S="0")
        else:
            cluster.hit(field.beats("chores")[0])
    wait_for(lambda: resumed(bulk).state == "done", bulk)
    assert outcomes(bulk).keys() <= ({"accepted", "failed"} if whom == "everybody" else {"accepted"})
    assert run_of(bulk).epoch >= 3
    assert_each_once(field, bulk, chosen)


def test_a_cluster_that_is_stopped_hands_the_run_over_and_a_cancel_without_one_counts(field: Field) -> None:
    chosen = make_cases(20)
    bulk = started(planned(chosen), rate=2, canary=2)
    cluster = field.start(NOTIFYOPS_UNDO_S="0")
    wait_for(lambda: released(bulk) >= 3, bulk)
    assert cluster.stop() == 0
    assert run_of(bulk).state == "running"
    assert steered(bulk, "cancel")
    before = released(bulk)
    field.start(NOTIFYOPS_UNDO_S="0")
    wait_for(lambda: run_of(bulk).state == "cancelled", bulk)
    assert released(bulk) == before
    left = BulkItem.objects.filter(bulk=bulk, outcome="left")
    assert all(Intent.objects.get(pk=one.intent_id).seq == one.seq for one in left)


def wait_for(what: Callable[[], bool], bulk: BulkRun) -> None:
    """Wait for it; what the run says meanwhile is what a failure tells."""
    try:
        eventually(what, 120, every_s=0.1)
    except AssertionError as late:
        raise AssertionError(f"{run_of(bulk).state} {run_of(bulk).code}: {outcomes(bulk)}") from late
