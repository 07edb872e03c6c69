"""A bulk retry: canary, outcomes from the log, the stop rule, and what a person says of it while it runs."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connections, transaction
from django.utils import timezone

from notifications.models import Circuit, Intent, LogEntry
from reviews import actions, reading, risks, rules
from reviews.bulk import carry
from reviews.bulk import order as bulk_order
from reviews.bulk.models import BulkItem, BulkRun
from reviews.bulk.outcomes import waiting
from reviews.models import Review
from reviews.refusals import NotProven
from tests.reviews import cases
from tests.reviews.bulk_cases import Provider, carried, make_cases, outcomes, planned, role, started, steered, who
from tests.reviews.cases import make_case, order
from tests.reviews.deciding import decide

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def due_at_once(settings: Any) -> None:
    settings.NOTIFYOPS_UNDO_S = 0


@pytest.mark.slow
def test_each_case_gets_one_attempt_and_counts_by_what_the_log_says() -> None:
    chosen = make_cases(8)
    bulk = started(planned(chosen))
    provider = Provider(bulk)
    bulk = carried(bulk, provider)
    assert bulk.run is not None
    assert (bulk.run.state, outcomes(bulk)) == ("done", {"accepted": 8})
    assert (bulk.run.done_count, bulk.run.failed_count, bulk.run.tally) == (
        8,
        0,
        {"ordered": 8, "skipped": 0, "accepted": 8},
    )
    for intent in chosen:
        claims = LogEntry.objects.filter(intent_id=intent.pk, kind="claimed").order_by("seq")
        assert [(entry.attempt, entry.trigger) for entry in claims] == [
            (1, "auto"),
            (2, "auto"),
            (3, "auto"),
            (4, "manual"),
        ]
    assert sorted(provider.seen) == sorted(one.pk for one in chosen)
    assert Review.objects.filter(bulk=bulk, outcome="done", action="retry").count() == 8


@pytest.mark.slow
def test_nothing_follows_the_canary_before_its_outcomes_are_known() -> None:
    chosen = make_cases(6)
    bulk = started(planned(chosen), canary=2)
    looks: list[int] = []

    def not_before(_provider: object) -> bool:
        looks.append(BulkItem.objects.filter(bulk=bulk, released_at__isnull=False).count())
        return len(looks) > 12

    class Silent(Provider):
        def __call__(self) -> bool:
            return self.then(self)

    carried(bulk, Silent(bulk, then=not_before))
    assert max(looks) == 2
    assert outcomes(bulk) == {"released": 2, "left": 4}
    bulk = carried(bulk, Provider(bulk))
    assert outcomes(bulk) == {"accepted": 6}


@pytest.mark.slow
def test_the_stop_rule_pauses_the_run_and_a_person_lets_it_go_on(caplog) -> None:
    chosen = make_cases(12)
    bulk = started(planned(chosen), canary=5)
    bulk = carried(bulk, Provider(bulk, fails=2))
    assert bulk.run is not None
    assert (bulk.run.state, bulk.run.wished_by) == ("paused", "rule:outcomes")
    assert outcomes(bulk) == {"accepted": 3, "failed": 2, "left": 7}
    assert [record.action for record in caplog.records if record.levelname == "ERROR"] == ["bulk_stopped"]
    assert carried(bulk, Provider(bulk)).run.state == "paused"  # type: ignore[union-attr]
    assert steered(bulk, "resume")
    bulk = carried(bulk, Provider(bulk))
    assert bulk.run is not None
    assert (bulk.run.state, bulk.run.failed_count, outcomes(bulk)) == ("done", 2, {"accepted": 10, "failed": 2})


def test_a_case_that_moved_since_the_plan_is_skipped_with_its_reason_and_on_record() -> None:
    first, second, third = make_cases(3)
    bulk = planned([first, second, third])
    decide("close", second, "olga", "duplicate", "")
    bulk = carried(started(bulk), Provider(bulk))
    assert outcomes(bulk) == {"accepted": 2, "skipped": 1}
    skipped = BulkItem.objects.get(bulk=bulk, outcome="skipped")
    assert (skipped.intent_id, skipped.code) == (second.pk, "changed")
    refused = Review.objects.get(bulk=bulk, outcome="refused")
    assert (refused.intent_id, refused.refusal, refused.actor) == (second.pk, "changed", "user:lena")
    assert Intent.objects.get(pk=second.pk).state == "closed"


def test_what_somebody_takes_back_is_no_failure_of_the_run() -> None:
    chosen = make_cases(2)
    bulk = started(planned(chosen))

    def undone(_provider: object) -> bool:
        for intent in Intent.objects.filter(state="retry", pk=chosen[0].pk):
            with role("web"):
                actions.perform("undo", intent.pk, order(intent), who("lena"))
        return False

    class Late(Provider):
        def __call__(self) -> bool:
            stop = self.then(self)
            super().__call__()
            return stop

    bulk = carried(bulk, Late(bulk, then=undone))
    assert outcomes(bulk) == {"accepted": 1, "moved": 1}
    assert BulkItem.objects.get(outcome="moved").code == "undone"


@pytest.mark.slow
@pytest.mark.parametrize(("word", "state"), [("pause", "paused"), ("cancel", "cancelled")])
def test_a_person_stops_it_and_what_is_left_is_untouched(word, state) -> None:
    chosen = make_cases(6)
    bulk = started(planned(chosen), canary=3)

    def stop(provider: Provider) -> bool:
        if len(provider.seen) >= 3:
            with role("web"):
                steered(bulk, word)
        return False

    bulk = carried(bulk, Provider(bulk, then=stop))
    assert bulk.run is not None
    assert (bulk.run.state, bulk.run.wished_by) == (state, "user:lena")
    found = outcomes(bulk)
    assert found["left"] == 3
    untouched = BulkItem.objects.filter(bulk=bulk, outcome="left")
    assert all(Intent.objects.get(pk=one.intent_id).seq == one.seq for one in untouched)
    assert steered(bulk, "resume") is (word == "pause")
    after = carried(bulk, Provider(bulk))
    assert (outcomes(after).get("left", 0) == 0) is (word == "pause")


def test_what_was_ordered_before_a_cancel_still_tells_its_outcome() -> None:
    chosen = make_cases(3)
    bulk = started(planned(chosen), canary=2)
    carried(bulk, lambda: BulkItem.objects.filter(bulk=bulk, outcome="released").exists())
    assert steered(bulk, "cancel")
    carried(bulk)
    assert outcomes(bulk) == {"released": 2, "left": 1}
    with role("worker"):
        assert waiting() == [bulk.pk]
    Provider(bulk)()
    bulk = carried(bulk)
    assert bulk.run is not None
    assert (bulk.run.state, outcomes(bulk)) == ("cancelled", {"accepted": 2, "left": 1})
    with role("worker"):
        assert waiting() == []


def test_who_lost_the_permission_meanwhile_orders_nothing_any_more() -> None:
    bulk = started(planned(make_cases(2)))
    User.objects.get(username="lena").groups.set([Group.objects.get(name="Viewers")])
    bulk = carried(bulk, Provider(bulk))
    assert bulk.run is not None
    assert (bulk.run.state, bulk.run.code, outcomes(bulk)) == ("failed", "not_permitted", {"left": 2})


def test_two_workers_at_once_release_each_case_once() -> None:
    """The second is told that the first works; were both to work, the version of each case would let one through."""
    chosen = make_cases(4)
    bulk = started(planned(chosen))

    ended: list[str] = []

    def work() -> None:
        try:
            with role("worker"):
                carry.carry(bulk.pk, lambda: False)
            ended.append("told to go")
        finally:
            connections.close_all()

    def second(_provider: object) -> bool:
        if not ended:
            other = threading.Thread(target=work)
            other.start()
            other.join(60)
        return False

    bulk = carried(bulk, Provider(bulk, then=second))
    assert (outcomes(bulk), ended) == ({"accepted": 4}, ["told to go"])
    assert LogEntry.objects.filter(kind="retried").count() == 4


def test_an_account_that_is_not_called_any_more_pauses_the_run() -> None:
    chosen = make_cases(8)
    bulk = started(planned(chosen), canary=3)

    def opens(provider: Provider) -> bool:
        if len(provider.seen) == 3:
            with role("owner"):
                tomorrow = timezone.now() + timedelta(days=1)
                given = {"open_until": tomorrow, "reason": "outage", "code": "not_sent.refused"}
                Circuit.objects.update_or_create(account_id=chosen[0].account_id, defaults=given)
        return False

    bulk = carried(bulk, Provider(bulk, then=opens))
    assert bulk.run is not None
    assert (bulk.run.state, bulk.run.wished_by) == ("paused", "rule:breaker")
    assert outcomes(bulk)["left"] >= 3


@pytest.mark.parametrize(
    "steps", [cases.NOT_SENT, cases.UNKNOWN, cases.SOFT, cases.ABSENT, cases.RECIPIENT, cases.RETRIED]
)
def test_the_plans_risk_is_the_word_of_the_case_page(steps: Any) -> None:
    intent, at = make_case(steps), timezone.now()
    situation = reading.situations([intent])[intent.pk]
    absent_at = rules.absent_at(situation, at)
    level = risks.risk_level(intent, at, absent_at)
    assert risks.risk(intent, at, absent_at).startswith(f"Risk: {level}. ")


def test_what_needs_evidence_is_left_out_and_said() -> None:
    bulk = planned([make_case(cases.ABSENT), make_case(cases.WINDOW_OVER), make_case()])
    assert outcomes(bulk) == {"excluded": 2, "left": 1}
    words = set(BulkItem.objects.filter(outcome="excluded").values_list("code", flat=True))
    assert words == {"own_decision", "window_over"}


def test_more_than_a_list_that_one_reads_through_wants_the_second_factor_once_more() -> None:
    bulk, lena = planned([make_case()]), replace(who("lena"), is_proven=False)
    said = bulk_order.Start(token=bulk.start_token, reason_code="provider_recovered", typed="201")
    BulkRun.objects.update(eligible_count=201)
    with transaction.atomic(), pytest.raises(NotProven):
        bulk_order.start(bulk.pk, said, lena, reading.now())
    BulkRun.objects.update(eligible_count=200)
    with transaction.atomic():
        assert bulk_order.start(bulk.pk, said, lena, reading.now())[1]


def test_a_run_is_a_backlog_itself_and_keeps_its_lanes() -> None:
    one, many = make_case(), make_cases(2)
    lanes = {each.pk: each.lane for each in (one, *many)}
    decide("retry", one, "lena", "provider_recovered", text="")
    bulk = started(planned(many))
    carried(bulk, Provider(bulk))
    now = dict(Intent.objects.values_list("pk", "lane"))
    assert (now[one.pk], {now[each.pk] for each in many}) == (lanes[one.pk] & 15, {lanes[each.pk] for each in many})
    assert lanes[one.pk] > 15, "or nothing was shown"
