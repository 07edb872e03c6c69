"""The verbs over HTTP: with and without JavaScript, repeated, stale, refused, logged out."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from django.test import Client
from django.utils.html import escape

from notifications.models import Intent
from reviews.models import VERBS, Note, Review
from tests.reviews import cases
from tests.reviews.cases import login, make_case, post

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
HTMX = {"HX-Request": "true"}
EXPLAINED = "Nobody reads this mailbox any more."


def now(intent: Intent) -> Intent:
    return Intent.objects.get(pk=intent.pk)


def test_without_javascript_a_decision_leads_back_to_the_page_with_a_notice() -> None:
    intent = make_case()
    client = login("olga")
    response = post(client, intent, "close", reason_code="duplicate", next=f"/reviews/{intent.pk}/?from=mail")
    assert (response.status_code, response["Location"]) == (303, f"/reviews/{intent.pk}/?from=mail")
    html = client.get(response["Location"]).content.decode()
    assert "Closed. It stays in the log, and a lead can reopen it." in html
    assert now(intent).state == "closed"


@pytest.mark.parametrize(
    "evil", ["https://evil.example.com/", "//evil.example.com/reviews/", "/admin/", "javascript:alert(1)"]
)
def test_a_forged_way_back_leads_to_the_case(evil) -> None:
    intent = make_case()
    response = post(login("olga"), intent, "close", reason_code="duplicate", next=evil)
    assert response["Location"] == f"/reviews/{intent.pk}/"


def test_with_htmx_the_answer_is_the_case_anew() -> None:
    intent = make_case()
    response = post(login("olga"), intent, "retry", reason_code="provider_recovered", headers=HTMX)
    html = response.content.decode()
    assert response.status_code == 200
    assert html.strip().startswith('<div id="case"')
    assert 'role="status"' in html
    assert f'action="/reviews/{intent.pk}/undo"' in html


def test_the_same_form_again_answers_200_and_says_when_it_was_done() -> None:
    intent = make_case()
    client, token = login("olga"), str(uuid4())
    post(client, intent, "retry", reason_code="code_fixed", action_token=token)
    again = post(client, intent, "retry", reason_code="code_fixed", action_token=token)
    assert again.status_code == 200
    assert re.search(r"Already done by you at \d\d:\d\d:\d\d UTC", again.content.decode())
    assert Review.objects.filter(intent_id=intent.pk).count() == 1
    assert now(intent).seq == intent.seq + 1


def test_a_stale_form_is_409_keeps_the_reason_and_the_same_token_works_afterwards() -> None:
    intent = make_case()
    client, token = login("olga"), str(uuid4())
    post(login("lena"), intent, "retry", reason_code="code_fixed")
    stale = post(client, intent, "close", reason_code="test_data", reason=EXPLAINED, action_token=token)
    html = stale.content.decode()
    assert stale.status_code == 409
    assert "Retry ordered, by lena" in html
    assert EXPLAINED in html
    assert '<option value="test_data" data-text selected>' in html
    assert now(intent).state == "retry"
    fresh = post(client, now(intent), "close", reason_code="test_data", reason=EXPLAINED, action_token=token)
    assert fresh.status_code == 303


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, "Choose a reason"),
        ({"reason_code": "because"}, "This reason does not exist here"),
        ({"reason_code": "provider_recovered"}, "This reason does not exist here"),
        ({"reason_code": "test_data"}, "needs a text"),
        ({"reason_code": "test_data", "reason": "short"}, "10 to 500"),
        ({"reason_code": "duplicate", "reason": "x" * 501}, "10 to 500"),
        ({"reason_code": "duplicate", "reason": "for ana@example.com as asked"}, "refer by ID"),
        ({"reason_code": "duplicate", "reason": "call her on +49 170 1234567"}, "refer by ID"),
        ({"reason_code": "duplicate", "reason": "a bell \x07 rang in the text"}, "control characters"),
        ({"reason_code": "duplicate", "action_token": "no-uuid"}, "cannot be read"),
        ({"reason_code": "duplicate", "seq": "-1"}, "cannot be read"),
        ({"reason_code": "duplicate", "seq": "9" * 30}, "cannot be read"),
    ],
)
def test_a_bad_form_is_422_with_a_sentence_and_changes_nothing(fields, told) -> None:
    intent = make_case()
    response = post(login("olga"), intent, "close", **fields)
    assert response.status_code == 422
    assert told in response.content.decode()
    assert now(intent).seq == intent.seq
    assert post(login("olga"), intent, "close", reason_code="duplicate").status_code == 303


def test_a_window_that_closed_makes_a_retry_422() -> None:
    intent = make_case(cases.WINDOW_OVER)
    response = post(login("lena"), intent, "retry", reason_code="evidence_not_sent")
    assert response.status_code == 422
    assert "needs evidence from the provider" in response.content.decode()
    assert post(login("lena"), intent, "close", reason_code="duplicate").status_code == 303


def test_no_verb_is_done_by_get_and_every_one_needs_its_csrf_token() -> None:
    intent = make_case()
    client = login("lena")
    for verb in VERBS:
        assert client.get(f"/reviews/{intent.pk}/{verb}").status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = client.cookies
    refused = post(strict, intent, "close", reason_code="duplicate")
    assert refused.status_code == 403
    assert "The login changed in another tab" in refused.content.decode()
    assert now(intent).seq == intent.seq


def test_an_ended_session_leads_to_the_login_and_back_to_the_whole_page() -> None:
    intent = make_case()
    client = Client()
    whole = "http://testserver/reviews/?known=unknown"
    fragment = client.get("/reviews/?size=25", headers=HTMX | {"HX-Current-URL": whole})
    assert (fragment.status_code, fragment["HX-Redirect"]) == (401, "/login/?next=%2Freviews%2F%3Fknown%3Dunknown")
    assert fragment.content == b""
    posted = post(client, intent, "close", reason_code="duplicate", headers=HTMX)
    assert posted["HX-Redirect"] == f"/login/?next=%2Freviews%2F{intent.pk}%2F"
    plain = post(client, intent, "close", reason_code="duplicate")
    assert (plain.status_code, plain["Location"]) == (302, f"/login/?next=/reviews/{intent.pk}/")
    assert now(intent).seq == intent.seq


def test_the_case_leads_back_to_the_queue_with_its_filters() -> None:
    intent = make_case()
    client = login("olga")
    client.get("/reviews/?known=not_sent&q=r")
    html = client.get(f"/reviews/{intent.pk}/").content.decode()
    assert re.search(r'href="/reviews/\?known=not_sent&amp;q=r"><svg .*</svg> Back to the queue', html)


def test_a_note_twice_is_one_note() -> None:
    intent = make_case()
    client, token = login("olga"), str(uuid4())
    for _ in range(2):
        post(client, intent, "note", reason="Asked the owner, waiting.", action_token=token)
    assert Note.objects.filter(intent_id=intent.pk).count() == 1


@pytest.mark.parametrize(
    "evil", ["<img src=x onerror=alert(1)>", '"><script>alert(1)</script>', "{{7777*7777}}", "{% now 'Y' %}"]
)
def test_markup_in_ids_and_reasons_is_shown_as_text(evil) -> None:
    intent = seed_with_id(evil)
    client = login("olga")
    post(client, intent, "note", reason=f"Seen in the report: {evil}")
    for url in ("/reviews/?state=any", f"/reviews/{intent.pk}/", f"/reviews/?q={evil}"):
        html = client.get(url).content.decode()
        assert "<img src=x" not in html
        assert "<script>alert" not in html
        assert str(7777 * 7777) not in html
    deeds = client.get(f"/reviews/{intent.pk}/").content.decode().split('id="h-deeds"')[1].split("</section>")[0]
    assert escape(evil) in deeds


def seed_with_id(report_id: str) -> Intent:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM notifyops.enqueue('report_approved', %s, 'ana@example.com', '{\"title\": \"x\"}',"
            ' \'{"notification_id": "evil-1"}\')',
            [report_id],
        )
        return Intent.objects.get(pk=cursor.fetchone()[0])
