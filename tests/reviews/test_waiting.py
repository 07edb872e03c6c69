"""Setting a case aside: it leaves the queue, comes back by itself or with news, and the provider is asked then."""

from __future__ import annotations

from datetime import timedelta

import pytest

from notifications.cli import seed
from notifications.models import Intent
from notifications.states import DeliveryStatus, Found, Known, NextAction
from reviews.refusals import BadReason, NotAllowedNow, NotPermitted
from tests.reviews import cases
from tests.reviews.cases import login, make_case, post
from tests.reviews.deciding import decide, last, now, put_on

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]


def listed(query: str = "") -> bool:
    return "report-ready/r-1" in login("olga").get(f"/reviews/?{query}").content.decode()


def aside(steps: tuple[seed.Step, ...] = cases.WINDOW_OVER, minutes: int = 60) -> Intent:
    intent = make_case(steps, "r-1")
    decide("wait", intent, "olga", text="", minutes=minutes)
    return now(intent)


def test_it_leaves_the_queue_and_is_found_by_filter_and_search_until_its_time() -> None:
    intent = aside()
    assert (intent.state, last(intent).kind) == ("needs_review", "snoozed")
    assert intent.snoozed_until is not None
    assert abs(intent.snoozed_until - last(intent).at - timedelta(hours=1)) < timedelta(seconds=5)
    assert not listed()
    for query in ("waiting=aside", "waiting=any", "q=r-1"):
        assert listed(query), query
    assert "set aside" in login("olga").get(f"/reviews/{intent.pk}/").content.decode()
    put_on(3601)
    assert [listed(), listed("waiting=aside")] == [True, False]


def test_it_is_taken_up_again_at_once() -> None:
    intent = aside()
    decide("resume", intent, "olga", text="")
    assert (listed(), now(intent).snoozed_until) == (True, None)
    with pytest.raises(NotAllowedNow, match="not set aside"):
        decide("resume", now(intent), "olga", text="")


@pytest.mark.parametrize("minutes", [None, 0, 4, -15, 10081, 10**6])
def test_the_time_is_bounded(minutes: int | None) -> None:
    intent = make_case(cases.WINDOW_OVER)
    with pytest.raises(BadReason, match="five minutes to seven days"):
        decide("wait", intent, "olga", text="", minutes=minutes)
    assert now(intent).seq == intent.seq


@pytest.mark.parametrize("steps", [(), cases.ACCEPTED, cases.RETRIED[:-1]])
def test_only_what_needs_review_is_set_aside_and_by_no_viewer(steps) -> None:
    with pytest.raises(NotAllowedNow, match="can be set aside"):
        decide("wait", make_case(steps), "olga", text="", minutes=60)
    with pytest.raises(NotPermitted):
        decide("wait", make_case(), "vera", text="", minutes=60)


@pytest.mark.parametrize(
    ("steps", "news", "returns"),
    [
        (cases.WINDOW_OVER, (seed.evidence(Found.NOT_FOUND),), True),
        (cases.WINDOW_OVER, (seed.evidence(Found.INCONCLUSIVE),), False),
        (cases.WINDOW_OVER, seed.contradiction("a", "b"), True),
        (cases.SOFT, (seed.receipt(DeliveryStatus.BOUNCED, Known.BOUNCED, NextAction.CORRECT_ADDRESS),), True),
    ],
)
def test_news_brings_it_back_and_what_says_nothing_does_not(steps, news, returns) -> None:
    intent = cases.go_on(aside(steps), *news)
    assert listed() is returns
    assert (intent.snoozed_until is None) is returns


def test_a_decision_ends_it() -> None:
    intent = aside()
    decide("close", intent, "olga", "duplicate", text="")
    assert now(intent).snoozed_until is None


def test_the_forms_work_without_javascript() -> None:
    intent = make_case(cases.WINDOW_OVER, "r-1")
    assert post(login("olga"), intent, "wait", minutes="").status_code == 422
    assert post(login("olga"), intent, "wait", minutes="15").status_code == 303
    assert post(login("olga"), now(intent), "resume").status_code == 303
