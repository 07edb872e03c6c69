"""The next free case: by the filter, in its order, and never the same one for two people."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connections
from django.http import QueryDict
from django.test import Client

from notifications.models import Intent
from reviews import handing
from reviews.models import Hold, Review
from reviews.person import Person, from_user
from reviews.record import Order
from tests.reviews import cases
from tests.reviews.cases import login, make_case, make_person, post
from tests.reviews.deciding import decide
from tests.reviews.test_races import all_at_once as post_at_once

pytestmark = pytest.mark.django_db(transaction=True)


def go_next(client: Client, query: str = "", leaving: str = "", token: str = "") -> str:
    """Press the button; give where it leads."""
    fields = {"action_token": token or str(uuid4()), "seq": "0", "query": query, "leaving": leaving}
    answer = client.post("/reviews/next", fields)
    assert answer.status_code == 303, answer.content[:300]
    return str(answer["Location"])


def case_at(url: str) -> Intent:
    found = re.fullmatch(r"/reviews/(\d+)/", url)
    assert found, url
    return Intent.objects.get(pk=found[1])


def test_it_takes_the_most_urgent_first_then_what_stands_behind_and_gives_back_what_it_leaves() -> None:
    none, open_, closed = make_case(cases.NOT_SENT), make_case(cases.UNKNOWN), make_case(cases.WINDOW_OVER)
    olga = login("olga")
    first = case_at(go_next(olga))
    assert first == closed
    second = case_at(go_next(olga, leaving=str(first.pk)))
    assert second == open_
    assert list(Hold.objects.values_list("intent_id", flat=True)) == [open_.pk], "the one it left is free"
    assert case_at(go_next(olga, leaving=str(second.pk))) == none
    assert case_at(go_next(olga, leaving=str(none.pk))) == closed, "at the end it begins anew"
    verbs = list(Review.objects.filter(intent_id=closed.pk).order_by("id").values_list("action", flat=True))
    assert verbs == ["take", "release", "take"]


def test_it_keeps_to_the_filter_and_passes_over_what_is_taken_or_set_aside() -> None:
    other, taken, aside, wanted = [make_case(report_id=name, workspace="acme" if name != "other" else "")
                                   for name in ("other", "taken", "aside", "wanted")]  # fmt: skip
    decide("take", taken, "lena", text="")
    decide("wait", aside, "lena", text="", minutes=15)
    assert case_at(go_next(login("olga"), "workspace=acme&taken=any&size=25")) == wanted
    assert go_next(login("olga"), "workspace=acme") == "/reviews/?workspace=acme"
    assert case_at(go_next(login("olga"), "state=any&workspace=-")) == other


def test_where_none_is_free_it_leads_back_and_says_so() -> None:
    make_case(cases.DELIVERED)
    client = login("olga")
    assert go_next(client) == "/reviews/"
    assert "No free case matches this list" in client.get("/reviews/").content.decode()


def test_a_double_click_takes_one_case() -> None:
    made = {make_case().pk for _ in range(3)}
    client, token = login("olga"), str(uuid4())
    first = go_next(client, token=token)
    assert go_next(client, token=token) == first
    assert case_at(first).pk in made
    assert Hold.objects.count() == 1
    assert Review.objects.count() == 1


@pytest.mark.parametrize("bad", ["known=nonsense", "nonsense=1"])
def test_an_unreadable_list_gives_nothing(bad) -> None:
    make_case()
    client = login("olga")
    assert go_next(client, bad).startswith("/reviews/?")
    assert not Hold.objects.exists()
    assert "a filter that cannot be read" in client.get("/reviews/").content.decode()


def test_a_list_is_taken_whole_or_not_at_all() -> None:
    make_case()
    long = "q=" + "+".join(f"report-ready/{number:0190}" for number in range(200))
    client = login("olga")
    assert go_next(client, long) == "/reviews/", "a redirect cannot carry so long a list"
    assert go_next(client, "q=nothing+at-all") == "/reviews/?q=nothing+at-all"
    answer = client.post("/reviews/next", {"action_token": str(uuid4()), "seq": "0", "query": "q=" + "x" * 60_000})
    assert answer.status_code == 400
    assert not Hold.objects.exists()


def test_a_form_without_its_token_gives_nothing() -> None:
    make_case()
    assert login("olga").post("/reviews/next", {"query": ""}).status_code == 303
    assert not Hold.objects.exists()


def test_who_may_not_take_gets_403_and_a_get_405() -> None:
    make_case()
    assert login("vera").post("/reviews/next", {"action_token": str(uuid4()), "seq": "0"}).status_code == 403
    assert login("olga").get("/reviews/next").status_code == 405
    assert not Hold.objects.exists()


def all_at_once(people: list[Person], tokens: list[UUID]) -> list[int | None]:
    """Let all of them ask in the same moment, each on a connection of its own."""

    def one(person: Person, token: UUID) -> int | None:
        try:
            done = handing.take_next(QueryDict(), Order(token=token, seq=0), person)
            return done.intent_id if done else None
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(people)) as pool:
        return list(pool.map(one, people, tokens))


def fresh(count: int) -> list[UUID]:
    return [uuid4() for _ in range(count)]


@pytest.mark.slow
def test_many_people_who_ask_at_once_get_a_case_each_and_never_the_same() -> None:
    made = {make_case().pk for _ in range(12)}
    people = [Person(f"user:person{number}", None, frozenset({"take"})) for number in range(12)]
    for _round in range(5):
        Hold.objects.all().delete()
        got = all_at_once(people, fresh(12))
        assert None not in got
        assert set(got) == made, "twelve people, twelve cases"


@pytest.mark.slow
def test_of_more_people_than_cases_some_get_none_and_no_two_the_same() -> None:
    made = {make_case().pk for _ in range(3)}
    got = all_at_once([Person(f"user:person{number}", None, frozenset({"take"})) for number in range(8)], fresh(8))
    given = [one for one in got if one is not None]
    assert len(given) == len(set(given)) == len(made)
    assert Hold.objects.count() == 3


@pytest.mark.slow
def test_one_form_sent_eight_times_at_once_takes_one_case() -> None:
    for _ in range(8):
        make_case()
    olga = from_user(make_person("olga"))
    got = all_at_once([olga] * 8, [uuid4()] * 8)
    assert len(set(got)) == 1
    assert Hold.objects.count() == 1
    assert Review.objects.count() == 1


@pytest.mark.slow
def test_of_a_take_and_a_decision_at_once_one_wins() -> None:
    """Without the case's own lock both could be told that they were right."""
    for _ in range(5):
        intent = make_case()
        calls: list[Callable[[], Any]] = [partial(post, login("olga"), intent, "take"),
                 partial(post, login("lena"), intent, "close", reason_code="duplicate")]  # fmt: skip
        took, closed = post_at_once(calls)
        is_held = Hold.objects.filter(pk=intent.pk).exists()
        assert (took, closed, is_held) in ((303, 409, True), (422, 303, False)), (took, closed, is_held)


def test_the_neighbours_in_the_list_are_links_that_take_nothing() -> None:
    first, second, third = make_case(cases.WINDOW_OVER), make_case(cases.UNKNOWN), make_case(cases.NOT_SENT)
    client = login("vera")
    client.get("/reviews/?known=unknown")
    assert client.get(f"/reviews/{first.pk}/after")["Location"] == f"/reviews/{second.pk}/"
    assert client.get(f"/reviews/{second.pk}/before")["Location"] == f"/reviews/{first.pk}/"
    assert client.get(f"/reviews/{second.pk}/after")["Location"] == "/reviews/?known=unknown"
    assert "there is no case behind this one" in client.get("/reviews/?known=unknown").content.decode()
    client.get("/reviews/")
    assert client.get(f"/reviews/{second.pk}/after")["Location"] == f"/reviews/{third.pk}/"
    assert client.get("/reviews/999999/after").status_code == 404
    assert not Hold.objects.exists()
