"""Webhooks: what is sent, how it is signed, when it is tried again, and rotation."""

from __future__ import annotations

import base64
import json
import time
from itertools import pairwise
from typing import Any

import pytest
from standardwebhooks import WebhookVerificationError

from notifications.sandbox.app import RunningSandbox, running_sandbox
from tests.sandbox.callers import call, eventually, send
from tests.sandbox.receiver import Receiver, register, verified

pytestmark = pytest.mark.slow


def test_the_events_of_a_mail_arrive_signed(sandbox: RunningSandbox, receiver: Receiver) -> None:
    _, secret = register(sandbox, receiver)
    tags = [{"name": "intent", "value": "7"}]
    mail_id = send(sandbox, tags=tags).json["id"]
    events = {got.type: got for got in receiver.wait_for(2)}
    assert set(events) == {"email.sent", "email.delivered"}
    for got in events.values():
        assert verified(got, secret)["data"]["email_id"] == mail_id
        assert got.data["tags"] == {"intent": "7"}
        assert (got.data["to"], got.data["subject"]) == (["olga@example.com"], "Report ready")
        assert got.headers["content-type"] == "application/json"
        assert got.id.startswith("msg_")
        # Compact, and signed as sent.
        assert json.dumps(json.loads(got.body), separators=(",", ":")).encode() == got.body


def test_a_wrong_secret_does_not_verify(sandbox: RunningSandbox, receiver: Receiver) -> None:
    register(sandbox, receiver)
    send(sandbox)
    foreign = "whsec_" + base64.b64encode(b"x" * 24).decode()
    with pytest.raises(WebhookVerificationError):
        verified(receiver.wait_for(1)[0], foreign)


def test_non_ascii_text_is_signed_as_it_is_sent(sandbox: RunningSandbox, receiver: Receiver) -> None:
    _, secret = register(sandbox, receiver)
    send(sandbox, subject="报告已就绪 – Grüße")
    assert verified(receiver.wait_for(1)[0], secret)["data"]["subject"] == "报告已就绪 – Grüße"


def test_only_wanted_events_are_sent(sandbox: RunningSandbox, receiver: Receiver) -> None:
    register(sandbox, receiver, ["email.delivered"])
    send(sandbox)
    receiver.wait_for(1)
    time.sleep(0.1)
    assert [got.type for got in receiver.got] == ["email.delivered"]


def test_no_events_named_means_all(sandbox: RunningSandbox, receiver: Receiver) -> None:
    call(sandbox, "POST", "/webhooks", {"endpoint": receiver.url})
    call(sandbox, "POST", "/suppressions", {"email": "sam@example.com"})
    assert receiver.of_type("suppression.added")[0].data["email"] == "sam@example.com"
    call(sandbox, "DELETE", "/suppressions/sam@example.com")
    receiver.of_type("suppression.removed")


def test_a_message_tagged_webhooks_off_is_delivered_in_silence(sandbox: RunningSandbox, receiver: Receiver) -> None:
    register(sandbox, receiver)
    quiet = send(sandbox, tags=[{"name": "webhooks", "value": "off"}]).json["id"]
    eventually(lambda: call(sandbox, "GET", f"/emails/{quiet}").json["last_event"] == "delivered")
    loud = send(sandbox, tags=[{"name": "webhooks", "value": "on"}]).json["id"]
    assert {got.data["email_id"] for got in receiver.wait_for(2)} == {loud}


def test_a_failed_delivery_is_tried_again_under_the_same_id_with_a_new_timestamp(receiver: Receiver) -> None:
    receiver.statuses = [500, 302, 404]
    with running_sandbox(retry_scale=0.0001, delivery_delay_s=60) as sandbox:
        webhook_id, secret = register(sandbox, receiver)
        send(sandbox)
        tries = receiver.wait_for(4)
        assert len({got.id for got in tries}) == 1
        assert all(verified(got, secret) for got in tries)
        event_path = f"/webhooks/{webhook_id}/events/{tries[0].id}"
        eventually(lambda: call(sandbox, "GET", event_path).json["status"] == "success")
        attempts = call(sandbox, "GET", f"{event_path}/attempts").json["data"]
        # Newest first, as every list.
        assert [attempt["http_status_code"] for attempt in attempts] == [200, 404, 302, 500]
        assert call(sandbox, "GET", event_path).json["next_attempt_at"] is None


def test_the_schedule_is_the_providers_at_scale(receiver: Receiver) -> None:
    receiver.statuses = [500] * 8
    with running_sandbox(retry_scale=0.00002, delivery_delay_s=60) as sandbox:
        webhook_id, _ = register(sandbox, receiver)
        send(sandbox)
        tries = receiver.wait_for(8)
        eventually(lambda: sandbox.attempts()[0]["status"] == "failed")
        time.sleep(0.1)
        assert len(receiver.got) == 8
        gaps = [later.at_s - earlier.at_s for earlier, later in pairwise(tries)]
        wanted = [seconds * 0.00002 for seconds in (5, 300, 1_800, 7_200, 18_000, 36_000, 36_000)]
        assert all(gap >= due * 0.9 for gap, due in zip(gaps, wanted, strict=True))
        assert call(sandbox, "GET", f"/webhooks/{webhook_id}/events").json["data"][0]["status"] == "failed"


def test_between_two_tries_the_next_one_is_announced(receiver: Receiver) -> None:
    receiver.statuses = [500]
    with running_sandbox(delivery_delay_s=60) as sandbox:
        register(sandbox, receiver)
        send(sandbox)
        receiver.wait_for(1)
        event = eventually(lambda: next((e for e in sandbox.attempts() if e["next_attempt_at"] and e["tries"]), None))
        assert event["status"] == "attempting"


def test_an_endpoint_that_is_not_there_or_not_http_counts_as_failed(sandbox: RunningSandbox) -> None:
    call(sandbox, "POST", "/webhooks", {"endpoint": "http://127.0.0.1:9/nobody"})
    send(sandbox)
    tries = eventually(lambda: next((e["tries"] for e in sandbox.attempts() if e["tries"]), None))
    assert (tries[0]["http_status_code"], tries[0]["response"]) == (0, "ConnectionRefusedError")


def test_after_rotation_both_secrets_sign_for_a_day(sandbox: RunningSandbox, receiver: Receiver) -> None:
    webhook_id, old = register(sandbox, receiver)
    new = call(sandbox, "POST", f"/webhooks/{webhook_id}/signing-secret/rotate").json["signing_secret"]
    assert new != old
    send(sandbox)
    got = receiver.wait_for(1)[0]
    assert len(got.headers["svix-signature"].split(" ")) == 2
    assert verified(got, new)
    assert verified(got, old)
    eventually(lambda: len(receiver.got) == 2)
    sandbox.clock(86_401)
    send(sandbox)
    late = receiver.wait_for(3)[2]
    assert verified(late, new)
    with pytest.raises(WebhookVerificationError):
        verified(late, old)


def test_an_event_can_be_replayed_under_its_id(sandbox: RunningSandbox, receiver: Receiver) -> None:
    webhook_id, _ = register(sandbox, receiver, ["email.sent"])
    send(sandbox)
    first = receiver.wait_for(1)[0]
    answer = call(sandbox, "POST", f"/webhooks/{webhook_id}/events/{first.id}/replay")
    assert answer.json == {"object": "webhook_event", "id": first.id}
    second = receiver.wait_for(2)[1]
    assert (second.id, second.body) == (first.id, first.body)


def test_an_event_is_shown_with_its_payload(sandbox: RunningSandbox, receiver: Receiver) -> None:
    webhook_id, _ = register(sandbox, receiver, ["email.sent"])
    send(sandbox)
    got = receiver.wait_for(1)[0]
    shown = call(sandbox, "GET", f"/webhooks/{webhook_id}/events/{got.id}").json
    assert (shown["object"], shown["type"], shown["payload"]) == ("webhook_event", "email.sent", json.loads(got.body))
    assert call(sandbox, "GET", f"/webhooks/{webhook_id}/events/msg_nobody").status == 404


def test_webhooks_are_listed_changed_and_removed(sandbox: RunningSandbox, receiver: Receiver) -> None:
    webhook_id, secret = register(sandbox, receiver)
    shown = call(sandbox, "GET", f"/webhooks/{webhook_id}").json
    assert (shown["endpoint"], shown["status"], shown["signing_secret"]) == (receiver.url, "enabled", secret)
    assert [row["id"] for row in call(sandbox, "GET", "/webhooks").json["data"]] == [webhook_id]
    assert call(sandbox, "PATCH", f"/webhooks/{webhook_id}", {"status": "disabled"}).json["id"] == webhook_id
    send(sandbox)
    time.sleep(0.1)
    assert receiver.got == []
    changes = {"status": "enabled", "events": ["email.sent"], "endpoint": receiver.url + "?a=1"}
    call(sandbox, "PATCH", f"/webhooks/{webhook_id}", changes)
    send(sandbox)
    receiver.wait_for(1)
    assert call(sandbox, "DELETE", f"/webhooks/{webhook_id}").json["deleted"] is True
    assert call(sandbox, "GET", f"/webhooks/{webhook_id}").json["message"] == "Webhook not found"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"endpoint": "nowhere"},
        {"endpoint": "ftp://example.com/"},
        {"endpoint": "http://exa mple.com/"},
        {"endpoint": "http://[::1/"},
        {"endpoint": "http://example.com:99999/"},
        {"endpoint": 5},
        {"endpoint": "http://example.com/", "events": "email.sent"},
        {"endpoint": "http://example.com/", "events": [5]},
        {"endpoint": "http://example.com/", "signing_secret": "whsec_short"},
        {"endpoint": "http://example.com/", "signing_secret": 5},
    ],
)
def test_a_bad_webhook_is_refused(sandbox: RunningSandbox, body: dict[str, Any]) -> None:
    assert call(sandbox, "POST", "/webhooks", body).status == 422
    assert call(sandbox, "GET", "/webhooks").json["data"] == []
