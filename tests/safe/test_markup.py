"""Markup in whatever somebody else wrote is shown as text: in list, case, record, notices, admin and commands."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connections
from django.utils.html import escape

from notifications.cli import seed
from notifications.models import Intent, Run, RunItem
from notifications.states import EntryKind
from tests.reviews.cases import NOT_SENT, go_on, login, owner, post
from tests.safe.routes import asked, logged_in, routes

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
# Each of H-SEC-3, in the fields that take free text. A report ID may hold no blank, and no more than 200 characters.
MARKUP = ("<img/src=x/onerror=alert(1)>", '"><script>alert(2)</script>', "{{7*7}}", "javascript:alert(3)")
LIVE = re.compile(r"<img/|<script>|\son\w+=alert|href=[\"']?javascript:")


def marked(steps: tuple[seed.Step, ...], text: str) -> tuple[seed.Step, ...]:
    """Let the provider have said the text."""
    return tuple(
        step if step.kind is EntryKind.CLAIMED else seed.Step(step.kind, {**step.facts, "detail": {"text": text}})
        for step in steps
    )


def owed(text: str) -> Intent:
    """Owe a notification whose report has the text for its ID, and let it fail three times."""
    with connections[owner()].cursor() as cursor:
        cursor.execute(
            "SELECT id FROM notifyops.enqueue('report_ready', %s, 'ana@example.com',"
            " jsonb_build_object('title', %s::text), jsonb_build_object('notification_id', 'marked/1'))",
            [text, text],
        )
        (number,) = cursor.fetchone()
    return go_on(Intent.objects.get(pk=number), *marked(NOT_SENT, text))


@pytest.mark.parametrize("text", MARKUP)
def test_markup_is_text_on_every_page(text: str) -> None:
    """H-SEC-3."""
    intent = owed(text)
    lead = login("lena")
    noted = post(lead, intent, "note", reason=f"It says {text} there.")
    assert noted.status_code == 303
    with connections[owner()].cursor() as cursor:
        cursor.execute("UPDATE notifyops_private.notifications_provideraccount SET name = %s", [text[:40]])
    run = Run.objects.create(kind="import", key=text, title=text, started_by=f"cli:{text}")
    RunItem.objects.create(run=run, place=1, code=text[:40])
    refused = post(lead, intent, "close", reason_code=text, reason=text)
    pages = [("refused", refused.content.decode())]
    boss = logged_in("superuser")
    named: dict[str, Any] = {"intent_id": intent.pk, "run_id": run.pk}
    for route in routes():
        answer = asked(boss, "GET", route.url(named))
        if answer.headers.get("Content-Type", "").startswith("text/html"):
            pages.append((route.path, answer.content.decode()))
    for query in (f"?q={text}", f"?code={text}", f"?state={text}", f"?after={text}"):
        pages.append((query, asked(lead, "GET", f"/reviews/{query}").content.decode()))
    shown = [where for where, html in pages if escape(text[:12]) in html]
    assert {"refused", "reviews/", "reviews/<int:intent_id>/"} <= set(shown), "it is shown, as text"
    live = {(where, found[0]) for where, html in pages if (found := LIVE.search(html)) and where != "admin/jsi18n/"}
    assert live == set()
