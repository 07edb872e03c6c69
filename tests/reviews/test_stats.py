"""The figures: what came and went, ages, codes, causes; each chart beside its numbers, and none of it inline style."""

from __future__ import annotations

import itertools
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notifications.models import Intent
from reviews import charts, stats
from tests.reviews import cases
from tests.reviews.cases import login, make_case
from tests.reviews.deciding import decide, now, put_on

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def database_now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT notifyops_private.clock_v1()")
        found: datetime = cursor.fetchone()[0]
    return found


def test_what_comes_and_goes_is_counted_by_hour_and_day() -> None:
    for _ in range(3):
        make_case()
    decide("close", Intent.objects.earliest("pk"), "olga", "duplicate", text="")
    decide("reopen", now(Intent.objects.earliest("pk")), "lena", "new_information")
    found = stats.read(database_now())
    for slots, count in ((found["hours"], 24), (found["days"], 14)):
        assert len(slots) == count
        assert (sum(slot.came for slot in slots), sum(slot.went for slot in slots)) == (4, 1)
    at = found["hours"][-1].at
    assert (at.minute, at.second, at.utcoffset()) == (0, 0, timedelta(0))


def test_what_stays_in_review_neither_comes_nor_goes() -> None:
    intent = make_case(cases.WINDOW_OVER)
    decide("wait", intent, "olga", text="", minutes=15)
    found = stats.read(database_now())
    assert sum(slot.came for slot in found["days"]) == 1
    assert sum(slot.went for slot in found["days"]) == 0


def test_ages_fall_into_their_bands() -> None:
    make_case()
    for place, hours in enumerate((0, 2, 5, 48, 120, 192)):
        put_on(hours * 3600.0)
        counts = [line.count for line in stats.read(database_now())["ages"]]
        assert counts == ["1" if number == place else "0" for number in range(6)]


def test_codes_are_counted_with_their_meaning_and_a_way_to_them() -> None:
    make_case()
    make_case()
    make_case(cases.RECIPIENT)
    lines = stats.read(database_now())["codes"]
    assert [(line.label, line.count, line.share) for line in lines] == [
        ("not_sent.refused", "2", 100),
        ("resend.422.validation_error", "1", 50),
    ]
    assert lines[0].url == "/reviews/?code=not_sent.refused"
    assert "refused the connection" in lines[0].meaning


def test_a_cause_that_comes_again_is_told_with_its_cure_and_one_that_came_once_is_not() -> None:
    first = make_case()
    make_case()
    make_case(cases.RECIPIENT)
    decide("close", first, "olga", "duplicate", text="")
    decide("reopen", now(first), "lena", "new_information")
    (cause,) = stats.read(database_now())["causes"]
    assert (cause.code, cause.provider, cause.type) == ("not_sent.refused", "resend", "report_ready")
    assert (cause.cases, cause.open, cause.again) == (2, 2, 1)
    assert cause.cure.startswith("Retry once the network")


def test_the_page_draws_attributes_alone_and_tells_the_numbers_beside() -> None:
    make_case()
    html = login("vera").get("/reviews/stats/").content.decode()
    assert html.count('<svg class="chart"') == 2
    assert html.count("<table") == 4  # two flows, ages, codes; no cause came again
    assert "style=" not in html
    assert "<script>" not in html
    assert re.search(r'<rect class="came" x="231" y="50.0" width="4" height="50.0"/>', html)


def test_an_empty_queue_has_figures_too() -> None:
    html = login("vera").get("/reviews/stats/").content.decode()
    assert "Nothing needs review." in html
    assert "No cause has come twice." in html


def test_a_page_takes_at_most_six_queries_beside_the_logins() -> None:
    make_case()
    client = login("vera")
    with CaptureQueriesContext(connection) as caught:
        assert client.get("/reviews/stats/").status_code == 200
    ours = [one["sql"] for one in caught if not re.search(r"SAVEPOINT|django_session|auth_", one["sql"])]
    assert len(ours) <= 6, ours


def test_bars_share_one_scale_and_what_is_there_is_seen() -> None:
    chart = charts.pairs([(NOON, 0, 0), (NOON, 5, 10)])
    assert (chart.top, chart.width, chart.came, chart.went) == (10, 20, 5, 10)
    assert [(bar.height, bar.tone) for bar in chart.bars] == [(0, "came"), (0, "went"), (50, "came"), (100, "went")]
    assert charts.shares([0, 1, 1000]) == [0, 1, 100]
    assert charts.shares([]) == []


@pytest.mark.parametrize(
    ("largest", "top"), [(0, 2), (1, 2), (3, 4), (9, 10), (11, 20), (27, 40), (101, 200), (3000, 4000)]
)
def test_a_scale_ends_at_an_even_value_not_far_above_the_largest(largest: int, top: int) -> None:
    chart = charts.pairs([(NOON, largest, 0)])
    assert chart.top == top
    assert chart.marks == (f"{top:,}", f"{top // 2:,}", "0")


def test_the_times_below_a_chart_are_its_begin_its_end_and_what_divides_it() -> None:
    times = [NOON + timedelta(hours=place) for place in range(24)]
    assert [at.hour for at in charts.pairs([(at, 0, 0) for at in times]).ticks] == [12, 18, 0, 6, 12]
    assert charts.pairs([]).ticks == ()


@pytest.mark.parametrize(("count", "labels"), [(24, 5), (14, 3), (30, 4), (12, 5), (7, 2)])
def test_the_labels_of_a_chart_are_evenly_apart_in_whole_slots(count: int, labels: int) -> None:
    begin, slot = datetime(2026, 3, 1, tzinfo=UTC), timedelta(hours=1)
    ticks = charts.pairs([(begin + slot * place, 0, 0) for place in range(count)]).ticks
    assert len(ticks) == labels
    assert (ticks[0], ticks[-1]) == (begin, begin + slot * count)
    assert len({after - before for before, after in itertools.pairwise(ticks)}) == 1
