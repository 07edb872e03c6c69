"""Every fault of the webhook sender, seen by a receiver."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from standardwebhooks import WebhookVerificationError

from notifications.sandbox.app import RunningSandbox
from tests.sandbox.callers import call, eventually, order, send
from tests.sandbox.receiver import Receiver, register, verified


@pytest.fixture
def secret(sandbox: RunningSandbox, receiver: Receiver) -> str:
    """The receiver is registered for `email.sent` alone: one message a mail."""
    return register(sandbox, receiver, ["email.sent"])[1]


@pytest.mark.usefixtures("secret")
def test_a_dropped_event_never_comes(sandbox: RunningSandbox, receiver: Receiver) -> None:
    sandbox.webhook_fault(kind="drop")
    send(sandbox)
    kept = send(sandbox).json["id"]
    receiver.wait_for(1)
    time.sleep(0.1)
    assert [got.data["email_id"] for got in receiver.got] == [kept]
    assert sandbox.attempts()[0]["status"] == "dropped"


@pytest.mark.usefixtures("secret")
def test_a_duplicated_event_comes_again_under_its_id(sandbox: RunningSandbox, receiver: Receiver) -> None:
    sandbox.webhook_fault(kind="duplicate", n=2)
    send(sandbox)
    assert len({got.id for got in receiver.wait_for(3)}) == 1


@pytest.mark.usefixtures("secret")
def test_a_delayed_event_lets_the_next_one_pass(sandbox: RunningSandbox, receiver: Receiver) -> None:
    sandbox.webhook_fault(kind="delay", seconds=0.3)
    slow, fast = send(sandbox).json["id"], send(sandbox).json["id"]
    assert [got.data["email_id"] for got in receiver.wait_for(2)] == [fast, slow]


@pytest.mark.usefixtures("secret")
def test_shuffled_events_come_in_another_order_all_the_same(sandbox: RunningSandbox, receiver: Receiver) -> None:
    sandbox.webhook_fault(kind="shuffle", window_s=0.5, times=None, seed=3)
    ids = [send(sandbox).json["id"] for _ in range(6)]
    came = [got.data["email_id"] for got in receiver.wait_for(6)]
    assert sorted(came) == sorted(ids)
    assert came != ids


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("bad_signature", {}),
        ("stale_timestamp", {"seconds": 360}),
        ("stale_timestamp", {"s": 360}),
        ("old_secret_only", {}),
    ],
)
def test_an_untrustworthy_event_does_not_verify_and_its_retry_does(
    sandbox: RunningSandbox, receiver: Receiver, secret: str, kind: str, options: dict[str, Any]
) -> None:
    receiver.statuses = [401]
    sandbox.webhook_fault(kind=kind, **options)
    send(sandbox)
    first, second = receiver.wait_for(2)
    with pytest.raises(WebhookVerificationError):
        verified(first, secret)
    assert verified(second, secret)


def test_a_retired_secret_can_sign_alone(sandbox: RunningSandbox, receiver: Receiver) -> None:
    webhook_id, old = register(sandbox, receiver, ["email.sent"])
    new = call(sandbox, "POST", f"/webhooks/{webhook_id}/signing-secret/rotate").json["signing_secret"]
    sandbox.webhook_fault(kind="old_secret_only")
    send(sandbox)
    got = receiver.wait_for(1)[0]
    assert verified(got, old)
    with pytest.raises(WebhookVerificationError):
        verified(got, new)


def test_an_unknown_type_is_signed_like_any_other(sandbox: RunningSandbox, receiver: Receiver, secret: str) -> None:
    sandbox.webhook_fault(kind="unknown_type", type="inbox.thread.created")
    send(sandbox)
    assert verified(receiver.wait_for(1)[0], secret)["type"] == "inbox.thread.created"


def test_another_spelling_of_the_json_is_signed_as_sent(
    sandbox: RunningSandbox, receiver: Receiver, secret: str
) -> None:
    sandbox.webhook_fault(kind="whitespace")
    send(sandbox)
    got = receiver.wait_for(1)[0]
    assert verified(got, secret)["type"] == "email.sent"
    assert json.dumps(json.loads(got.body), separators=(",", ":")).encode() != got.body


@pytest.mark.usefixtures("secret")
@pytest.mark.parametrize("header", ["svix-id", "svix-timestamp", "svix-signature"])
def test_a_header_can_be_missing(sandbox: RunningSandbox, receiver: Receiver, header: str) -> None:
    sandbox.webhook_fault(kind="missing_header", header=header)
    send(sandbox)
    assert header not in receiver.wait_for(1)[0].headers


@pytest.mark.usefixtures("secret")
def test_a_rule_can_be_aimed_at_one_recipient(sandbox: RunningSandbox, receiver: Receiver) -> None:
    sandbox.webhook_fault(kind="drop", match="^email.sent .*vera@", times=None)
    send(sandbox, to="vera@example.com")
    send(sandbox)
    receiver.wait_for(1)
    time.sleep(0.1)
    assert [got.data["to"] for got in receiver.got] == [["olga@example.com"]]


@pytest.mark.parametrize(
    "rule", [{}, {"kind": "close"}, {"kind": "duplicate", "n": -1}, {"kind": "drop", "stage": 5, "x": 1}]
)
def test_what_is_not_a_rule_is_refused(sandbox: RunningSandbox, rule: dict[str, Any]) -> None:
    heard = order(sandbox, "POST", "webhook-faults", rule)
    assert heard.status == 422
    assert heard.json["error"].endswith(".")


def test_rules_are_listed_and_cleared(sandbox: RunningSandbox) -> None:
    sandbox.webhook_fault(kind="drop")
    assert [rule["kind"] for rule in order(sandbox, "GET", "webhook-faults").json["faults"]] == ["drop"]
    order(sandbox, "DELETE", "webhook-faults")
    assert order(sandbox, "GET", "webhook-faults").json["faults"] == []


@pytest.mark.usefixtures("secret")
def test_an_event_may_arrive_before_the_answer(sandbox: RunningSandbox, receiver: Receiver) -> None:
    sandbox.fault(stage="after_accept", kind="delay", seconds=0.5)
    began = time.time()
    send(sandbox, "k")
    eventually(lambda: receiver.got)
    assert receiver.got[0].at_s - began < 0.4
