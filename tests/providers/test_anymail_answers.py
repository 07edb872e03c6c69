"""What the answers of the mail services mean: each row of the tables, what no row knows, and what means harm."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy

from notifications.policy import causes, codes
from notifications.providers import esp_answers
from notifications.providers.anymail_request import Call
from notifications.providers.base import SendResult
from notifications.providers.esps import ESPS
from notifications.providers.http import Answer
from notifications.providers.outcomes import OUTCOMES
from notifications.states import Outcome, ResultClass
from tests.providers.attempts import MESSAGE
from tests.providers.candidate_anymail import BY_NAME, accepting, adapter
from tests.providers.conformance import RAW

NAMES = tuple(BY_NAME)
CALL = Call("email", MESSAGE.to, {}, b"{}")
ADAPTERS = {name: adapter(name, "http://127.0.0.1:9/api/") for name in NAMES}
each_service = pytest.mark.parametrize("name", NAMES)


def judged(name: str, status: int, body: object = None, *headers: str) -> SendResult:
    raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    pairs: CIMultiDict[str] = CIMultiDict(line.split(": ", 1) for line in headers)  # type: ignore[misc]
    return ADAPTERS[name].judged(Answer(status, CIMultiDictProxy(pairs), raw), CALL)


@each_service
def test_its_own_word_accepts_and_the_id_holds_no_address(name: str) -> None:
    status, body, headers = accepting(name)
    result = judged(name, status, body, "Content-Type: text/html" if body is None else "X-A: b", *headers)
    assert (result.outcome, result.code, result.http_status) == (Outcome.ACCEPTED, f"{name}.accepted", status)
    assert result.provider_message_id
    assert "@" not in result.provider_message_id


@each_service
def test_no_answer_but_a_success_accepts_whatever_its_body_says(name: str) -> None:
    _, body, headers = accepting(name)
    for status in (300, 307, 400, 401, 408, 409, 422, 429, 500, 502, 503, 524):
        result = judged(name, status, body, *headers)
        assert result.outcome is not Outcome.ACCEPTED
        assert (result.outcome is Outcome.UNKNOWN) == (status in (408, 409) or status >= 500)
        assert result.provider_message_id is None


GARBAGE: tuple[object, ...] = (
    *(None, b"<html>", b"\xff\xfe", b"[" * 50_000, b"9" * 5000, [], "OK", 7, [[]], {"id": None}, {"MessageID": ""}),
    *({"ErrorCode": "0", "Message": None}, {"ErrorCode": {}, "Message": []}, {"messages": {}}, {"Messages": [None]}),
    *({"results": None}, {"emails": [{}]}, {"success": True}, {"status": "success", "data": None}),
    {"id": "x" * 300, "message": "Queued", "messageId": "a\r\nb", "To": RAW, "ErrorCode": 0, "Message": RAW},
)


@each_service
def test_a_success_without_a_word_that_can_be_read_proves_nothing(name: str) -> None:
    for body in GARBAGE:
        for status in (200, 204, 299):
            result = judged(name, status, body, "Content-Type: text/plain")
            assert (result.outcome, result.code) == (Outcome.UNKNOWN, f"{name}.{status}.malformed_response"), body


@each_service
@given(
    status=st.integers(100, 599), body=st.binary(max_size=200) | st.text(max_size=80).map(json.dumps).map(str.encode)
)
@settings(max_examples=40, deadline=None)
def test_no_answer_raises_or_gets_a_code_outside_the_vocabulary(name: str, status: int, body: bytes) -> None:
    result = judged(name, status, body)
    service, said, word = result.code.split(".")
    assert (service, int(said)) == (name, status)
    assert word in esp_answers.NAMES
    assert OUTCOMES[result.result_class] is result.outcome


# Each documented refusal, by the example of its own words.
REFUSALS: tuple[tuple[str, int, Any, str], ...] = (
    ("postmark", 422, {"ErrorCode": 300, "Message": "Invalid 'To' address: 'ana@example.com'."}, "recipient_invalid"),
    ("postmark", 422, {"ErrorCode": 300, "Message": "Invalid 'From' address: 'x'."}, "sender_refused"),
    ("postmark", 422, {"ErrorCode": 300, "Message": "Invalid metadata content."}, "request_refused"),
    ("postmark", 422, {"ErrorCode": 406, "Message": "inactive"}, "recipient_suppressed"),
    ("postmark", 422, {"ErrorCode": 400, "Message": "no signature"}, "sender_refused"),
    ("postmark", 422, {"ErrorCode": 405, "Message": "out of credits"}, "credits_used_up"),
    ("postmark", 422, {"ErrorCode": 412, "Message": "pending"}, "account_stopped"),
    ("postmark", 422, {"ErrorCode": 411, "Message": "forbidden type"}, "content_refused"),
    ("postmark", 422, {"ErrorCode": 4060, "Message": "a new number"}, "request_refused"),
    ("postmark", 503, {"ErrorCode": 406, "Message": "a 5xx proves nothing"}, "failed"),
    (
        "postmark",
        200,
        {
            "ErrorCode": 0,
            "MessageID": "x",
            "To": "ana@example.com",
            "Message": "Message OK, but will not deliver to these inactive addresses: ana@example.com. "
            "Inactive recipients are ones that have generated a hard bounce.",
        },
        "recipient_suppressed",
    ),
    ("mailgun", 400, {"message": "'from' parameter is not a valid address."}, "sender_refused"),
    ("mailgun", 403, {"message": "Domain mg.example.com is not allowed to send: disabled"}, "account_stopped"),
    ("mailgun", 200, b"Mailgun Magnificent API", "no_such_endpoint"),
    ("mailgun", 404, {"message": "Domain not found: example.com"}, "no_such_endpoint"),
    ("sendgrid", 403, {"errors": [{"field": "from", "message": "The from address does not"}]}, "sender_refused"),
    ("sendgrid", 401, {"errors": [{"field": None, "message": "Maximum credits exceeded"}]}, "credits_used_up"),
    ("sendgrid", 400, {"errors": [{"field": "content.0.value", "message": "m"}]}, "content_refused"),
    ("brevo", 400, {"code": "duplicate_parameter", "message": "m"}, "key_used_before"),
    ("brevo", 402, {"code": "not_enough_credits", "message": "m"}, "credits_used_up"),
    ("brevo", 400, {"code": "invalid_parameter", "message": "email is not valid in to"}, "recipient_invalid"),
    ("brevo", 400, {"code": "invalid_parameter", "message": "sender is not valid"}, "sender_refused"),
    ("brevo", 401, {"code": "unauthorized", "message": "Key not found"}, "bad_key"),
    (
        "mailjet",
        400,
        {"Messages": [{"Status": "error", "Errors": [{"ErrorCode": "mj-0013", "ErrorRelatedTo": ["To[0].Email"]}]}]},
        "recipient_invalid",
    ),
    (
        "mailjet",
        403,
        {"Messages": [{"Status": "error", "Errors": [{"ErrorCode": "send-0008", "ErrorRelatedTo": ["From"]}]}]},
        "sender_refused",
    ),
    ("mailjet", 401, {"ErrorCode": "mj-0002", "StatusCode": 401}, "bad_key"),
    ("sparkpost", 420, {"errors": [{"message": "Exceed Sending Limit", "code": "2101"}]}, "too_many"),
    ("sparkpost", 400, {"errors": [{"message": "Unconfigured Sending Domain", "code": "7001"}]}, "sender_refused"),
    ("mailersend", 422, {"message": "m", "errors": {"to.0.email": ["x"]}}, "recipient_invalid"),
    ("mailersend", 422, {"message": "m", "errors": {"from.email": ["x"]}}, "sender_refused"),
    ("mailtrap", 400, {"errors": ["'to' address is invalid"]}, "recipient_invalid"),
    ("mailtrap", 401, {"errors": ["Unauthorized"]}, "bad_key"),
    ("scaleway", 400, {"type": "invalid_arguments", "details": [{"argument_name": "to"}]}, "recipient_invalid"),
    ("scaleway", 403, {"type": "quotas_exceeded"}, "credits_used_up"),
    (
        "unisender",
        200,
        {"emails": [], "failed_emails": {"ana@example.com": "permanent_unavailable"}},
        "recipient_suppressed",
    ),
    ("postal", 200, {"status": "error", "data": {"code": "UnauthenticatedFromAddress"}}, "sender_refused"),
    ("postal", 200, {"status": "error", "data": {"code": "AccessDenied"}}, "bad_key"),
    *((name, 413, b"x", "too_large") for name in NAMES),
    *((name, 429, b"x", "too_many") for name in NAMES),
    *((name, 403, b"x", "not_allowed") for name in NAMES),
    *((name, 405, b"x", "no_such_endpoint") for name in NAMES),
)


@pytest.mark.parametrize(("name", "status", "body", "word"), REFUSALS, ids=str)
def test_each_refusal_has_its_name_and_its_class(name: str, status: int, body: Any, word: str) -> None:
    result = judged(name, status, body)
    assert (result.code, result.result_class) == (f"{name}.{status}.{word}", esp_answers.NAMES[word])
    assert causes.cause_of(result.code, result.field) is not None
    assert result.field == (esp_answers.FIELDS.get(word) if status in (400, 422) else None)


def test_an_address_on_mailersends_own_list_is_the_recipients_matter() -> None:
    warning = {"type": "ALL_SUPPRESSED", "recipients": [{"email": MESSAGE.to, "name": "", "reasons": ["hard_bounced"]}]}
    result = judged("mailersend", 202, {"message": RAW, "warnings": [warning]}, "Content-Type: application/json")
    assert (result.code, result.result_class) == ("mailersend.202.recipient_suppressed", ResultClass.RECIPIENT)


def test_a_wait_that_is_asked_for_is_read_and_kept() -> None:
    result = judged("sendgrid", 429, b"", "Retry-After: 17")
    assert (result.retry_after_s, result.retry_after_raw, result.outcome) == (17.0, "17", Outcome.NOT_SENT)


def test_every_name_has_a_sentence_and_a_cause_and_every_row_a_service() -> None:
    assert set(esp_answers.NAMES) == set(codes.SERVICE_NAMES)
    assert all(causes.cause_of(f"postmark.499.{name}") is not None for name in esp_answers.NAMES)
    assert set(esp_answers.ROWS) == set(NAMES)
    for rows in esp_answers.ROWS.values():
        assert {row.name for row in rows} <= set(esp_answers.NAMES)
    assert {esp.backend.split(".")[0] for esp in ESPS} == {"anymail"}
