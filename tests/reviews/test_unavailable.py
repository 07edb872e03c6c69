"""A slow or absent database is said in words, never shown as an empty queue."""

from __future__ import annotations

import pytest
from django.db import connection

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
        assert "too broad to read within a second: add a filter" in response.content.decode()
    assert fragment["Content-Type"].startswith("text/plain")
    assert client.get("/reviews/").status_code == 200


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
        assert "Nothing needs review" not in response.content.decode()
    assert client.get("/reviews/").status_code == 200
