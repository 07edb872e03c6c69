"""What is planted in address, subject, body and a provider's words is found on no page, in no answer and in no log.

Every address of the URLconf is opened, as whoever may see most; a new page is looked through without being named here.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from notifications.models import Content, Intent, Prepared
from notifyops.logs import JsonLines
from tests.api.callers import caller
from tests.api.feed import advance
from tests.delivery.workplace import Workplace
from tests.intake.attaching import attached, linked
from tests.intake.notify_cli import notify
from tests.reviews import cases
from tests.reviews.cases import make_case, post
from tests.reviews.test_privacy import planted
from tests.safe.routes import asked, logged_in, routes

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
ADDRESS = "canarylocal@canarydomain.example.com"
TITLE, SAID = "CANARY-TITLE", "CANARY-PROVIDER-SAID"
CANARIES = ("canarylocal", "canarydomain", "CANARY-", "canary-typed")
STORIES = {
    "unknown": cases.UNKNOWN,
    "recipient": cases.RECIPIENT,
    "bounced": cases.BOUNCED,
    "conflict": cases.CONFLICT,
    "absent": cases.ABSENT,
    "found twice": cases.FOUND_TWICE,
    "undecided": cases.UNDECIDED,
    "held": (),
}


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """Give all lines that the process would log, as it would print them, debug ones included."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    loggers = [logging.getLogger(name) for name in ("", "django", "axes", "uvicorn", "django-q")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        # Django's own debug lines quote every statement with its values; nobody runs with them on.
        logger.setLevel(logging.INFO)
    yield stream
    for logger, level in zip(loggers, before, strict=True):
        logger.removeHandler(handler)
        logger.setLevel(level)


def delivered(place: Workplace) -> list[Intent]:
    """Send real messages whose address, title, subject and body hold canaries, to a provider that repeats them."""
    answers = {
        "reject": {"status": 422, "body": {"name": "validation_error", "message": f"{SAID} {ADDRESS} {TITLE}"}},
        "outage": {"status": 500, "text": f"<html>{SAID} {ADDRESS}</html>"},
        "refused": {"status": 403, "body": {"name": "restricted_api_key", "message": f"{SAID} {ADDRESS}"}},
    }
    made = []
    for name, answer in answers.items():
        made.append(place.enqueue(f"planted-{name}", to=ADDRESS, data={"title": TITLE}))
        text = answer.pop("text", None) or json.dumps(answer.pop("body"))
        place.sandbox.fault(kind="status", match=f"planted-{name}$", body_text=text, **answer)
    files = [attached(name="CANARY-FILE.pdf"), linked("https://127.0.0.1:9/CANARY-LINK", b"x", name="CANARY-TOO.pdf")]
    made.append(place.enqueue("planted-fetched", to=ADDRESS, data={"title": TITLE}, attachments=files))  # type: ignore[arg-type]
    made.append(place.enqueue("planted-attached", to=ADDRESS, data={"title": TITLE}, attachments=files[:1]))  # type: ignore[arg-type]
    made.append(place.enqueue("planted-accepted", to=ADDRESS, data={"title": TITLE}))
    place.turn()
    return [place.intent(intent) for intent in made]


def decided(cases_made: list[Intent]) -> list[str]:
    """Let a lead type what may not be kept, and refuse it; give the answers."""
    lead, said = logged_in("lead"), []
    for intent in cases_made:
        for verb, more in (
            ("correct", {"address": "canary-typed@example.com <x>", "reason": "A letter was missing there."}),
            ("note", {"reason": "Ask canary-typed@example.com about it."}),
            ("close", {"reason_code": "cannot_be_fixed", "reason": "It went to canary-typed@example.com"}),
            ("retry", {"reason_code": "canary-typed@example.com"}),
        ):
            answer = post(lead, intent, verb, **more)
            assert answer.status_code == 422, (verb, answer.status_code)
            if verb == "correct":  # what was typed into the other fields stays for its writer to mend
                said.append(answer.content.decode())
    return said


SAID_BY_REVIEW: tuple[tuple[str, ...], ...] = (("list", "--state", "any"), ("list", "--state", "any", "--json"))
SAID_BY_NOTIFY: tuple[tuple[str, ...], ...] = (
    *(("status",), ("status", "--json"), ("types",), ("runs",), ("pauses",), ("doctor",), ("verify",)),
    *(("outcomes", "--json"), ("token", "list"), ("tail", "--lines", "200")),
)
SAID_OF_ONE: tuple[tuple[str, ...], ...] = (("show",), ("show", "--json"), ("explain",))


def printed(intents: list[Intent]) -> Iterator[tuple[str, str]]:
    """Give what the commands say."""
    for words in SAID_BY_REVIEW:
        yield f"review {words}", ran("review", *words)
    for words in SAID_BY_NOTIFY:
        found = notify(*words)
        yield f"notify {words}", found.out + found.err
    for intent in intents:
        yield "review show", ran("review", "show", str(intent.pk)) + ran("review", "show", str(intent.pk), "--json")
        for words in SAID_OF_ONE:
            found = notify(words[0], intent.notification_id, *words[1:])
            assert intent.report_id in found.out, words
            assert "set aside until ." not in found.out
            # By contract it prints the log's own columns, in which no code of ours ever puts a provider's text.
            text = found.out.replace("CANARY-PROVIDER-TEXT", "") if "--json" in words else found.out
            yield f"notify {words}", text + found.err


def ran(*words: str) -> str:
    out = io.StringIO()
    with contextlib.suppress(SystemExit):
        call_command(*words, stdout=out, stderr=out)
    return out.getvalue()


def test_planted_words_are_nowhere_they_may_not_be(place: Workplace, logged: io.StringIO) -> None:
    sent = delivered(place)
    assert TITLE in str(Prepared.objects.get(intent_id=sent[0].pk).subject), "the canaries sit where they should"
    played = [make_case(planted(steps), recipient=ADDRESS) for steps in STORIES.values()]
    assert Content.objects.filter(recipient=ADDRESS).count() == len(sent) + len(played)
    pages = [("refused", text) for text in decided(played)]
    advance(place)
    pages += looked_at([*sent, *played])
    pages += printed([*sent, *played])
    pages.append(("log lines", logged.getvalue()))
    assert len(pages) > 300
    found = {(where, word) for where, text in pages for word in CANARIES if word in text}
    assert found == set()


def looked_at(intents: list[Intent]) -> list[tuple[str, str]]:
    """Give every address, for every case where it takes one, as a superuser, a lead, and a program with a token."""
    boss, lead = logged_in("superuser"), logged_in("lead")
    User.objects.filter(username="lena").update(is_staff=True)
    token = {"Authorization": f"Bearer {caller('read', 'enqueue', workspaces=('*',)).token}"}
    seen = []
    for route in routes():
        about_one = "<int:intent" in route.path or route.path.startswith("admin/notifications/intent/<")
        for intent in intents if about_one else intents[:1]:
            url = route.url({"intent_id": intent.pk, "intent": intent.pk, "account": "resend"})
            if about_one and route.path.startswith("admin/"):
                url = url.replace(f"/{Intent.objects.order_by('-pk')[0].pk}/", f"/{intent.pk}/")
            asks = [(boss, {}), (lead, {"HX-Request": "true"})] if "api/" not in url else [(boss, {}), (boss, token)]
            for browser, headers in asks:
                answer: Any = asked(browser, "GET", url, headers=headers)
                body = b"".join(answer) if answer.streaming else answer.content
                seen.append((route.path, body.decode() + repr(answer.headers)))
            if answer.status_code == 405:
                break  # the address of a deed, for every case alike
    for query in ("?state=any", "?state=any&size=100", "?q=planted-reject", f"?q={ADDRESS.replace('canary', 'c')}"):
        seen.append((query, asked(lead, "GET", f"/reviews/{query}").content.decode()))
    return seen
