"""A slow or absent database is said in words, never shown as an empty queue."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connection
from django.test import Client

from notifyops.databases import databases
from tests.reviews.cases import login, make_case, post

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_a_list_that_takes_too_long_asks_for_a_filter(as_role) -> None:
    make_case()
    client = login("olga")
    assert client.get("/reviews/").status_code == 200
    with as_role("owner", autocommit=False) as other:
        other.execute("LOCK TABLE notifyops_private.notifications_intent IN ACCESS EXCLUSIVE MODE")
        page = client.get("/reviews/")
        fragment = client.get("/reviews/", headers={"HX-Request": "true"})
        other.rollback()
    for response in (page, fragment):
        assert response.status_code == 503
        assert "too broad to read within a second: add a narrower filter" in response.content.decode()
    assert fragment["Content-Type"].startswith("text/plain")
    assert client.get("/reviews/").status_code == 200


def test_a_decision_that_waits_too_long_changes_nothing_and_says_so(as_role) -> None:
    intent = make_case()
    client = login("olga")
    options = connection.settings_dict["OPTIONS"]
    connection.close()
    before = options.get("options")
    options["options"] = "-c statement_timeout=1s"
    try:
        with as_role("owner", autocommit=False) as other:
            other.execute("SELECT FROM notifyops_private.notifications_intent WHERE id = %s FOR UPDATE", [intent.pk])
            page = post(client, intent, "close", reason_code="duplicate")
            fragment = post(client, intent, "close", reason_code="duplicate", headers={"HX-Request": "true"})
            other.rollback()
    finally:
        connection.close()
        options.pop("options")
        if before is not None:
            options["options"] = before
    for response in (page, fragment):
        assert response.status_code == 503
        assert "perhaps since somebody else holds this. Nothing was changed" in response.content.decode()
    assert post(client, intent, "close", reason_code="duplicate").status_code == 303


def test_a_process_that_serves_waits_for_no_statement_for_ever_and_a_command_may() -> None:
    url = "postgresql://web@127.0.0.1/x"
    served = databases(url, owner_url="", in_cluster=False, serves=True, pool=8)["default"]["OPTIONS"]
    plain = databases(url, owner_url="", in_cluster=False)["default"]["OPTIONS"]
    given = f"{url}?options=-c%20statement_timeout%3D3s"
    own = databases(given, owner_url="", in_cluster=False, serves=True, pool=8)["default"]["OPTIONS"]
    assert "-c lock_timeout=3s -c statement_timeout=20s" in served["options"]
    assert "options" not in plain
    assert own["options"] == f"{served['options']} -c statement_timeout=3s", "the last word counts"


def test_an_absent_database_is_503_on_every_console_page() -> None:
    intent = make_case()
    client = login("olga")
    port = connection.settings_dict["PORT"]
    connection.close()
    connection.settings_dict["PORT"] = "1"
    try:
        answers = [
            client.get("/reviews/"),
            client.get(f"/reviews/{intent.pk}/"),
            post(client, intent, "close", reason_code="duplicate"),
        ]
    finally:
        connection.close()
        connection.settings_dict["PORT"] = port
    for response in answers:
        assert response.status_code == 503
        assert "The database does not answer." in response.content.decode()
        assert 'rel="icon"' in response.content.decode(), "or the browser asks for /favicon.ico"
        assert "Nothing needs review" not in response.content.decode()
    assert client.get("/reviews/").status_code == 200


def test_the_icon_that_browsers_ask_for_by_themselves_is_there_without_a_database() -> None:
    answer = Client().get("/favicon.ico")
    assert (answer.status_code, answer["Location"]) == (301, "/static/favicon.svg")


def test_every_page_of_its_own_names_the_icon() -> None:
    pages = [page.read_text("utf-8") for page in (Path(__file__).parents[2] / "templates").rglob("*.html")]
    whole = [text for text in pages if "<!doctype html>" in text]
    assert len(whole) >= 4
    assert [text for text in whole if 'rel="icon"' not in text] == []
