"""The case's page: facts in the order of an investigation, and exactly the verbs that are allowed now."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notifications.cli import seed
from notifications.models import Intent
from notifications.states import EntryKind, Outcome, State
from reviews import actions
from reviews.person import from_host
from tests.reviews import cases
from tests.reviews.cases import login, make_case, order, post

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]


TEAM = (
    *("/reviews/watching/", "/reviews/log/", "/reviews/log/export", "/reviews/stats/", "/reviews/help/"),
    *("/reviews/?taken=mine", "/reviews/log/?verb=close"),
)


def page(intent: Intent, who: str = "olga") -> str:
    response = login(who).get(f"/reviews/{intent.pk}/")
    assert response.status_code == 200
    return response.content.decode()


def verbs(html: str) -> list[str]:
    return re.findall(r'<form method="post" action="/reviews/\d+/(\w+)"', decision(html))


def decision(html: str) -> str:
    return html[html.index('<section id="decision"') :]


def test_the_sections_follow_an_investigation() -> None:
    html = page(make_case(cases.UNKNOWN))
    heads = re.findall(r'<h2 id="h-(\w+)"', html)
    assert heads == ["intent", "attempts", "protection", "deeds", "log", "decision"]


@pytest.mark.parametrize(
    ("steps", "sentence", "allowed", "forbidden"),
    [
        (cases.UNKNOWN, "The same key protects you until", ["query", "retry", "close", "wait", "note"], []),
        (
            cases.WINDOW_OVER,
            "a retry could be a second message",
            ["query", "close", "wait", "note"],
            ["retry", "resend"],
        ),
        (cases.NOT_SENT, "the first message that can arrive", ["retry", "close", "wait", "note"], []),
        (
            cases.RECIPIENT,
            "a retry is prepared anew, under a key that was never used",
            ["wait", "retry", "close", "note"],
            ["correct"],
        ),
        (cases.CONFLICT, "something did go out", ["query", "close", "wait", "note"], ["retry"]),
        (cases.BOUNCED, "refused it for good", ["wait", "close", "note"], ["retry", "correct"]),
        (cases.COMPLAINED, "reported it as unwanted", ["close", "wait", "note"], ["retry"]),
        (cases.ACCEPTED, "That does not mean that it arrived.", ["query", "close", "note"], ["retry"]),
        (cases.DELIVERED, "That does not mean that it was read.", ["query", "close", "note"], ["retry"]),
        ((), "Queued: a worker takes it when it is due.", ["close", "note"], ["retry"]),
    ],
)
def test_each_kind_of_case_has_its_sentence_and_its_verbs(steps, sentence, allowed, forbidden) -> None:
    html = page(make_case(steps))
    assert sentence in html
    assert verbs(html) == allowed
    assert re.findall(r'disabled aria-describedby="why-(\w+)"', html) == forbidden


def test_approval_is_offered_to_a_lead_and_shown_forbidden_to_an_operator() -> None:
    intent = make_case((), type="report_approved")
    assert verbs(page(intent, "lena"))[0] == "approve"
    html = page(intent)
    assert "approve" not in verbs(html)
    assert "Your account does not have the permission for this; ask a lead." in html


def test_a_viewer_sees_the_whole_case_no_form_of_a_verb_and_who_may_do_what() -> None:
    html = page(make_case((), type="report_approved"), "vera")
    assert verbs(html) == []
    told = dict(re.findall(r'id="why-(\w+)" class="why">.*?</svg> ?Your account [\w ]+; ask ([\w ]+)\.', html))
    assert {verb: told[verb] for verb in ("retry", "close", "note", "approve")} == {
        "retry": "an operator or a lead",
        "close": "an operator or a lead",
        "note": "an operator or a lead",
        "approve": "a lead",
    }


def test_a_form_carries_token_and_version_and_preselects_no_reason() -> None:
    intent = make_case()
    html = decision(page(intent))
    assert re.search(r'<input type="hidden" name="action_token" value="[0-9a-f-]{36}">', html)
    assert f'<input type="hidden" name="seq" value="{intent.seq}">' in html
    assert " selected" not in html
    assert len(set(re.findall(r'name="action_token" value="([^"]+)"', html))) == 4


def test_a_deep_link_to_a_closed_or_cancelled_case_shows_all_of_it_for_ever() -> None:
    closed, cancelled = make_case(cases.UNKNOWN), make_case(())
    actions.perform("close", closed.pk, order(closed, "duplicate"), from_host())
    said = order(cancelled, "business_cancelled", "The owner of it has taken it back.")
    actions.perform("withdraw", cancelled.pk, said, from_host())
    for intent, state in ((closed, "Closed"), (cancelled, "Cancelled")):
        html = page(intent, "vera")
        assert re.findall(r'<h2 id="h-(\w+)"', html) == ["intent", "attempts", "protection", "deeds", "log", "decision"]
        assert f"</svg>{state}</span>" in html
        assert "taken by nobody" not in html


def test_attempts_are_numbered_on_and_marked_auto_or_manual() -> None:
    html = page(make_case(cases.RETRIED))
    assert "1 of them manual" in html
    assert re.findall(r'<td [^>]+>(\d) <span class="tag">(\w+)</span>', html) == [
        ("1", "auto"), ("2", "auto"), ("3", "auto"), ("4", "manual"),
    ]  # fmt: skip


def test_only_what_agrees_with_the_next_action_is_recommended() -> None:
    marked = r'id="h-(\w+)">.*</svg> [^<]* <span class="tag">recommended'
    assert re.findall(marked, page(make_case(cases.NOT_SENT))) == ["retry"]
    assert re.findall(marked, page(make_case(cases.UNKNOWN))) == ["query"]
    intent = make_case()
    actions.perform("retry", intent.pk, order(intent, "provider_recovered"), from_host())
    html = page(intent, "lena")
    assert verbs(html)[0] == "undo"
    assert re.findall(marked, html) == []


def test_queued_becomes_accepted_only_from_the_log() -> None:
    intent = make_case()
    client = login("olga")
    post(client, intent, "retry", reason_code="provider_recovered")
    html = client.get(f"/reviews/{intent.pk}/").content.decode()
    assert "Retry queued" in html
    assert "Accepted by provider" not in html
    assert verbs(html) == ["undo", "close", "note"]


def test_closed_cases_stay_reachable_for_ever() -> None:
    intent = make_case()
    actions.perform("close", intent.pk, order(intent, "duplicate"), from_host())
    html = page(intent, "lena")
    assert "Closed by a person" in html
    assert verbs(html) == ["reopen", "note"] or verbs(html) == ["note", "reopen"]


def test_human_actions_tell_who_when_why_and_refused_tries() -> None:
    intent = make_case(cases.BOUNCED)
    client = login("olga")
    post(client, intent, "retry", reason_code="owner_asked")
    post(client, intent, "note", reason="The owner was told by phone today.")
    post(client, intent, "close", reason_code="delivered_elsewhere")
    html = client.get(f"/reviews/{intent.pk}/").content.decode()
    section = html.split('id="h-deeds"')[1].split("</section>")[0]
    assert (
        section.index("refused")
        < section.index("The owner was told by phone today.")
        < section.index("Delivered another way")
    )
    assert section.count("olga") == 3
    assert "Needs review → Closed" in section


def test_an_unknown_case_and_a_number_beyond_the_database_are_not_found() -> None:
    client = login("olga")
    for number in (10**9, 10**30):
        response = client.get(f"/reviews/{number}/")
        assert response.status_code == 404
        assert "IDs are never reused" in response.content.decode()


def test_a_page_takes_at_most_six_queries_beside_the_logins() -> None:
    intent = make_case(cases.UNKNOWN)
    client = login("olga")
    post(client, intent, "note", reason="Something to read later.")
    with CaptureQueriesContext(connection) as seen:
        client.get(f"/reviews/{intent.pk}/")
    ours = [one["sql"] for one in seen if not re.search(r"SAVEPOINT|django_session|auth_", one["sql"])]
    assert len(ours) <= 6, ours


def test_opening_every_page_writes_nothing() -> None:
    intent = make_case(cases.UNKNOWN)
    client = login("lena")
    with CaptureQueriesContext(connection) as seen:
        for url in ("/reviews/", "/reviews/?q=r", f"/reviews/{intent.pk}/", "/login/", "/reviews/999/", *TEAM):
            client.get(url)
    writes = [one["sql"] for one in seen if re.match(r"\s*(INSERT|UPDATE|DELETE)", one["sql"])]
    assert writes == []
    assert seen.captured_queries


def test_an_attempt_that_still_runs_and_a_late_answer_are_told_apart() -> None:
    intent = make_case((seed.Step(EntryKind.CLAIMED),))
    assert "still running" in page(intent)
    late = {"fence": 0, "attempt": 1, "outcome": Outcome.ACCEPTED, "provider_message_id": "late-1"}
    lost = seed.lost_worker()[1]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL notifyops_test.shift = '2 minutes'")
    cases.go_on(intent, lost, seed.Step(EntryKind.LATE, late))
    html = page(intent)
    assert "late answer:" in html
    assert State.NEEDS_REVIEW in html or "Needs review" in html


def test_what_was_lost_in_another_site_mode_says_the_one_way_out() -> None:
    stopped = seed.Step(
        EntryKind.INVALID,
        {"to_state": State.NEEDS_REVIEW, "code": "site_mode_changed", "known": "unknown", "next_action": "fix_config"},
    )
    html = page(make_case((*seed.attempt(Outcome.UNKNOWN, "unknown.deadline", State.RETRY), stopped)))
    assert "close it with what you know, or set NOTIFYOPS_SITE_MODE back" in html
