"""The control plane: closed unless opened, the ledger, the clock, the knobs, events on demand, and reset."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from notifications.sandbox.app import RunningSandbox, running_sandbox
from notifications.sandbox.control import ORDERS
from notifications.sandbox.refusals import Misused
from tests.sandbox.callers import MESSAGE, call, eventually, order, request_bytes, send, talk
from tests.sandbox.receiver import Receiver, verified

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.mark.parametrize("path", ["/__sandbox__", "/__sandbox__/", "/__sandbox__/ledger?key=k", "/__sandbox__/faults"])
def test_without_control_there_is_no_control_plane(path: str) -> None:
    with running_sandbox(with_control=False) as sandbox:
        for method in ("GET", "POST"):
            heard = call(sandbox, method, path, {})
            assert (heard.status, heard.name) == (404, "not_found")


def test_a_page_in_a_browser_cannot_give_orders(sandbox: RunningSandbox) -> None:
    heard = call(sandbox, "POST", "/__sandbox__/reset", {}, origin="http://example.com")
    assert heard.status == 403
    assert order(sandbox, "POST", "reset").status == 200


def test_an_unknown_order_names_those_there_are(sandbox: RunningSandbox) -> None:
    heard = order(sandbox, "GET", "nothing")
    assert heard.status == 404
    assert "GET /__sandbox__/ledger" in heard.json["error"]
    assert "GET /__sandbox__/health" in heard.json["error"]
    assert order(sandbox, "PUT", "faults").status == 404


@pytest.mark.parametrize("body", [b"{", b"[]", b"5", b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_object_is_refused(sandbox: RunningSandbox, body: bytes) -> None:
    for method, name in ORDERS:
        heard = order(sandbox, method, name, body)
        assert heard.status == 422
        assert heard.json["error"].endswith(".")


@pytest.mark.parametrize("name", ["health", "ledger", "config", "nothing"])
def test_an_answer_ends_its_line(sandbox: RunningSandbox, name: str) -> None:
    """So that the prompt of whoever asks with curl stands on a line of its own."""
    body = order(sandbox, "GET", name).raw
    assert body.endswith(b"}\n")
    assert body.count(b"\n") == 1


def test_the_ledger_says_zero_for_an_unknown_key(sandbox: RunningSandbox) -> None:
    heard = order(sandbox, "GET", "ledger?key=never/seen")
    assert (heard.status, heard.json) == (
        200,
        {"key": "never/seen", "accepted": 0, "ids": [], "http_requests": 0, "replays": 0, "first_at": None},
    )
    assert sandbox.ledger("never/seen").accepted == 0


def test_the_ledger_counts_requests_that_were_lost_on_the_way(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="before_accept", kind="close")
    talk(sandbox, request_bytes(sandbox, "k"))
    send(sandbox, "k")
    send(sandbox, "k", to="nobody")
    heard = order(sandbox, "GET", "ledger?key=k").json
    assert (heard["accepted"], heard["http_requests"], heard["replays"]) == (1, 3, 0)
    assert heard["first_at"] is not None


def test_the_totals_name_keys_that_were_accepted_twice(sandbox: RunningSandbox) -> None:
    send(sandbox, "once")
    send(sandbox, "twice")
    sandbox.clock(86_400)
    send(sandbox, "twice")
    totals = order(sandbox, "GET", "ledger").json
    assert totals == {
        "keys": 2,
        "accepted": 3,
        "http_requests": 3,
        "replays": 0,
        "twice_count": 1,
        "twice": ["twice"],
    }


def test_requests_show_body_digest_and_what_became_of_them(sandbox: RunningSandbox) -> None:
    send(sandbox, "k")
    send(sandbox, "other")
    send(sandbox, "k")
    first, second = order(sandbox, "GET", "requests?key=k").json["requests"]
    assert (first["method"], first["path"], first["key"], first["status"]) == ("POST", "/emails", "k", 200)
    assert (first["accepted"], first["replayed"], second["accepted"], second["replayed"]) == (True, False, False, True)
    assert first["body_sha256"] == second["body_sha256"]
    assert first["at_s"] <= first["ended_at_s"] <= second["at_s"]
    assert "olga@example.com" in first["body"]
    assert len(order(sandbox, "GET", "requests?limit=1").json["requests"]) == 1
    assert order(sandbox, "GET", "requests?limit=0").status == 422
    assert order(sandbox, "GET", "requests?limit=x").status == 422


def test_a_large_body_is_kept_in_part_and_fingerprinted_whole(sandbox: RunningSandbox) -> None:
    body = json.dumps({**MESSAGE, "html": "x" * 300_000}).encode()
    call(sandbox, "POST", "/emails", body, idempotency_key="k")
    (seen,) = sandbox.requests("k")
    assert seen["body_sha256"] == hashlib.sha256(body).hexdigest()
    assert len(seen["body"]) < len(body)


def test_a_request_without_an_answer_yet_is_seen(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="before_accept", kind="hang")
    talk(sandbox, request_bytes(sandbox, "k"), for_s=0.1)
    (seen,) = sandbox.requests("k")
    assert (seen["status"], seen["ended_at_s"], seen["fault"]) == (None, None, "hang")


def test_the_clock_moves_created_at(sandbox: RunningSandbox) -> None:
    before = call(sandbox, "GET", f"/emails/{send(sandbox).json['id']}").json["created_at"]
    heard = order(sandbox, "POST", "clock", {"advance": 400 * 86_400})
    assert heard.json["offset_s"] == 400 * 86_400
    after = call(sandbox, "GET", f"/emails/{send(sandbox).json['id']}").json["created_at"]
    assert int(after[:4]) > int(before[:4])


@pytest.mark.parametrize("advance", [-1, "1", None, True, 1e12])
def test_the_clock_never_goes_back(sandbox: RunningSandbox, advance: Any) -> None:
    assert order(sandbox, "POST", "clock", {"advance": advance}).status == 422


def test_events_happen_on_demand(sandbox: RunningSandbox, receiver: Receiver) -> None:
    order(sandbox, "POST", "config", {"webhooks": [{"endpoint": receiver.url, "signing_secret": SECRET}]})
    mail_id = send(sandbox, "k").json["id"]
    receiver.of_type("email.delivered")
    bounce = {"bounce": {"type": "Permanent", "subType": "General", "message": "no\x00such user", "diagnosticCode": []}}
    heard = order(sandbox, "POST", "emit", {"type": "email.bounced", "id": mail_id, "opts": bounce})
    assert heard.json == {"id": mail_id, "last_event": "bounced"}
    got = receiver.of_type("email.bounced")[0]
    assert verified(got, SECRET)["data"]["bounce"]["message"] == "no\x00such user"
    sandbox.emit("email.opened", key="k")
    assert receiver.of_type("email.opened")[0].data["email_id"] == mail_id
    assert call(sandbox, "GET", f"/emails/{mail_id}").json["last_event"] == "opened"
    assert [event["type"] for event in sandbox.events()][-2:] == ["email.bounced", "email.opened"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"type": "email.opened"},
        {"type": "email.opened", "id": "nobody"},
        {"type": "email.opened", "key": "nobody"},
        {"type": "opened", "id": "x"},
        {"type": 5, "id": "x"},
        {"type": "email.opened", "id": "x", "opts": []},
    ],
)
def test_an_event_needs_a_type_and_a_mail(sandbox: RunningSandbox, body: dict[str, Any]) -> None:
    heard = order(sandbox, "POST", "emit", body)
    assert heard.status == 422
    assert heard.json["error"]


def test_attempts_show_what_was_sent_to_which_endpoint(sandbox: RunningSandbox, receiver: Receiver) -> None:
    order(sandbox, "POST", "config", {"webhooks": [{"endpoint": receiver.url, "events": ["email.sent"]}]})
    mail_id = send(sandbox).json["id"]
    eventually(lambda: sandbox.attempts() and sandbox.attempts()[0]["status"] == "success")
    (attempt,) = order(sandbox, "GET", f"attempts?id={mail_id}").json["attempts"]
    assert (attempt["id"], attempt["type"]) == (receiver.got[0].id, "email.sent")
    assert [made["http_status_code"] for made in attempt["tries"]] == [200]
    assert order(sandbox, "GET", "attempts?id=nobody").json["attempts"] == []


def test_knobs_are_read_and_turned(sandbox: RunningSandbox) -> None:
    shown = order(sandbox, "GET", "config").json
    assert (shown["rate_per_s"], shown["strict_digest"], shown["domains"]) == (None, True, ["example.com"])
    turned = order(sandbox, "POST", "config", {"rate_per_s": 1_000_000, "latency_s": 0.2, "domains": ["Acme.Example"]})
    assert (turned.status, turned.json["domains"]) == (200, ["acme.example"])
    assert send(sandbox).status == 403
    order(sandbox, "POST", "config", {"sending_key": "re_other"})
    assert sandbox.sending_key == "re_other"
    assert send(sandbox, **{"from": "a@acme.example"}).status == 200


@pytest.mark.parametrize(
    "body",
    [
        {"speed": 5},
        {"rate_per_s": 0},
        {"rate_per_s": "10"},
        {"strict_digest": 1},
        {"latency_s": -1},
        {"domains": "example.com"},
        {"domains": [""]},
        {"full_key": ""},
        {"full_key": "re_sandbox_sending"},
        {"log_limit": None},
        {"webhooks": {}},
        {"webhooks": ["http://example.com/"]},
        {"webhooks": [{"endpoint": "nowhere"}]},
    ],
)
def test_a_bad_knob_is_refused_and_nothing_changes(sandbox: RunningSandbox, body: dict[str, Any]) -> None:
    before = order(sandbox, "GET", "config").json
    heard = order(sandbox, "POST", "config", body)
    assert heard.status == 422
    assert heard.json["error"].endswith(".")
    assert order(sandbox, "GET", "config").json == before


def test_a_bad_knob_is_refused_at_the_start_as_well() -> None:
    with pytest.raises(Misused, match="no knob 'speed'"), running_sandbox(speed=5):
        pass


def test_registering_a_webhook_by_config_twice_keeps_one(sandbox: RunningSandbox, receiver: Receiver) -> None:
    for secret in (None, SECRET, SECRET):
        hook = {"endpoint": receiver.url} | ({"signing_secret": secret} if secret else {})
        (shown,) = order(sandbox, "POST", "config", {"webhooks": [hook]}).json["webhooks"]
    assert shown["signing_secret"] == SECRET


def test_reset_forgets_everything_but_the_knobs(sandbox: RunningSandbox, receiver: Receiver) -> None:
    order(sandbox, "POST", "config", {"webhooks": [{"endpoint": receiver.url}], "latency_s": 0.001})
    mail_id = send(sandbox, "k").json["id"]
    sandbox.fault(stage="before_accept", kind="close", times=None)
    sandbox.clock(90_000)
    assert order(sandbox, "POST", "reset").json == {"reset": True}
    assert sandbox.ledger("k").http_requests == 0
    assert call(sandbox, "GET", f"/emails/{mail_id}").status == 404
    assert [order(sandbox, "GET", name).json[name] for name in ("events", "attempts", "faults")] == [[], [], []]
    config = order(sandbox, "GET", "config").json
    assert (config["webhooks"], config["latency_s"]) == ([], 0.001)
    assert order(sandbox, "POST", "clock", {"advance": 0}).json["offset_s"] == 0
    assert send(sandbox, "k", text="Another.").status == 200
