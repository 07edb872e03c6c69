"""The queue's page: what it lists, in which order, and what it says where it lists nothing."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from notifications.models import WorkerBeat
from tests.reviews import cases
from tests.reviews.cases import login, make_case

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]


def listed(html: str) -> list[str]:
    return re.findall(r'<a class="id" href="/reviews/\d+/">([^<]+)</a>', html)


def page(query: str = "", who: str = "olga", **headers: str) -> str:
    response = login(who).get(f"/reviews/{query}", headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def test_a_case_is_listed_with_its_facts_and_linked_by_its_id() -> None:
    intent = make_case(cases.RECIPIENT, "r-1", workspace="acme")
    html = page()
    assert f'href="/reviews/{intent.pk}/">acme/report-ready/r-1</a>' in html
    for fact in (
        "r-1",
        "resend.<wbr>422.<wbr>validation_<wbr>error",
        "422 validation error",
        "Invalid",
        "Correct the address",
        "resend",
    ):
        assert fact in html


def test_one_case_is_told_in_the_singular_and_none_or_two_in_the_plural() -> None:
    make_case(cases.NOT_SENT, "one")
    assert re.search(r"<b>1</b> case matches ", page())
    make_case(cases.NOT_SENT, "two")
    assert re.search(r"<b>2</b> cases match ", page())


def test_what_stops_being_safe_first_comes_first_and_what_has_no_window_last() -> None:
    make_case(cases.NOT_SENT, "none")
    make_case(cases.UNKNOWN, "open")
    make_case(cases.WINDOW_OVER, "closed")
    assert [name.split("/")[1] for name in listed(page())] == ["closed", "open", "none"]


def test_only_what_needs_review_is_listed_unless_another_state_is_asked_for() -> None:
    make_case(cases.DELIVERED, "done")
    make_case(report_id="mine")
    assert listed(page()) == ["report-ready/mine"]
    assert set(listed(page("?state=any"))) == {"report-ready/mine", "report-ready/done"}
    assert listed(page("?state=accepted")) == ["report-ready/done"]


@pytest.mark.parametrize(
    "query",
    [
        "?code=not_sent.refused",
        "?known=not_sent",
        "?next=retry_same_key",
        "?workspace=acme",
        "?type=report_once",
        "?provider=resend&channel=email&known=not_sent",
        "?window=none&attempts=3",
        "?q=acme/report-once/wan",
        "?q=wanted",
        "?q=wanted+nothing-else",
    ],
)
def test_each_filter_finds_the_wanted_case_alone(query) -> None:
    make_case(cases.NOT_SENT, "wanted", type="report_once", workspace="acme")
    make_case(cases.UNKNOWN, "unwanted")
    assert listed(page(query)) == ["acme/report-once/wanted"]


def test_the_default_workspace_is_named_by_a_dash() -> None:
    make_case(report_id="plain")
    make_case(report_id="theirs", workspace="acme")
    assert listed(page("?workspace=-")) == ["report-ready/plain"]


def test_windows_and_ages_are_judged_by_the_databases_clock() -> None:
    make_case(cases.UNKNOWN, "open")
    make_case(cases.WINDOW_OVER, "closed")
    assert listed(page("?window=open")) == ["report-ready/open"]
    assert listed(page("?window=closed")) == ["report-ready/closed"]
    assert listed(page("?window=closing")) == listed(page("?age=1h")) == []
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL notifyops_test.shift = '23 hours'")
    assert listed(page("?window=closing")) == ["report-ready/open"]
    assert len(listed(page("?age=1h"))) == 2


def test_a_provider_message_id_finds_its_case_whatever_the_state() -> None:
    intent = make_case(cases.DELIVERED, "done")
    assert listed(page(f"?q={intent.provider_message_id}")) == ["report-ready/done"]


def test_a_search_says_that_it_looks_at_every_state_unless_one_is_chosen() -> None:
    make_case(cases.DELIVERED, "r-done")
    make_case(report_id="r-open")
    told, both = "A search looks at every state unless one is chosen.", ["report-ready/r-done", "report-ready/r-open"]
    html = page("?q=r-")
    assert (sorted(listed(html)), told in html) == (both, True)
    assert "needs review; in a search, any" in html
    html = page("?q=r-&state=needs_review")
    assert (listed(html), told in html) == (["report-ready/r-open"], False)
    assert told not in page("")


def test_a_searched_percent_sign_is_no_wildcard() -> None:
    make_case(report_id="r-1")
    assert listed(page("?q=%25")) == []
    assert listed(page("?q=_-1")) == []


@pytest.mark.parametrize(
    "query",
    [
        "?known=nonsense",
        "?window=huge",
        "?attempts=many",
        "?attempts=-1",
        "?state=lost",
        "?cod=not_sent.refused",
        "?size=7",
        "?sort=random",
        "?after=yesterday",
        "?after=infinity_x",
        "?q=%00",
        "?code=" + "x" * 101,
    ],
)
def test_an_unreadable_filter_lists_nothing_and_says_why(query) -> None:
    make_case()
    html = page(query)
    assert listed(html) == []
    assert "Nothing is listed, because a filter could not be read." in html


def test_active_filters_are_shown_and_can_be_taken_away_one_by_one() -> None:
    make_case()
    html = page("?known=not_sent&code=not_sent.refused&after=&size=25")
    assert "Known: <b>Not sent</b>" in html
    assert 'href="/reviews/?code=not_sent.refused&amp;size=25"' in html
    assert "Clear all" in html


def test_pages_go_forth_and_back_through_every_case_once() -> None:
    for number in range(60):
        make_case(
            cases.UNKNOWN if number % 3 else (),
            f"r-{number:02}",
            type="report_approved" if number % 3 == 0 else "report_ready",
        )
    seen: list[list[str]] = []
    url = "?size=25"
    while url:
        html = page(url)
        seen.append(listed(html))
        found = re.search(r'href="/reviews/(\?[^"]+)" rel="next"', html)
        url = found[1].replace("&amp;", "&") if found else ""
    assert [len(rows) for rows in seen] == [25, 25, 10]
    assert len({name for rows in seen for name in rows}) == 60
    back = re.search(r'href="/reviews/(\?[^"]+)" rel="prev"', html)
    assert back is not None
    assert listed(page(back[1].replace("&amp;", "&"))) == seen[1]


def test_the_oldest_order_goes_by_the_time_in_review() -> None:
    make_case(cases.NOT_SENT, "first")
    make_case(cases.WINDOW_OVER, "second")
    assert [name.split("/")[1] for name in listed(page("?sort=oldest"))] == ["first", "second"]


def test_an_empty_queue_says_who_works_and_what_would_come_here() -> None:
    now = timezone.now()
    WorkerBeat.objects.create(worker="w", host="h", role="loop", slot=1, started_at=now, beat_at=now)
    html = page()
    assert "Nothing needs review." in html
    assert "1 worker is alive." in html


def test_dead_workers_are_a_warning_instead_of_the_all_clear() -> None:
    then = timezone.now() - timedelta(minutes=5)
    WorkerBeat.objects.create(worker="w", host="h", role="loop", slot=1, started_at=then, beat_at=then)
    html = page()
    assert "Nothing needs review." not in html
    assert "no worker is alive" in html
    assert "5 minutes ago" in html


def test_an_empty_filter_is_not_the_all_clear() -> None:
    make_case()
    html = page("?code=other.code")
    assert "No case matches." in html
    assert "Nothing needs review." not in html


@pytest.mark.parametrize(
    ("until", "told"), [("'infinity'", "until the configuration is mended"), ("now() + '1 h'", "Next try:")]
)
def test_an_open_circuit_is_announced_on_every_page(until, told) -> None:
    intent = make_case()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO notifyops_private.notifications_circuit (account_id, open_until, code, config_failures) "
            f"VALUES (%s, {until}, 'resend.401.missing_api_key', 3)",
            [intent.account_id],
        )
    for url in ("", f"{intent.pk}/"):
        html = login("olga").get(f"/reviews/{url}").content.decode()
        assert "resend.401.missing_api_key" in html
        assert told in html


def test_the_header_tells_site_mode_workers_and_the_time_of_the_data() -> None:
    html = page()
    assert "sandbox: nobody gets mail" in html
    assert "no worker alive" in html
    assert re.search(r"Data as of</span> <time[^>]+>\d\d:\d\d:\d\d UTC", html)


@pytest.mark.django_db(databases=["default", "owner"])
def test_a_database_that_is_no_longer_the_sites_own_is_announced_with_the_way_out() -> None:
    make_case()
    assert "adopt-site" not in page()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO notifyops_private.notifications_siteadoption "
            "(site, system_identifier, timeline, database, actor, reason) "
            "VALUES ('other', 1, 1, 1, 'cli:root', 'moved')"
        )
    html = page()
    assert "Nothing is sent: this database belongs to another site." in html
    assert "manage.py notify adopt-site" in html


def test_a_page_takes_at_most_six_queries_beside_the_logins() -> None:
    for _ in range(3):
        make_case()
    client = login("olga")
    client.get("/reviews/")
    for query in ("", "?known=not_sent&q=r", "?known=conflict"):
        with CaptureQueriesContext(
            connection,
        ) as seen:
            client.get(f"/reviews/{query}")
        ours = [one["sql"] for one in seen if not re.search(r"SAVEPOINT|django_session|auth_", one["sql"])]
        assert len(ours) <= 6, ours


def test_a_fragment_is_given_to_htmx_and_a_whole_page_to_history() -> None:
    make_case()
    client = login("olga")
    fragment = client.get("/reviews/", headers={"HX-Request": "true"})
    restored = client.get("/reviews/", headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})
    assert not fragment.content.strip().startswith(b"<!doctype")
    assert restored.content.strip().startswith(b"<!doctype")
    assert "HX-Request" in fragment.headers["Vary"]
    assert "no-store" in fragment.headers["Cache-Control"]


def test_fifty_rows_stay_within_120_kilobytes() -> None:
    for number in range(50):
        make_case(cases.CONFLICT, f"a-rather-long-report-id-{number}", workspace="acme")
    assert len(page().encode()) < 120_000
