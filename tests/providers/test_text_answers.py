"""Twilio's and Telegram's answers, each row of the tables: what they prove, and what is kept of them."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notifications.policy.causes import cause_of
from notifications.policy.text_codes import TELEGRAM_CODES, TWILIO_CODES
from notifications.providers import telegram_answers, twilio_errors
from notifications.providers.base import Provider, Request, SendResult
from notifications.providers.outcomes import OUTCOMES
from notifications.providers.telegram import TelegramProvider
from notifications.providers.twilio import TwilioProvider
from notifications.states import Outcome, ResultClass
from tests.providers import candidate_telegram, candidate_twilio
from tests.providers.candidate_resend import after_request
from tests.providers.conformance import RAW
from tests.providers.scripted_server import Script, answer, answering, scripted

C = ResultClass
TWILIO, TELEGRAM = candidate_twilio.CANDIDATE, candidate_telegram.CANDIDATE


async def _ask(kind: str, script: Script, timeout_s: float = 5.0) -> SendResult:
    candidate = TWILIO if kind == "twilio" else TELEGRAM
    async with scripted(script) as server:
        provider: Provider = candidate.open(server.port)
        try:
            body = provider.prepare(candidate.message)
            return await provider.send(Request("key", body, timeout_s, lambda: None))
        finally:
            await provider.close()


def ask(kind: str, status: int, fields: Any, *headers: str) -> SendResult:
    body = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    return asyncio.run(_ask(kind, answering(answer(body, status=f"{status} Said", headers=headers))))


NUMBERS = {
    20003: (401, C.FIX_CONFIG, "login_refused"), 20005: (403, C.FIX_CONFIG, "account_suspended"),
    20403: (403, C.FIX_CONFIG, "not_allowed"), 20404: (404, C.FIX_CONFIG, "not_found"),
    20429: (429, C.RATE_LIMITED, "too_many"), 20500: (500, C.UNKNOWN, "failed"), 20503: (503, C.UNKNOWN, "unavailable"),
    21211: (400, C.RECIPIENT, "bad_number"), 21217: (400, C.RECIPIENT, "bad_number"),
    21212: (400, C.FIX_CONFIG, "sender_refused"), 21408: (403, C.CONTENT, "region_not_allowed"),
    21606: (400, C.FIX_CONFIG, "sender_refused"), 21608: (400, C.CONTENT, "trial_account"),
    21609: (400, C.FIX_CONFIG, "bad_callback"), 21610: (400, C.RECIPIENT, "opted_out"),
    21611: (429, C.RATE_LIMITED, "queue_full"), 21612: (400, C.CONTENT, "no_route"),
    21614: (400, C.RECIPIENT, "not_mobile"), 21617: (400, C.CONTENT, "too_long"),
    21619: (400, C.CONTENT, "content_refused"), 21635: (400, C.RECIPIENT, "not_mobile"),
    21703: (400, C.FIX_CONFIG, "sender_refused"), 63038: (429, C.QUOTA, "daily_limit"),
}  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS)
def test_each_number_has_its_class_and_code(number: int) -> None:
    status, expected, name = NUMBERS[number]
    result = ask("twilio", status, {"code": number, "message": RAW, "status": status})
    assert (result.result_class, result.code, result.http_status) == (expected, f"twilio.{name}", status)
    assert result.outcome is OUTCOMES[expected]
    assert result.address_gone is (number == 21610)
    assert not [word for word in RAW.split() if word in repr(result)]


@pytest.mark.parametrize(
    ("status", "fields", "expected", "code"),
    [
        (500, {"code": 21211}, C.UNKNOWN, "twilio.500.21211"),
        (503, b"<html>", C.UNKNOWN, "twilio.503.unclassified"),
        (429, {}, C.RATE_LIMITED, "twilio.429.unclassified"),
        (429, {"code": 20003}, C.RATE_LIMITED, "twilio.429.20003"),
        (408, {}, C.UNKNOWN, "twilio.408.unclassified"),
        (425, {"code": 12345}, C.UNKNOWN, "twilio.425.12345"),
        (400, {"code": 21999}, C.FIX_CONFIG, "twilio.400.21999"),
        (400, {"code": "21211"}, C.RECIPIENT, "twilio.bad_number"),
        (400, {"code": True}, C.FIX_CONFIG, "twilio.400.unclassified"),
        (400, {"code": 10**40}, C.FIX_CONFIG, "twilio.400.unclassified"),
        (400, {"code": "ana@e"}, C.FIX_CONFIG, "twilio.400.unclassified"),
        (400, {"code": "\u0662\u0661\u0662\u0661\u0661"}, C.FIX_CONFIG, "twilio.400.unclassified"),
        (404, b"", C.FIX_CONFIG, "twilio.404.unclassified"),
        (302, {}, C.FIX_CONFIG, "twilio.302.unclassified"),
    ],
)
def test_what_is_not_listed_is_judged_by_its_status(status: int, fields: Any, expected: C, code: str) -> None:
    result = ask("twilio", status, fields)
    assert (result.result_class, result.code) == (expected, code)
    assert cause_of(code) is not None


@pytest.mark.parametrize(
    "fields",
    [b"", b"[]", b"null", b"{", {"sid": ""}, {"sid": 7}, {"sid": "AC" + "0" * 32}, {"sid": "SM" + "G" * 32},
     {"sid": "SM" + "0" * 32 + "\n"}, {"sid": "SM" + "0" * 33}, {"data": {"sid": "SM" + "0" * 32}}, b"[" * 60_000],
    ids=lambda one: repr(one)[:30],
)  # fmt: skip
def test_a_success_without_a_sid_is_unknown_and_never_accepted(fields: Any) -> None:
    result = ask("twilio", 201, fields)
    assert (result.outcome, result.code, result.provider_message_id) == (
        *(Outcome.UNKNOWN, "twilio.malformed_response", None),
    )


def test_a_wait_and_the_requests_id_are_kept_where_they_are_what_they_say() -> None:
    result = ask("twilio", 429, {"code": 20429}, "Retry-After: 7", "Twilio-Request-Id: RQ0a1b2c")
    assert (result.retry_after_s, result.retry_after_raw, result.trace_id) == (7, "7", "RQ0a1b2c")
    assert ask("twilio", 429, {}, "Twilio-Request-Id: <script>").trace_id is None


SENTENCES = {
    "Forbidden: bot was blocked by the user": (403, "blocked", True),
    "Forbidden: user is deactivated": (403, "deactivated", True),
    "Forbidden: bot was kicked from the supergroup chat": (403, "kicked", True),
    "Forbidden: bot can't initiate conversation with a user": (403, "not_started", False),
    "Forbidden: bot is not a member of the channel chat": (403, "no_rights", False),
    "Forbidden: something new": (403, "forbidden", False),
    "Bad Request: chat not found": (400, "chat_not_found", True),
    "Bad Request: PEER_ID_INVALID": (400, "chat_not_found", True),
    "Bad Request: group chat was upgraded to a supergroup chat": (400, "migrated", False),
    "Bad Request: have no rights to send a message": (400, "no_rights", False),
    "Bad Request: CHAT_WRITE_FORBIDDEN": (400, "no_rights", False),
}


@pytest.mark.parametrize("said", SENTENCES)
def test_each_sentence_about_a_chat_is_the_recipients(said: str) -> None:
    status, name, gone = SENTENCES[said]
    result = ask("telegram", status, {"ok": False, "error_code": status, "description": said, "note": RAW})
    assert (result.result_class, result.code, result.address_gone) == (C.RECIPIENT, f"telegram.{name}", gone)


@pytest.mark.parametrize(
    ("status", "fields", "expected", "name"),
    [
        (401, {"description": "Unauthorized"}, C.FIX_CONFIG, "login_refused"),
        (404, {"description": "Not Found"}, C.FIX_CONFIG, "login_refused"),
        (400, {"description": "Bad Request: message is too long"}, C.CONTENT, "too_long"),
        (400, {"description": "Bad Request: message text is empty"}, C.CONTENT, "content_refused"),
        (400, {"description": "Bad Request: chat not foun"}, C.CONTENT, "refused"),
        (400, {"description": 7}, C.CONTENT, "refused"),
        (400, {"parameters": {"migrate_to_chat_id": -1}}, C.RECIPIENT, "migrated"),
        (409, {"description": "Conflict"}, C.FIX_CONFIG, "refused"),
        (429, b"", C.RATE_LIMITED, "too_many"),
        (500, {"description": "Forbidden: bot was blocked by the user"}, C.UNKNOWN, "failed"),
        (502, b"<html>", C.UNKNOWN, "failed"),
        (301, {}, C.FIX_CONFIG, "redirected"),
    ],
)
def test_any_other_answer_of_telegram_is_judged_by_its_status(status: int, fields: Any, expected: C, name: str) -> None:
    result = ask("telegram", status, fields)
    assert (result.result_class, result.code, result.address_gone) == (expected, f"telegram.{name}", False)


@pytest.mark.parametrize(
    ("parameters", "wait_s"),
    [({"retry_after": 34}, 34), ({"retry_after": -1}, None), ({"retry_after": "34"}, None),
     ({"retry_after": 10**30}, None), ({"retry_after": True}, None), (None, None), ([1], None)],
)  # fmt: skip
def test_the_wait_stands_in_the_body(parameters: Any, wait_s: float | None) -> None:
    assert ask("telegram", 429, {"ok": False, "parameters": parameters}).retry_after_s == wait_s
    assert ask("telegram", 429, {"parameters": parameters}, "Retry-After: 90").retry_after_s == 90


@pytest.mark.parametrize(
    "fields",
    [b"", b"[]", {}, {"ok": True}, {"ok": False, "result": {"message_id": 7}},
     {"ok": True, "result": {"message_id": "7"}}, {"ok": True, "result": {"message_id": True}},
     {"ok": True, "result": {"message_id": 0}}, {"ok": 1, "result": [7]}],
    ids=repr,
)  # fmt: skip
def test_a_success_that_names_no_message_is_unknown(fields: Any) -> None:
    result = ask("telegram", 200, fields)
    assert (result.outcome, result.code) == (Outcome.UNKNOWN, "telegram.malformed_response")


def test_the_token_and_the_chat_are_neither_in_results_nor_in_any_log(caplog: pytest.LogCaptureFixture) -> None:
    """The token is a part of the address that is called: no failure of the call may name that."""
    caplog.set_level(logging.DEBUG)
    scripts = (answering(candidate_telegram.accepted()), after_request(end="rst"), after_request(b"garbage\r\n\r\n"))
    results = [asyncio.run(_ask("telegram", script)) for script in scripts]
    results.append(asyncio.run(_ask("telegram", after_request(), timeout_s=0.2)))
    told = repr(results) + caplog.text
    token = candidate_telegram.TOKEN
    assert [secret for secret in (token, token.partition(":")[2], candidate_telegram.TO[1:]) if secret in told] == []


def test_every_code_of_both_is_listed() -> None:
    assert twilio_errors.CODES - {twilio_errors.ACCEPTED} == set(TWILIO_CODES)
    assert telegram_answers.CODES - {telegram_answers.ACCEPTED} == set(TELEGRAM_CODES)
    assert len({row.number for row in twilio_errors.ROWS}) == len(twilio_errors.ROWS)


@settings(deadline=None)
@given(status=st.integers(100, 999), number=st.none() | st.integers(10_000, 99_999), said=st.text(max_size=40))
def test_no_answer_is_ever_an_acceptance_and_each_has_a_closed_code(status: int, number: int | None, said: str) -> None:
    found = twilio_errors.class_of(status, number)
    assert OUTCOMES[found] is not Outcome.ACCEPTED
    assert (OUTCOMES[found] is Outcome.UNKNOWN) >= (500 <= status < 600)
    row = telegram_answers.row_of(status, said, migrated=False)
    assert OUTCOMES[row.result_class] is not Outcome.ACCEPTED
    assert f"telegram.{row.name}" in TELEGRAM_CODES


ACCOUNT = candidate_twilio.ACCOUNT


@pytest.mark.parametrize(
    "secret",
    ["", "hunter2", f"{ACCOUNT}", f"{ACCOUNT}:", f"{ACCOUNT}:a b", f"{ACCOUNT}:SK1:x", f"AC1:{'x' * 32}", "a:b:c:d"],
)
def test_an_unusable_login_is_refused_and_not_repeated(secret: str) -> None:
    with pytest.raises(ValueError, match=r"Write the secret as AC…:token") as refusal:
        TwilioProvider(base_url="https://api.twilio.com", secret=secret)
    assert not secret or secret not in str(refusal.value)


@pytest.mark.parametrize(
    "base_url", ["", "api.example.com", "ftp://x", "https://u:p@x", "https://x/?a=1", "https://x/#a"]
)
def test_an_unusable_base_url_is_refused_with_a_sentence(base_url: str) -> None:
    with pytest.raises(ValueError, match="The base URL must be like"):
        TwilioProvider(base_url=base_url, secret=candidate_twilio.SECRET)
    with pytest.raises(ValueError, match="The base URL must be like"):
        TelegramProvider(base_url=base_url, token=candidate_telegram.TOKEN)


@pytest.mark.parametrize(
    "token", ["", "654321", "654321:short", "123456:with a blank 0123456789", "../x:0123456789012345678901"]
)
def test_an_unusable_token_is_refused_and_not_repeated(token: str) -> None:
    with pytest.raises(ValueError, match="bot's token must be like") as refusal:
        TelegramProvider(base_url="https://api.telegram.org", token=token)
    assert not token or token not in str(refusal.value)
