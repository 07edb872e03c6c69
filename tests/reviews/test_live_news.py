"""What is new for an open page, counted by the server: exact, by the page's own filters, and for whoever may see it."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from notifications.models import Intent
from tests.reviews import cases
from tests.reviews.cases import login, make_case, post
from tests.reviews.deciding import decide, now

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]


def line(client: Client, where: str) -> dict[str, str]:
    """Open a page, and give what it tells its script."""
    answer = client.get(where)
    assert answer.status_code == 200, where
    (found,) = re.findall(r'<div id="live"([^>]*)>', answer.content.decode())
    return {name: unescape(value) for name, value in re.findall(r'([a-z-]+)="([^"]*)"', found)}


def asked(client: Client, page: dict[str, str], **other: str) -> dict[str, Any]:
    """Ask what is new for the page, as its script does."""
    place = urlsplit(page["data-ask"])
    query = urlencode([*[pair for pair in parse_qsl(place.query) if pair[0] not in other], *other.items()])
    answer = client.get(f"{place.path}?{query}", headers={"HX-Request": "true"})
    assert answer.status_code == 200, answer.content
    assert "no-store" in answer["Cache-Control"]
    found: dict[str, Any] = json.loads(answer.content)
    return found


def aged(page: dict[str, str]) -> dict[str, str]:
    """All of a test is one moment, so the page is made older than its slack."""
    query = dict(parse_qsl(urlsplit(page["data-ask"]).query))
    since = datetime.fromisoformat(query["since"]) - timedelta(minutes=1)
    return page | {"data-ask": f"/reviews/live?{urlencode(query | {'since': since.isoformat()})}"}


def test_the_queue_counts_what_its_filters_let_in_and_which_of_its_rows_changed() -> None:
    first, second = make_case(cases.UNKNOWN), make_case(cases.UNKNOWN)
    olga = login("olga")
    every, unknown = line(olga, "/reviews/"), line(olga, "/reviews/?known=unknown")
    assert every["data-shown"] == f"{first.pk}.{first.seq} {second.pk}.{second.seq}"
    assert asked(olga, every) | {"at": ""} == {"new": 0, "changed": 0, "text": "", "at": ""}
    make_case(cases.UNKNOWN)
    make_case(cases.BOUNCED)
    assert asked(olga, every)["text"] == "2 new"
    assert asked(olga, unknown)["text"] == "1 new"
    decide("close", now(first), "lena", "duplicate", text="")
    found = asked(olga, every)
    assert (found["new"], found["changed"], found["text"]) == (2, 1, "2 new, 1 changed")


def test_what_somebody_else_took_is_not_new_for_me() -> None:
    olga = login("olga")
    page = line(olga, "/reviews/")
    taken = make_case(cases.UNKNOWN)
    assert asked(olga, page)["new"] == 1
    decide("take", now(taken), "lena", text="")
    assert asked(olga, page)["new"] == 0
    assert asked(login("lena"), page)["new"] == 1


def test_a_case_says_who_changed_it_when_and_how() -> None:
    intent = make_case(cases.UNKNOWN)
    olga = login("olga")
    page = line(olga, f"/reviews/{intent.pk}/")
    assert page["data-heard"] == "yes"
    assert asked(olga, page)["text"] == ""
    decide("close", now(intent), "lena", "duplicate", text="")
    said = asked(olga, page)["text"]
    assert said.startswith("Changed by lena at ")
    assert said.endswith(" UTC: Closed")
    assert asked(olga, line(olga, f"/reviews/{intent.pk}/"))["text"] == ""


def test_groups_and_watching_count_their_own_lines() -> None:
    intent = make_case(cases.UNKNOWN)
    olga = login("olga")
    groups, watching = line(olga, "/reviews/groups/"), line(olga, "/reviews/watching/")
    mine = line(olga, "/reviews/watching/?who=mine")
    make_case(cases.UNKNOWN)
    make_case(cases.BOUNCED)
    assert asked(olga, groups)["text"] == "1 new, 1 changed"
    decide("close", now(intent), "lena", "duplicate", text="")
    assert asked(olga, aged(watching))["text"] == "1 new"
    assert asked(olga, aged(mine))["text"] == ""


def test_which_pages_hear_all_that_concerns_them_and_which_ask() -> None:
    olga = login("olga")
    accepted, closed = make_case(cases.ACCEPTED), make_case(cases.UNKNOWN)
    decide("close", now(closed), "lena", "duplicate", text="")
    heard = {
        "/reviews/": "yes",
        "/reviews/?known=unknown": "yes",
        "/reviews/?state=accepted": "no",
        "/reviews/?q=r-1": "no",
        "/reviews/groups/": "yes",
        "/reviews/watching/": "no",
        f"/reviews/{accepted.pk}/": "no",
        f"/reviews/{closed.pk}/": "yes",
    }
    assert {where: line(olga, where)["data-heard"] for where in heard} == heard


def test_a_case_that_was_swapped_in_after_a_decision_leads_to_its_page_and_not_to_the_verb() -> None:
    intent = make_case(cases.UNKNOWN)
    answer = post(login("olga"), intent, "close", reason_code="duplicate", headers={"HX-Request": "true"})
    (found,) = re.findall(r'UTC</time> · <a href="([^"]+)">reload', answer.content.decode())
    assert found == f"/reviews/{intent.pk}/"
    closed = Intent.objects.get(pk=intent.pk)
    assert f"{closed.pk}.{closed.seq}" in answer.content.decode()


def test_the_header_s_news_is_said_by_its_gravity() -> None:
    olga = login("olga")
    page = line(olga, "/reviews/")
    assert asked(olga, page, stands="1.0.0")["text"] == "No worker is alive."
    assert asked(olga, page, stands="0.0.1")["text"] == "What the header says has changed."
    assert asked(olga, page, stands="nonsense")["text"] == "No worker is alive."


@pytest.mark.parametrize(
    "query", ["", "of=queue", "of=other&since=2026-12-01T00:00:00Z", "of=queue&since=2026-12-01", "of=case&since=x"]
)
def test_what_names_no_page_is_refused(query: str) -> None:
    assert login("olga").get(f"/reviews/live?{query}").status_code == 400


def test_odd_versions_are_passed_over() -> None:
    olga = login("olga")
    page = line(olga, "/reviews/")
    for shown in ("x", "1", "1.x", "-1.2", "9" * 40 + ".1", "1.2 " * 300):
        assert asked(olga, page, shown=shown)["new"] == 0, shown[:9]
        assert asked(olga, page, of="case", shown=shown)["text"] == "", shown[:9]


def test_who_may_not_see_cases_learns_nothing_and_who_is_nobody_is_told_to_stop_asking() -> None:
    page = line(login("olga"), "/reviews/")
    assert login("sam").get(page["data-ask"]).status_code == 403
    stranger = Client().get(page["data-ask"], headers={"HX-Request": "true"})
    assert stranger.status_code == 286
    assert Client().get("/reviews/live", headers={"Accept": "text/event-stream"}).status_code == 204


def test_a_server_without_streams_says_so_and_asking_costs_no_more_than_a_page() -> None:
    olga = login("olga")
    answer = olga.get("/reviews/live", headers={"Accept": "text/event-stream"})
    assert answer.status_code == 204
    assert "Accept" in answer["Vary"]
    page = line(olga, "/reviews/")
    with CaptureQueriesContext(connection) as queries:
        asked(olga, page)
    told = [one["sql"] for one in queries if "SAVEPOINT" not in one["sql"]]
    assert len(told) <= 8, told


def test_a_stream_without_a_login_ends_quietly_and_its_page_is_told_why() -> None:
    """Led to the login, the browser would read a page of HTML as a stream, and say so as an error."""
    stream = Client().get("/reviews/live", headers={"Accept": "text/event-stream"})
    assert (stream.status_code, stream.content) == (204, b"")
    told = Client().get("/reviews/live?of=queue", headers={"HX-Request": "true"})
    assert told.status_code == 286


def test_a_row_that_left_is_told_with_who_when_and_what() -> None:
    closed, moved, stays = (make_case(cases.UNKNOWN) for _ in range(3))
    olga = login("olga")
    page = line(olga, "/reviews/")
    assert "left" not in asked(olga, page)
    decide("close", now(closed), "lena", "duplicate", text="")
    decide("wait", now(stays), "lena", text="", minutes=60)
    found = asked(olga, page)
    (one,) = found["left"]
    assert one["url"] == f"/reviews/{closed.pk}/"
    assert re.fullmatch(rf"{closed.notification_id}: handled by lena at \d\d:\d\d:\d\d UTC \(Closed\)", one["text"])
    decide("retry", now(moved), "lena", "owner_asked", text="")
    assert {each["url"] for each in asked(olga, page)["left"]} == {f"/reviews/{one.pk}/" for one in (moved, closed)}
    assert "left" not in asked(olga, line(olga, "/reviews/groups/"))


def test_of_many_rows_that_left_the_newest_five_are_told() -> None:
    made = [make_case(cases.UNKNOWN) for _ in range(7)]
    olga = login("olga")
    page = line(olga, "/reviews/")
    for intent in made:
        decide("close", now(intent), "lena", "duplicate", text="")
    found = asked(olga, page)
    assert (found["changed"], len(found["left"])) == (7, 5)
