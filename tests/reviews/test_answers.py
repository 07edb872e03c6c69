"""What a page that waits for the provider's answer is given, and what the terminal shows of the answers."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from notifications.cli import seed
from notifications.models import Intent, Question
from notifications.states import Found
from tests.reviews import cases
from tests.reviews.cases import go_on, login, make_case, post

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
HTMX = {"HX-Request": "true"}


def url(intent: Intent) -> str:
    return f"/reviews/{intent.pk}/answers"


def asked(client: Client) -> Intent:
    intent = make_case(cases.WINDOW_OVER)
    assert post(client, intent, "query").status_code == 303
    return intent


def answered(intent: Intent, *said: seed.Step) -> None:
    go_on(intent, *said)
    Question.objects.filter(intent=intent).update(wanted_at=None, wanted_by=None, due_at=None)


def test_a_page_looks_for_the_answer_only_while_a_question_is_open() -> None:
    client = login("olga")
    intent = asked(client)
    case = f"/reviews/{intent.pk}/"
    assert f'hx-get="{url(intent)}" hx-trigger="every 2s"' in client.get(case).content.decode()
    response = client.get(url(intent), headers=HTMX)
    assert (response.status_code, response.content) == (204, b"")
    answered(intent, seed.evidence(Found.NOT_FOUND))
    assert "every 2s" not in client.get(case).content.decode()
    response = client.get(url(intent), headers=HTMX)
    html = response.content.decode()
    assert response.status_code == 286
    assert "HX-Request" in response["Vary"]
    assert "The answer has come" in html
    assert "every 2s" not in html
    assert html.count('<div id="answers"') == html.count('<section id="decision"') == 1
    assert 'hx-swap-oob="true"' in html
    assert f'action="/reviews/{intent.pk}/retry"' in html
    assert '<div id="case"' not in html


def test_the_looking_ends_after_two_minutes_without_an_answer() -> None:
    client = login("olga")
    intent = asked(client)
    at = Question.objects.get(intent=intent).wanted_at
    assert at is not None
    Question.objects.filter(intent=intent).update(wanted_at=at - timedelta(minutes=2))
    response = client.get(url(intent), headers=HTMX)
    html = response.content.decode()
    assert response.status_code == 286
    assert "this page looks no more by itself" in html
    assert "Look for the answer" in html
    assert "decision" not in html
    assert "every 2s" not in html
    assert "every 2s" not in client.get(f"/reviews/{intent.pk}/").content.decode()


def test_whoever_opens_the_address_itself_gets_the_case() -> None:
    client = login("olga")
    intent = asked(client)
    response = client.get(url(intent))
    assert (response.status_code, response["Location"]) == (302, f"/reviews/{intent.pk}/")


def test_strangers_and_lost_logins_get_nothing_and_no_page_is_left_for_it() -> None:
    intent = asked(login("olga"))
    assert login("sam").get(url(intent), headers=HTMX).status_code == 403
    response = Client().get(url(intent), headers=HTMX)
    assert (response.status_code, response["HX-Reswap"], response.content) == (286, "none", b"")
    assert "HX-Redirect" not in response
    assert login("olga").get("/reviews/987654/answers", headers=HTMX).status_code == 404
    assert login("olga").post(url(intent)).status_code == 405


def shown(intent: Intent, *more: str) -> Any:
    out = StringIO()
    call_command("review", "show", str(intent.pk), *more, stdout=out)
    return json.loads(out.getvalue()) if more else out.getvalue()


def test_the_terminal_shows_the_answers_newest_first_with_what_they_are_good_for() -> None:
    client = login("olga")
    intent = make_case(cases.WINDOW_OVER)
    assert "provider answered    nothing: not asked yet" in shown(intent)
    assert post(client, intent, "query").status_code == 303
    assert "being asked since" in shown(intent)
    unavailable = seed.evidence(Found.UNAVAILABLE)
    unavailable = seed.Step(unavailable.kind, {**unavailable.facts, "code": "lookup.no_key"})
    answered(intent, unavailable, seed.evidence(Found.FOUND, "id-1"), seed.evidence(Found.NOT_FOUND))
    text = shown(intent)
    assert "being asked since" not in text
    newest, found, oldest = [line for line in text.splitlines() if "  provider: " in line]
    assert "provider: Not found, by a scan of the provider's list, by itself, counts until 2" in newest
    assert "provider: Found, id-1, by a scan" in found
    assert "Unavailable" in oldest
    assert "No worker here has a key that may read from the provider" in oldest
    assert "counts until" not in found + oldest
    answers = shown(intent, "--json")["answers"]
    assert [answer["answer"] for answer in answers] == ["Not found", "Found", "Unavailable"]
    assert answers[1]["provider_message_ids"] == ["id-1"]
    assert (answers[0]["counts_until"] is not None, answers[1]["counts_until"]) == (True, None)
