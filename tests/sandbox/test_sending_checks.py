"""The checks of POST /emails, in the order in which the provider makes them."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from notifications.sandbox.app import RunningSandbox, running_sandbox
from tests.sandbox.callers import MESSAGE, Heard, call, order, send


def refused(heard: Heard, status: int, name: str) -> str:
    """Check an error answer against the shape every error has, and give its sentence."""
    assert (heard.status, heard.name, heard.json["statusCode"]) == (status, name, status)
    assert heard.header("content-type") == "application/json; charset=utf-8"
    return str(heard.json["message"])


def test_a_message_is_accepted_with_an_id(sandbox: RunningSandbox) -> None:
    heard = send(sandbox, "report-ready/demo-001")
    assert heard.status == 200
    assert list(heard.json) == ["id"]
    row = sandbox.ledger("report-ready/demo-001")
    assert (row.accepted, row.ids, row.http_requests, row.replays) == (1, [heard.json["id"]], 1, 0)


def test_a_fault_comes_before_every_other_check(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="before_accept", kind="status", status=503, name="service_unavailable")
    refused(call(sandbox, "POST", "/emails", b"{", user_agent=None, authorization=None), 503, "service_unavailable")


@pytest.mark.parametrize("agent", [None, ""])
def test_a_caller_without_user_agent_is_stopped_at_the_edge(sandbox: RunningSandbox, agent: str | None) -> None:
    heard = call(sandbox, "POST", "/emails", MESSAGE, user_agent=agent, authorization=None)
    assert (heard.status, heard.raw) == (403, b"error code: 1010")
    assert str(heard.header("content-type")).startswith("text/plain")


def in_one_window(calls: Callable[[], list[Heard]]) -> list[Heard]:
    """Make the calls at the beginning of a second, again and again until all of them fell into one."""
    for _ in range(60):
        time.sleep(1.0 - time.monotonic() % 1.0)
        began = time.monotonic()
        heard = calls()
        if began // 1 == time.monotonic() // 1:
            return heard
    raise AssertionError("this machine is too busy to make these calls within one second")


@pytest.mark.slow
def test_the_rate_window_refuses_what_exceeds_it_and_says_when_to_come_back() -> None:
    with running_sandbox(rate_per_s=3) as sandbox:
        first, *_, fourth = in_one_window(lambda: [send(sandbox) for _ in range(4)])
        assert first.status == 200
        assert first.header("ratelimit-policy") == "3;w=1"
        assert first.header("ratelimit-limit") == "3"
        assert first.header("ratelimit-remaining") == "2"
        assert first.header("ratelimit-reset") == "1"
        assert first.header("retry-after") is None
        refused(fourth, 429, "rate_limit_exceeded")
        assert fourth.header("retry-after") == "1"
        time.sleep(1.0)
        assert send(sandbox).status == 200


@pytest.mark.slow
def test_the_rate_is_checked_before_the_key() -> None:
    with running_sandbox(rate_per_s=1) as sandbox:
        _, second = in_one_window(
            lambda: [send(sandbox), call(sandbox, "POST", "/emails", MESSAGE, authorization=None)]
        )
        refused(second, 429, "rate_limit_exceeded")


def test_each_kind_of_api_key_is_told_apart(sandbox: RunningSandbox) -> None:
    sandbox.configure(suspended_keys=["re_suspended"])
    sending = f"Bearer {sandbox.sending_key}"
    refused(call(sandbox, "POST", "/emails", MESSAGE, authorization=None), 401, "missing_api_key")
    for wrong in ("Bearer re_wrong", "Bearer ", "Basic re_sandbox_full"):
        assert refused(call(sandbox, "POST", "/emails", MESSAGE, authorization=wrong), 401, "validation_error")
        assert refused(call(sandbox, "GET", "/emails", authorization=wrong), 400, "validation_error")
    refused(call(sandbox, "GET", "/emails", authorization=sending), 401, "restricted_api_key")
    refused(call(sandbox, "POST", "/emails", MESSAGE, authorization="Bearer re_suspended"), 403, "suspended_api_key")
    assert call(sandbox, "POST", "/emails", MESSAGE, authorization=sending).status == 200
    assert call(sandbox, "POST", "/emails", MESSAGE).status == 200


@pytest.mark.parametrize(("key", "status"), [("", 400), ("k", 200), ("k" * 256, 200), ("k" * 257, 400)])
def test_an_idempotency_key_has_1_to_256_characters(sandbox: RunningSandbox, key: str, status: int) -> None:
    heard = send(sandbox, key)
    assert heard.status == status
    if status == 400:
        refused(heard, 400, "invalid_idempotency_key")


def test_the_key_is_checked_before_the_body(sandbox: RunningSandbox) -> None:
    refused(call(sandbox, "POST", "/emails", b"{", idempotency_key=""), 400, "invalid_idempotency_key")


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a":' + b"9" * 5_000 + b"}"])
def test_a_body_that_is_not_json_is_refused(sandbox: RunningSandbox, body: bytes) -> None:
    refused(call(sandbox, "POST", "/emails", body), 400, "validation_error")


@pytest.mark.parametrize("field", ["from", "to", "subject"])
@pytest.mark.parametrize("empty", [None, "", []])
def test_a_missing_field_is_named(sandbox: RunningSandbox, field: str, empty: object) -> None:
    body = {**MESSAGE, field: empty}
    assert f"`{field}`" in refused(call(sandbox, "POST", "/emails", body), 422, "missing_required_field")


def test_a_message_without_content_is_refused(sandbox: RunningSandbox) -> None:
    refused(send(sandbox, text=None), 422, "missing_required_field")


@pytest.mark.parametrize(
    "changes",
    [
        {"to": "olga"},
        {"to": ["olga@example.com", "nobody"]},
        {"to": 7},
        {"to": {"email": "olga@example.com"}},
        {"to": "olga@example.com\r\nBcc: sam@example.com"},
        {"to": [f"person{number}@example.com" for number in range(51)]},
        {"from": ["reports@example.com"]},
        {"from": "Acme"},
        {"cc": "nobody"},
        {"bcc": ["nobody"]},
        {"reply_to": "nobody"},
        {"subject": "one\ntwo"},
        {"subject": {"a": 1}},
        {"text": 5},
        {"html": ["<p>"]},
        {"headers": {"X-Count": 5}},
        {"headers": ["X-Count"]},
        {"tags": {"intent": "1"}},
        {"tags": [{"name": "intent", "value": "report-ready/demo-001"}]},
        {"tags": [{"name": "intent"}]},
        {"tags": ["intent"]},
        {"tags": [{"name": f"n{number}", "value": "v"} for number in range(76)]},
        {"tags": [{"name": "long", "value": "v" * 257}]},
        {"template": {"id": "welcome"}},
        {"template": "welcome", "text": None},
        {"scheduled_at": "whenever"},
        {"scheduled_at": 5},
        {"scheduled_at": "in 31 days"},
        {"scheduled_at": "2001-01-01T00:00:00Z"},
        {"scheduled_at": "2999-01-01T00:00:00.123456Z"},
    ],
)
def test_a_bad_field_is_refused_and_named(sandbox: RunningSandbox, changes: dict[str, Any]) -> None:
    sentence = refused(send(sandbox, "k", **changes), 422, "validation_error")
    assert any(name in sentence.lower() for name in changes)
    assert sandbox.ledger("k").accepted == 0


def test_what_is_allowed_is_accepted(sandbox: RunningSandbox) -> None:
    soon = (datetime.now(UTC) + timedelta(days=1)).isoformat(timespec="milliseconds")
    assert send(sandbox, to=["Olga P. <olga@example.com>", "vera+tag@example.com"], cc="lena@example.com").status == 200
    assert send(sandbox, text=None, html="<p>ok</p>", headers={"X-A": "b"}, reply_to=["lena@example.com"]).status == 200
    assert send(sandbox, text=None, template={"id": "welcome", "variables": {"a": 1}}).status == 200
    assert send(sandbox, tags=[{"name": "intent", "value": "1"}], scheduled_at=soon).status == 200
    assert send(sandbox, scheduled_at="in 5 minutes").status == 200
    assert send(sandbox, attachments=[{"filename": "a.txt", "content": "YQ=="}]).status == 200
    refused(send(sandbox, attachments=[{"filename": "a.txt"}]), 422, "invalid_attachment")


def test_a_sender_of_an_unverified_domain_is_refused_by_name(sandbox: RunningSandbox) -> None:
    sentence = refused(send(sandbox, **{"from": "Acme <a@mail.Example.com>"}), 403, "validation_error")
    assert "mail.example.com" in sentence
    sandbox.configure(domains=["example.com", "mail.example.com"])
    assert send(sandbox, **{"from": "Acme <a@mail.example.com>"}).status == 200


def test_quotas_count_recipients_and_the_answers_show_what_is_used() -> None:
    with running_sandbox(daily_quota=3, monthly_quota=4) as sandbox:
        first = send(sandbox, to=["olga@example.com", "vera@example.com"])
        assert (first.header("x-resend-daily-quota"), first.header("x-resend-monthly-quota")) == ("2", "2")
        refused(send(sandbox, to=["olga@example.com", "vera@example.com"]), 429, "daily_quota_exceeded")
        assert send(sandbox).status == 200
        order(sandbox, "POST", "clock", {"advance": 86_400})
        # The next day may be the next month: then there is a new month's quota as well.
        second_day = [send(sandbox).status for _ in range(4)]
        assert second_day in ([200, 429, 429, 429], [200, 200, 200, 429])


def test_without_quotas_only_the_monthly_count_is_shown(sandbox: RunningSandbox) -> None:
    heard = send(sandbox)
    assert heard.header("x-resend-daily-quota") is None
    assert heard.header("x-resend-monthly-quota") == "1"
    assert str(heard.header("cf-ray")).endswith("-AMS")
