"""One advice everywhere: queue, head, form and terminal say the same of the same case, and blame whose fault it is."""

from __future__ import annotations

import html as entities
import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import translation

from notifications.cli import seed
from notifications.models import ConfigRevision, Intent
from notifications.policy.causes import UNPREPARED, action_of
from notifications.states import EntryKind, Found, Known, NextAction, Outcome, State
from reviews import code_labels, hints
from tests.intake.notify_cli import notify
from tests.reviews import cases
from tests.reviews.cases import login, make_case, owner
from tests.reviews.deciding import decide, now
from tests.reviews.test_review_command import as_json

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]


def unprepared(code: str) -> tuple[seed.Step, ...]:
    facts = {"to_state": State.NEEDS_REVIEW, "code": code, "known": Known.INVALID, "next_action": action_of(code)}
    return (seed.Step(EntryKind.INVALID, facts),)


def refused(status: int, name: str, field: str = "") -> tuple[seed.Step, ...]:
    code = f"resend.{status}.{name}"
    detail = {"detail": {"field": field}} if field else {}
    facts = {"http_status": status, "next_action": action_of(code, field), **detail}
    return seed.attempt(Outcome.REJECTED, code, State.NEEDS_REVIEW, **facts)


def page(intent: Intent, who: str = "lena") -> str:
    return entities.unescape(login(who).get(f"/reviews/{intent.pk}/").content.decode())


def head(html: str) -> str:
    found = re.search(r"Suggested</span> <b>([^<]*)</b>", html)
    return found[1] if found else ""


def marked(html: str) -> list[str]:
    return re.findall(r'<h3 id="h-(\w+)">.*</svg> [^<]+ <span class="tag">recommended', html)


def in_queue(intent: Intent, who: str = "lena") -> str:
    html = entities.unescape(login(who).get(f"/reviews/?q={intent.notification_id}").content.decode())
    found = re.search(r'data-label="Next action"><span>(.*?)</span>', html, re.DOTALL)
    assert found is not None
    return re.sub(r"<svg.*?</svg>|<[^>]*>", "", found[1], flags=re.DOTALL).strip()


ABSENT_IN_WINDOW = (*cases.UNKNOWN, seed.evidence(Found.NOT_FOUND))
TABLE: dict[str, tuple[Any, list[str]]] = {
    "not asked": (cases.WINDOW_OVER, ["query"]),
    "absent": (cases.ABSENT, ["retry"]),
    "absent, and the window open": (ABSENT_IN_WINDOW, ["retry"]),
    "found": ((*cases.WINDOW_OVER, seed.evidence(Found.FOUND, "id-1")), ["adopt"]),
    "not sent": (cases.NOT_SENT, ["retry"]),
    "bounced": (cases.BOUNCED, ["correct"]),
    "complained": (cases.COMPLAINED, ["close"]),
    "account, not mended": (refused(403, "validation_error"), []),
    "template or data": (unprepared("invalid_subject"), []),
    "a key that nobody takes": (unprepared("invalid_key"), ["close"]),
    "nobody knows which field": (refused(422, "validation_error"), []),
    "soft bounced": (cases.SOFT, ["retry"]),
}


@pytest.mark.parametrize(("steps", "verbs"), TABLE.values(), ids=TABLE)
def test_queue_head_form_and_terminal_say_the_same(steps: Any, verbs: list[str]) -> None:
    intent = make_case(steps)
    html = page(intent)
    assert marked(html) == verbs
    assert head(html)
    assert in_queue(intent) == head(html)
    shown, (row,) = as_json("show", intent.notification_id), as_json("list", "--q", intent.notification_id)
    assert shown["suggested"] == row["suggested"] == head(html)
    assert shown["recommended"] == next(iter(verbs), None)
    assert notify("explain", intent.notification_id).out.endswith(f"suggested now: {head(html)}.\n")


def test_a_row_says_what_was_suggested_at_first_where_more_is_known_since() -> None:
    intent = make_case(cases.ABSENT)
    html = entities.unescape(login("olga").get(f"/reviews/?q={intent.notification_id}").content.decode())
    assert (
        "Retry: the provider was asked, and nothing forbids it</span><small>at first: Ask the provider</small>" in html
    )


@pytest.mark.parametrize("steps", [cases.UNKNOWN, cases.ABSENT, cases.FOUND_TWICE, cases.COMPLAINED, cases.NOT_SENT])
def test_what_a_row_suggests_has_an_icon_whatever_it_stands_on(steps: Any) -> None:
    intent = make_case(steps)
    html = login("olga").get(f"/reviews/?q={intent.notification_id}").content.decode()
    assert re.search(r'class="c-next"[^>]*><span><svg ', html)


def test_a_retry_is_advised_once_the_account_was_changed() -> None:
    intent = make_case(refused(403, "validation_error"))
    assert (head(page(intent)), marked(page(intent))) == ("Mend the account, then retry", [])
    assert intent.review_since is not None
    ConfigRevision.objects.using(owner()).create(
        account_id=intent.account_id,
        revision=2,
        at=intent.review_since + timedelta(seconds=1),
        actor="user:lena",
        reason="The key was renewed.",
        after={},
    )
    html = page(intent)
    assert (head(html), marked(html)) == ("Retry: the account was changed since", ["retry"])
    assert in_queue(intent) == head(html)


@pytest.mark.parametrize("code", sorted(UNPREPARED - {"invalid_sender", "invalid_reply_to", "attachments_not_taken"}))
def test_what_the_caller_gave_is_never_blamed_on_the_account(code: str) -> None:
    intent = make_case(unprepared(code))
    for who in ("olga", "lena"):
        html = page(intent, who)
        assert "configuration of the provider account" not in html
        assert "Configuration of" not in html
    assert "Nothing could be prepared, so nothing was sent" in html
    assert "under a key that was never used" not in html
    assert "Configuration of" not in login("lena").get("/reviews/groups/").content.decode()


def test_the_provider_s_field_is_shown_and_decides_who_is_asked() -> None:
    for field, said, of_account in (("subject", "Mend the template", False), ("from", "Mend the account", True)):
        intent = make_case(refused(422, "validation_error", field))
        html = page(intent)
        assert f"field: {field}" in html
        assert head(html).startswith(said)
        assert ("Configuration of" in html) is of_account
        assert f"(field: {field})" in notify("show", intent.notification_id).out
        assert f", field {field}." in notify("explain", intent.notification_id).out
    assert "field:" not in page(make_case(refused(422, "validation_error", "secret@example.com")))


def test_that_there_may_be_two_stays_in_the_head_after_the_answer_was_adopted() -> None:
    intent = make_case(cases.FOUND_TWICE)
    decide("adopt", intent, code="evidence_found")
    assert now(intent).state == "accepted"
    html = page(intent)
    assert "another message of this notification: the recipient may have got both" in html
    assert "under one key" not in html


def test_only_the_attempts_that_are_unknown_are_said_to_be() -> None:
    assert "The provider may have accepted attempt 3." in page(make_case(cases.WINDOW_OVER))
    assert "one of the attempts 1, 2, 3." in page(make_case(cases.UNKNOWN))


def test_what_was_approved_no_longer_awaits_approval() -> None:
    intent = make_case((), type="report_approved")
    assert "notify preview --intent" in page(intent)
    decide("approve", intent, code="content_checked")
    html = page(intent)
    title = html[html.index('<div class="title">') : html.index('<div class="columns">')]
    assert "awaiting_approval" not in title
    assert "needs a person's approval" not in title
    assert "awaiting_approval" not in notify("show", intent.notification_id).out.split("seq")[0]


def test_the_terminal_shows_what_is_to_be_approved_and_no_page_does() -> None:
    intent = make_case((), type="report_approved", report_id="r-77")
    assert "r-77" in notify("preview", "--intent", intent.notification_id).out
    assert notify("preview").code == notify("preview", "report_ready", "--intent", "x").code == 1
    assert notify("preview", "--intent", "report-ready/nothing").code == 1
    assert "Report r-77" not in page(intent)


def test_explain_says_whether_what_was_accepted_arrived() -> None:
    assert notify("explain", make_case(cases.DELIVERED).notification_id).out.endswith(
        "now: accepted, delivery status: delivered.\n"
    )


def test_provider_s_names_are_words_of_the_reader_s_language() -> None:
    with translation.override("zh-hans"):
        assert hints.label("resend.403.validation_error") == "403 验证错误"
        for word in code_labels._WORDS.values():
            assert re.search("[\u4e00-\u9fff]", str(word))


def test_a_plain_404_stays_words_too() -> None:
    assert hints.label("resend.404.not_found") == "404 not found"
    assert NextAction.FIX_CONTENT.value == "fix_content"
