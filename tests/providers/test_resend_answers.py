"""Resend's answers, each row of the tables: what they prove, and what is kept of them."""

from __future__ import annotations

import asyncio
import json
import time
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notifications.providers import resend_errors
from notifications.providers.outcomes import OUTCOMES
from notifications.providers.resend import ResendProvider
from notifications.states import Outcome, Phase, ResultClass
from tests.providers.attempts import attempt, resend, sent_once
from tests.providers.conftest import Runner
from tests.providers.scripted_server import answer, answering, scripted

C = ResultClass
CLASSES = {
    (400, "invalid_idempotency_key"): C.FIX_CONFIG,
    (400, "validation_error"): C.FIX_CONFIG,
    (401, "missing_api_key"): C.FIX_CONFIG,
    (401, "restricted_api_key"): C.FIX_CONFIG,
    (401, "validation_error"): C.FIX_CONFIG,
    (403, "suspended_api_key"): C.FIX_CONFIG,
    (403, "validation_error"): C.FIX_CONFIG,
    (404, "not_found"): C.FIX_CONFIG,
    (405, "method_not_allowed"): C.FIX_CONFIG,
    (408, None): C.UNKNOWN,
    (409, "concurrent_idempotent_requests"): C.IN_FLIGHT,
    (409, "invalid_idempotent_request"): C.CONFLICT,
    (409, "resource_locked"): C.RETRYABLE,
    (409, "something_new"): C.UNKNOWN_STOP,
    (409, None): C.UNKNOWN_STOP,
    (413, None): C.FIX_CONFIG,
    (415, None): C.FIX_CONFIG,
    (418, "teapot"): C.FIX_CONFIG,
    (422, "missing_required_field"): C.FIX_CONFIG,
    (422, "invalid_attachment"): C.FIX_CONFIG,
    (422, "invalid_to_address"): C.RECIPIENT,
    (425, None): C.UNKNOWN,
    (429, None): C.RATE_LIMITED,
    (429, "rate_limit_exceeded"): C.RATE_LIMITED,
    (429, "daily_quota_exceeded"): C.QUOTA,
    (429, "monthly_quota_exceeded"): C.QUOTA,
    (451, "security_error"): C.FIX_CONFIG,
    (500, "application_error"): C.UNKNOWN,
    (500, "validation_error"): C.UNKNOWN,
    (502, None): C.UNKNOWN,
    (503, "service_unavailable"): C.UNKNOWN,
    (504, None): C.UNKNOWN,
    (522, None): C.UNKNOWN,
    (599, "rate_limit_exceeded"): C.UNKNOWN,
}


async def ask(body: bytes, status: str = "200 OK", headers: tuple[str, ...] = ()) -> Any:
    async with scripted(answering(answer(body, status=status, headers=headers))) as server:
        return await sent_once(server.url)


@pytest.mark.parametrize(("pair", "expected"), CLASSES.items(), ids=str)
def test_each_refusal_has_its_class_and_code(pair: tuple[int, str | None], expected: ResultClass) -> None:
    status, name = pair
    error = {"statusCode": status, "message": "ana@example.com", **({"name": name} if name else {})}
    result = asyncio.run(ask(json.dumps(error).encode(), status=f"{status} Some Reason"))
    assert result.result_class is expected
    assert result.outcome is OUTCOMES[expected]
    assert result.code == f"resend.{status}.{name if name in resend_errors.NAMES else 'unclassified'}"
    assert (result.phase, result.http_status) == (Phase.ANSWER_READ, status)
    assert "ana@example.com" not in repr(result)
    assert resend_errors.meaning_of(result.code)


@pytest.mark.parametrize("name", ["validation_error", "invalid_parameter"])
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Invalid `to` field. The email address needs to follow the `email@example.com` format.", C.RECIPIENT),
        ("Invalid `from` field. The email address needs to follow the `email@example.com` format.", C.FIX_CONFIG),
        ("Invalid `to\x00 field", C.FIX_CONFIG),
        ("You can send to nobody.", C.FIX_CONFIG),
    ],
)
def test_only_a_422_that_names_to_condemns_the_address(name: str, message: str, expected: ResultClass) -> None:
    error = json.dumps({"statusCode": 422, "name": name, "message": message}).encode()
    result = asyncio.run(ask(error, status="422 Unprocessable"))
    assert (result.result_class, result.outcome) == (expected, Outcome.REJECTED)
    assert result.code == f"resend.422.{name}"


@pytest.mark.parametrize("body", [b"error code: 1010", b"<html>Attention required</html>", b""])
def test_the_edge_refusing_the_request_is_a_setting_to_mend(body: bytes) -> None:
    result = asyncio.run(ask(body, status="403 Forbidden"))
    assert (result.result_class, result.code) == (C.FIX_CONFIG, "resend.403.edge_refusal")


NOT_ACCEPTED = [
    b"<html>Maintenance</html>",
    b"",
    b"{}",
    b'{"id":""}',
    b'{"id":null}',
    b'{"id":7}',
    b'{"id":["4ef9a417"]}',
    b'{"id":"a\\u0000b"}',
    b'{"id":"' + b"a" * 201 + b'"}',
    b'{"data":{"id":"4ef9a417"}}',
    b"[]",
    b'"ok"',
    b"null",
    b"NaN",
    b'{"id":"4ef9a417"',
    b"\xff\xfe\xfa",
    b"[" * 60_000,
    b'{"id": ' + b"9" * 60_000 + b"}",
]


@pytest.mark.parametrize("body", NOT_ACCEPTED, ids=lambda body: repr(body[:20]))
@pytest.mark.parametrize("status", ["200 OK", "201 Created"])
def test_a_success_without_a_usable_id_is_unknown_and_never_accepted(body: bytes, status: str) -> None:
    result = asyncio.run(ask(body, status=status))
    assert (result.outcome, result.code) == (Outcome.UNKNOWN, "resend.malformed_response")
    assert result.provider_message_id is None


def test_a_204_is_unknown() -> None:
    result = asyncio.run(ask(b"", status="204 No Content", headers=("Content-Length: 0",)))
    assert (result.outcome, result.http_status) == (Outcome.UNKNOWN, 204)


@pytest.mark.parametrize("status", ["200 OK", "201 Created", "202 Accepted"])
def test_a_success_with_an_id_is_accepted(status: str) -> None:
    result = asyncio.run(ask(b'{"object":"email","id":"4ef9a417-02e9"}', status=status))
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, "4ef9a417-02e9")


@pytest.mark.parametrize(
    "body", [b'{"message":"boom\\u0000tail"}', b"boom\x00tail", b'{"name":"a\\u0000","message":7}']
)
@pytest.mark.parametrize("status", ["500 Oops", "422 No"])
def test_foreign_text_is_not_kept_whatever_it_holds(body: bytes, status: str) -> None:
    result = asyncio.run(ask(body, status=status))
    assert result.code == f"resend.{status[:3]}.unclassified"
    assert "\x00" not in repr(result)
    assert "boom" not in repr(result)


def test_limits_and_the_trace_id_are_kept_where_they_are_what_they_say() -> None:
    headers = (
        "ratelimit-limit: 10",
        "ratelimit-remaining: 9",
        "ratelimit-reset: -1",
        "ratelimit-policy: 10;w=1",
        "x-resend-daily-quota: 57",
        "x-resend-monthly-quota: ten",
        "cf-ray: 8f2a-FRA",
    )
    result = asyncio.run(ask(b'{"id":"1"}', headers=headers))
    assert result.limits == {
        "ratelimit-limit": 10,
        "ratelimit-remaining": 9,
        "ratelimit-window": 1,
        "x-resend-daily-quota": 57,
    }
    assert result.trace_id == "8f2a-FRA"
    assert asyncio.run(ask(b'{"id":"1"}', headers=("cf-ray: <script>",))).trace_id is None


def retry_after_of(*values: str, date: str | None = None) -> tuple[float | None, str | None]:
    headers = tuple(f"Retry-After: {value}" for value in values)
    if date is not None:
        headers += (f"Date: {date}",)
    result = asyncio.run(ask(b"{}", status="429 Too Many", headers=headers))
    assert result.result_class is C.RATE_LIMITED
    return result.retry_after_s, result.retry_after_raw


def test_a_wait_asked_for_arrives_with_its_raw_form() -> None:
    assert retry_after_of("120") == (120, "120")
    assert retry_after_of() == (None, None)
    assert retry_after_of("30", "90") == (90, "30, 90")
    assert retry_after_of("１２０") == (None, "１２０")
    assert retry_after_of("") == (None, "")


def test_a_date_is_measured_by_the_providers_own_clock_where_it_tells_it() -> None:
    until = "Sat, 03 Jan 2015 00:01:30 GMT"
    assert retry_after_of(until, date="Sat, 03 Jan 2015 00:00:00 GMT") == (90, until)
    wait_s, _ = retry_after_of(formatdate(time.time() + 90, usegmt=True))
    assert wait_s is not None
    assert 85 < wait_s <= 91


@pytest.mark.parametrize("key", ["", "a b", "a" * 257, "a\r\nX: y", "ключ", "a\x00"])
def test_a_key_that_the_provider_would_not_take_is_refused_without_a_call(run: Runner, key: str) -> None:
    async def play() -> None:
        async with scripted(answering(answer(b"{}"))) as server, resend(server.url) as provider:
            result = await provider.send(attempt(key=key))
            assert (result.outcome, result.result_class) == (Outcome.REJECTED, C.FIX_CONFIG)
            assert (result.code, result.phase) == ("resend.invalid_key", Phase.NOT_CONNECTED)
            assert server.connections == 0

    run(play())


@settings(deadline=None)
@given(status=st.integers(100, 999), name=st.none() | st.text(max_size=40), message=st.text(max_size=40))
def test_every_status_and_name_has_a_class_a_closed_code_and_a_meaning(
    status: int, name: str | None, message: str
) -> None:
    result_class = resend_errors.class_of(status, name, message)
    code = resend_errors.code_of(status, name)
    assert OUTCOMES[result_class] is not Outcome.ACCEPTED
    assert code.removeprefix(f"resend.{status}.") in resend_errors.NAMES | {"unclassified"}
    assert resend_errors.meaning_of(code)


@settings(max_examples=40, deadline=None)
@given(body=st.binary(max_size=200), status=st.sampled_from([200, 201, 400, 403, 409, 422, 429, 500, 503]))
def test_no_body_makes_the_adapter_raise_or_accept_wrongly(body: bytes, status: int) -> None:
    result = asyncio.run(ask(body, status=f"{status} Reason"))
    assert (result.outcome is Outcome.ACCEPTED) <= (b'"id"' in body and status < 300)


def test_every_listed_row_keeps_its_class_and_every_name_its_sentence() -> None:
    for row in resend_errors.ROWS:
        assert resend_errors.class_of(row.status, row.name, "") is row.result_class
        assert resend_errors.meaning_of(resend_errors.code_of(row.status, row.name)) == row.meaning
    assert len({(row.status, row.name) for row in resend_errors.ROWS}) == len(resend_errors.ROWS)
    assert resend_errors.meaning_of("resend.malformed_response")
    assert resend_errors.meaning_of("smtp.550.x") is None


@pytest.mark.parametrize("base_url", ["", "api.resend.com", "ftp://x", "https://", "https://u:p@x", "https://x/?a=1"])
def test_an_unusable_base_url_is_refused_with_a_sentence(base_url: str) -> None:
    with pytest.raises(ValueError, match="The base URL must be like"):
        ResendProvider(base_url=base_url, api_key="re_1")


@pytest.mark.parametrize("api_key", ["", "re 1", "re_1\n", "ré"])
def test_an_unusable_api_key_is_refused_and_not_repeated(api_key: str) -> None:
    with pytest.raises(ValueError, match="The Resend API key must be") as refusal:
        ResendProvider(base_url="https://api.resend.com", api_key=api_key)
    assert not api_key or api_key not in str(refusal.value)


def test_an_empty_user_agent_and_no_connections_are_refused() -> None:
    with pytest.raises(ValueError, match="user agent"):
        ResendProvider(base_url="https://api.resend.com", api_key="re_1", user_agent=" ")
    with pytest.raises(ValueError, match="connections"):
        ResendProvider(base_url="https://api.resend.com", api_key="re_1", connections=0)
