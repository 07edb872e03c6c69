"""What a page is given that waits for the end of an attempt."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection

from notifications.cli import seed
from notifications.models import Intent
from notifications.states import State
from tests.reviews import cases
from tests.reviews.cases import go_on, login, make_case, post

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
HTMX = {"HX-Request": "true"}


def retried() -> tuple[Intent, Any]:
    intent, client = make_case(cases.NOT_SENT), login("olga")
    assert post(client, intent, "retry", reason_code="code_fixed").status_code == 303
    return Intent.objects.get(pk=intent.pk), client


def shift(span: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('notifyops_test.shift', %s, true)", [span])


def ask(client: Any, intent: Intent) -> Any:
    return client.get(f"/reviews/{intent.pk}/outcome", headers=HTMX)


def test_a_page_watches_while_an_attempt_is_due_or_runs_and_gets_the_case_anew_in_the_end() -> None:
    intent, client = retried()
    html = client.get(f"/reviews/{intent.pk}/").content.decode()
    assert f'hx-get="/reviews/{intent.pk}/outcome" hx-trigger="every 2s"' in html
    assert ask(client, intent).status_code == 204
    shift("10 seconds")
    attempt = seed.accepted(1)
    go_on(intent, attempt[0])
    assert ask(client, intent).status_code == 204
    go_on(Intent.objects.get(pk=intent.pk), *attempt[1:])
    answer = ask(client, intent)
    assert answer.status_code == 286
    html = answer.content.decode()
    assert "The case has moved on: Accepted by provider." in html
    assert 'id="watch"' not in html
    assert html.count('id="case"') == 1


def test_where_no_worker_takes_it_the_page_looks_no_more_after_two_minutes() -> None:
    intent, client = retried()
    shift("1 minute")
    assert ask(client, intent).status_code == 204
    shift("3 minutes")
    answer = ask(client, intent)
    assert answer.status_code == 286
    assert "No worker has ended this yet, and this page looks no more by itself." in answer.content.decode()
    assert 'id="watch"' not in client.get(f"/reviews/{intent.pk}/").content.decode()


def test_the_undo_says_how_long_it_surely_waits() -> None:
    intent, client = retried()
    left = re.search(r'data-left-ms="(\d+)"', client.get(f"/reviews/{intent.pk}/").content.decode())
    assert left is not None
    assert 0 < int(left[1]) <= 8000
    shift("9 seconds")
    html = client.get(f"/reviews/{intent.pk}/").content.decode()
    assert "data-left-ms" not in html
    assert 'id="undo"' in html


def test_what_waits_for_a_person_is_not_watched_and_without_htmx_the_address_leads_to_the_case() -> None:
    intent, client = make_case(cases.NOT_SENT), login("olga")
    assert intent.state == State.NEEDS_REVIEW
    assert 'id="watch"' not in client.get(f"/reviews/{intent.pk}/").content.decode()
    assert client.get(f"/reviews/{intent.pk}/outcome")["Location"] == f"/reviews/{intent.pk}/"
    assert client.get("/reviews/987654/outcome", headers=HTMX).status_code == 404
    client.logout()
    assert ask(client, intent).status_code == 286
