"""Reading what was accepted: one mail, the list and its pages, scheduling, the logs, and paths that do not exist."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from notifications.sandbox.app import RunningSandbox
from tests.sandbox.callers import call, eventually, request_bytes, send, talk

TAGS = [{"name": "intent", "value": "7"}, {"name": "generation", "value": "1"}]


def last_event(sandbox: RunningSandbox, mail_id: str) -> str:
    return str(call(sandbox, "GET", f"/emails/{mail_id}").json["last_event"])


def test_a_mail_is_shown_with_everything_that_was_sent(sandbox: RunningSandbox) -> None:
    mail_id = send(sandbox, "k", html="<p>Ready</p>", cc="vera@example.com", tags=TAGS).json["id"]
    shown = call(sandbox, "GET", f"/emails/{mail_id}").json
    assert (shown["object"], shown["id"]) == ("email", mail_id)
    assert (shown["to"], shown["cc"], shown["bcc"]) == (["olga@example.com"], ["vera@example.com"], None)
    assert (shown["html"], shown["text"], shown["tags"]) == ("<p>Ready</p>", "Your report is ready.", TAGS)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}\+00", shown["created_at"])
    age = datetime.now(UTC) - datetime.fromisoformat(shown["created_at"])
    assert abs(age.total_seconds()) < 10
    assert shown["message_id"].startswith("<")


def test_an_unknown_mail_is_not_found(sandbox: RunningSandbox) -> None:
    heard = call(sandbox, "GET", "/emails/49a3999c-0ce1-4ea6-ab68-afcd6dc2e794")
    assert (heard.status, heard.name, heard.json["message"]) == (404, "not_found", "Email not found")


def test_a_mail_goes_from_sent_to_delivered(sandbox: RunningSandbox) -> None:
    mail_id = send(sandbox).json["id"]
    eventually(lambda: last_event(sandbox, mail_id) == "delivered")


def test_the_list_is_newest_first_and_hides_content_and_tags(sandbox: RunningSandbox) -> None:
    ids = [send(sandbox, tags=TAGS, html="<p>").json["id"] for _ in range(3)]
    listed = call(sandbox, "GET", "/emails").json
    assert (listed["object"], listed["has_more"]) == ("list", False)
    assert [row["id"] for row in listed["data"]] == ids[::-1]
    assert not {"html", "text", "tags"} & set(listed["data"][0])


def test_pages_follow_each_other_in_both_directions(sandbox: RunningSandbox) -> None:
    newest_first = [send(sandbox).json["id"] for _ in range(5)][::-1]

    def page(query: str) -> tuple[list[str], bool]:
        answer = call(sandbox, "GET", f"/emails?{query}").json
        return [row["id"] for row in answer["data"]], answer["has_more"]

    assert page("limit=2") == (newest_first[:2], True)
    assert page(f"limit=2&after={newest_first[1]}") == (newest_first[2:4], True)
    assert page(f"limit=2&after={newest_first[3]}") == (newest_first[4:], False)
    assert page(f"after={newest_first[4]}") == ([], False)
    assert page(f"limit=2&before={newest_first[4]}") == (newest_first[2:4], True)
    assert page(f"limit=2&before={newest_first[2]}") == (newest_first[:2], False)
    assert page(f"before={newest_first[0]}") == ([], False)


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "limit=x", "limit=", "limit=-1", "after=nobody", "after=a&before=b"]
)
@pytest.mark.parametrize("path", ["/emails", "/logs", "/suppressions", "/webhooks"])
def test_a_bad_page_is_refused(sandbox: RunningSandbox, path: str, query: str) -> None:
    heard = call(sandbox, "GET", f"{path}?{query}")
    assert (heard.status, heard.name) == (422, "validation_error")


def test_twenty_are_listed_unless_asked(sandbox: RunningSandbox) -> None:
    for _ in range(21):
        send(sandbox)
    answer = call(sandbox, "GET", "/emails").json
    assert (len(answer["data"]), answer["has_more"]) == (20, True)


def test_a_scheduled_mail_waits_for_its_time(sandbox: RunningSandbox) -> None:
    mail_id = send(sandbox, scheduled_at="in 1 hour").json["id"]
    assert last_event(sandbox, mail_id) == "scheduled"
    sandbox.clock(3_599)
    assert last_event(sandbox, mail_id) == "scheduled"
    sandbox.clock(2)
    assert last_event(sandbox, mail_id) in ("sent", "delivered")


def test_a_scheduled_mail_can_be_moved(sandbox: RunningSandbox) -> None:
    mail_id = send(sandbox, scheduled_at="in 1 hour").json["id"]
    moved = call(sandbox, "PATCH", f"/emails/{mail_id}", {"scheduled_at": "in 2 hours"})
    assert (moved.status, moved.json) == (200, {"object": "email", "id": mail_id})
    sandbox.clock(3_700)
    assert last_event(sandbox, mail_id) == "scheduled"
    sandbox.clock(3_600)
    assert last_event(sandbox, mail_id) in ("sent", "delivered")
    assert call(sandbox, "PATCH", f"/emails/{mail_id}", {"scheduled_at": "in 2 hours"}).status == 422
    assert call(sandbox, "PATCH", f"/emails/{mail_id}", {}).name == "missing_required_field"


def test_a_cancelled_mail_never_goes_and_cannot_be_moved(sandbox: RunningSandbox) -> None:
    mail_id = send(sandbox, scheduled_at="in 1 hour").json["id"]
    cancelled = call(sandbox, "POST", f"/emails/{mail_id}/cancel")
    assert (cancelled.status, cancelled.json) == (200, {"object": "email", "id": mail_id})
    sandbox.clock(7_200)
    assert last_event(sandbox, mail_id) == "canceled"
    assert call(sandbox, "POST", f"/emails/{mail_id}/cancel").status == 422
    assert call(sandbox, "PATCH", f"/emails/{mail_id}", {"scheduled_at": "in 2 hours"}).status == 422


def test_only_a_scheduled_mail_can_be_cancelled(sandbox: RunningSandbox) -> None:
    mail_id = send(sandbox).json["id"]
    assert call(sandbox, "POST", f"/emails/{mail_id}/cancel").status == 422
    assert call(sandbox, "POST", "/emails/nobody/cancel").status == 404


def test_logs_hold_each_request_with_agent_and_bodies(sandbox: RunningSandbox) -> None:
    mail_id = send(sandbox, "k").json["id"]
    call(sandbox, "POST", "/emails", b"{", user_agent="notifyops/1.0 (i=7)")
    rows = call(sandbox, "GET", "/logs?limit=2").json["data"]
    assert [(row["method"], row["endpoint"], row["response_status"]) for row in rows] == [
        ("POST", "/emails", 400),
        ("POST", "/emails", 200),
    ]
    assert rows[0]["user_agent"] == "notifyops/1.0 (i=7)"
    assert "request_body" not in rows[0]
    log = call(sandbox, "GET", f"/logs/{rows[1]['id']}").json
    assert (log["object"], log["request_body"]["to"], log["response_body"]) == (
        "log",
        "olga@example.com",
        {"id": mail_id},
    )
    assert call(sandbox, "GET", f"/logs/{rows[0]['id']}").json["request_body"] is None
    assert call(sandbox, "GET", "/logs/nobody").json["message"] == "Log not found"


def test_a_lost_answer_is_in_the_logs_as_it_was_meant(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="after_accept", kind="close")
    talk(sandbox, request_bytes(sandbox, "k"))
    row = call(sandbox, "GET", "/logs").json["data"][0]
    assert row["response_status"] == 200
    assert call(sandbox, "GET", f"/logs/{row['id']}").json["response_body"] == {"id": sandbox.ledger("k").ids[0]}


def test_logs_keep_only_the_latest(sandbox: RunningSandbox) -> None:
    sandbox.configure(log_limit=3)
    for _ in range(5):
        send(sandbox)
    assert len(call(sandbox, "GET", "/logs").json["data"]) <= 3


@pytest.mark.parametrize(
    ("method", "path", "status", "name"),
    [
        ("GET", "/", 404, "not_found"),
        ("GET", "/domains", 404, "not_found"),
        ("POST", "/emails/a/b/c", 404, "not_found"),
        ("PUT", "/emails", 405, "method_not_allowed"),
        ("GET", "/emails/batch/", 404, "not_found"),
        ("PUT", "/emails/batch", 405, "method_not_allowed"),
        ("DELETE", "/emails/1", 405, "method_not_allowed"),
        ("POST", "/logs", 405, "method_not_allowed"),
        ("PUT", "/webhooks", 405, "method_not_allowed"),
    ],
)
def test_what_does_not_exist_is_said_to_be_missing(
    sandbox: RunningSandbox, method: str, path: str, status: int, name: str
) -> None:
    heard = call(sandbox, method, path)
    assert (heard.status, heard.name) == (status, name)
