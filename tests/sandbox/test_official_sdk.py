"""The provider's own Python SDK, unmodified, pointed at the sandbox."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import resend
import resend.exceptions

from notifications.sandbox.app import RunningSandbox
from tests.sandbox.callers import MESSAGE
from tests.sandbox.receiver import Receiver

PARAMS: Any = {**MESSAGE, "to": ["olga@example.com"], "tags": [{"name": "intent", "value": "7"}]}


@pytest.fixture(autouse=True)
def sdk(sandbox: RunningSandbox) -> Iterator[None]:
    """Give the SDK our address and key, which is how its users configure it."""
    before = resend.api_url, resend.api_key
    resend.api_url, resend.api_key = sandbox.url, sandbox.full_key
    yield
    resend.api_url, resend.api_key = before


def raised(code: int, error_type: str, send: Any) -> resend.exceptions.ResendError:
    with pytest.raises(resend.exceptions.ResendError) as caught:
        send()
    assert (caught.value.code, caught.value.error_type) == (code, error_type)
    return caught.value


def test_it_sends_once_per_key(sandbox: RunningSandbox) -> None:
    first = resend.Emails.send(PARAMS, {"idempotency_key": "k"})
    second = resend.Emails.send(PARAMS, {"idempotency_key": "k"})
    assert first["id"] == second["id"]
    assert sandbox.ledger("k").ids == [first["id"]]


def test_it_reads_a_mail_and_lists() -> None:
    mail_id = resend.Emails.send(PARAMS)["id"]
    mail: Any = resend.Emails.get(email_id=mail_id)
    assert (mail["id"], mail["to"], mail["subject"]) == (mail_id, ["olga@example.com"], "Report ready")
    assert mail["tags"] == PARAMS["tags"]
    newer = resend.Emails.send(PARAMS)["id"]
    assert [row["id"] for row in resend.Emails.list()["data"]] == [newer, mail_id]
    assert [row["id"] for row in resend.Emails.list({"limit": 1, "after": newer})["data"]] == [mail_id]


def test_it_schedules_moves_and_cancels() -> None:
    later: Any = {**PARAMS, "scheduled_at": "in 5 minutes"}
    mail_id = resend.Emails.send(later)["id"]
    assert resend.Emails.update({"id": mail_id, "scheduled_at": "in 10 minutes"})["id"] == mail_id
    assert resend.Emails.cancel(email_id=mail_id)["id"] == mail_id
    mail: Any = resend.Emails.get(email_id=mail_id)
    assert mail["last_event"] == "canceled"


def test_it_sends_batches_strict_and_permissive() -> None:
    assert len(resend.Batch.send([PARAMS, PARAMS], {"idempotency_key": "b"})["data"]) == 2
    mixed: Any = [PARAMS, {**PARAMS, "to": "nobody"}]
    permissive = resend.Batch.send(mixed, {"batch_validation": "permissive"})
    assert (len(permissive["data"]), permissive["errors"][0]["index"]) == (1, 1)
    raised(422, "validation_error", lambda: resend.Batch.send(mixed))


def test_it_understands_every_refusal(sandbox: RunningSandbox) -> None:
    refused: dict[tuple[int, str], Any] = {
        (422, "validation_error"): {**PARAMS, "to": "nobody"},
        (422, "missing_required_field"): {**PARAMS, "subject": ""},
        (403, "validation_error"): {**PARAMS, "from": "a@elsewhere.example"},
    }
    for (code, error_type), params in refused.items():
        raised(code, error_type, partial(resend.Emails.send, params))
    raised(404, "not_found", lambda: resend.Emails.get(email_id="nobody"))
    resend.Emails.send(PARAMS, {"idempotency_key": "k"})
    other: Any = {**PARAMS, "subject": "Other"}
    raised(409, "invalid_idempotent_request", lambda: resend.Emails.send(other, {"idempotency_key": "k"}))
    resend.api_key = "re_wrong"
    raised(401, "validation_error", lambda: resend.Emails.send(PARAMS))
    resend.api_key = sandbox.sending_key
    raised(401, "restricted_api_key", lambda: resend.Emails.get(email_id="nobody"))
    sandbox.fault(stage="before_accept", kind="status", name="rate_limit_exceeded", headers={"Retry-After": "1"})
    limited = raised(429, "rate_limit_exceeded", lambda: resend.Emails.send(PARAMS))
    assert isinstance(limited, resend.exceptions.RateLimitError)
    assert {name.lower(): value for name, value in limited.headers.items()}["retry-after"] == "1"


def test_it_cannot_tell_a_lost_answer_from_a_lost_request(sandbox: RunningSandbox) -> None:
    for stage in ("before_accept", "after_accept"):
        sandbox.fault(stage=stage, kind="close")
        raised(500, "HttpClientError", lambda: resend.Emails.send(PARAMS, {"idempotency_key": "k"}))
    assert sandbox.ledger("k").accepted == 1


def test_it_reads_logs_and_suppressions(sandbox: RunningSandbox) -> None:
    resend.Emails.send(PARAMS)
    row = resend.Logs.list()["data"][0]
    assert (row["method"], row["endpoint"], row["response_status"]) == ("POST", "/emails", 200)
    assert resend.Logs.get(row["id"])["request_body"]["subject"] == "Report ready"
    added = resend.Suppressions.add({"email": "sam@example.com"})
    assert resend.Suppressions.get("sam@example.com")["origin"] == "manual"
    assert [entry["id"] for entry in resend.Suppressions.list({"origin": "manual"})["data"]] == [added["id"]]
    assert resend.Suppressions.remove(added["id"])["deleted"] is True
    batch = resend.Suppressions.Batch.add({"emails": ["vera@example.com", "lena@example.com"]})
    assert len(batch["data"]) == 2
    assert len(resend.Suppressions.Batch.remove({"emails": ["vera@example.com"]})["data"]) == 1


def test_it_registers_rotates_and_verifies_webhooks(sandbox: RunningSandbox, receiver: Receiver) -> None:
    made = resend.Webhooks.create({"endpoint": receiver.url, "events": ["email.sent"]})
    resend.Emails.send(PARAMS)
    got = receiver.wait_for(1)[0]
    headers: Any = {name: got.headers[f"svix-{name}"] for name in ("id", "timestamp", "signature")}
    options: Any = {"payload": got.body.decode(), "headers": headers, "webhook_secret": made["signing_secret"]}
    verified: Any = resend.Webhooks.verify(options)
    assert verified == json.loads(got.body)
    assert resend.Webhooks.get(made["id"])["endpoint"] == receiver.url
    assert resend.Webhooks.list()["data"][0]["id"] == made["id"]
    assert resend.Webhooks.update({"webhook_id": made["id"], "status": "enabled"})["id"] == made["id"]
    assert resend.Webhooks.rotate_signing_secret(made["id"])["signing_secret"] != made["signing_secret"]
    event = resend.Webhooks.list_events(made["id"])["data"][0]
    assert resend.Webhooks.get_event(made["id"], event["id"])["payload"] == verified
    assert resend.Webhooks.list_event_attempts(made["id"], event["id"])["data"][0]["http_status_code"] == 200
    assert resend.Webhooks.replay_event(made["id"], event["id"])["id"] == event["id"]
    receiver.wait_for(2)
    assert resend.Webhooks.remove(made["id"])["deleted"] is True
