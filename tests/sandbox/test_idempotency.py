"""One key, one message: replays, conflicts, concurrency, expiry, and what lets a key go."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from notifications.sandbox.app import RunningSandbox, running_sandbox
from tests.sandbox.callers import MESSAGE, call, send

KEY = "report-ready/demo-001"


def test_the_same_key_and_body_gets_the_same_bytes_and_no_second_message(sandbox: RunningSandbox) -> None:
    first, second = send(sandbox, KEY), send(sandbox, KEY)
    assert (first.status, first.raw) == (second.status, second.raw)
    row = sandbox.ledger(KEY)
    assert (row.accepted, row.http_requests, row.replays) == (1, 2, 1)


def test_the_same_key_with_another_body_is_a_conflict(sandbox: RunningSandbox) -> None:
    send(sandbox, KEY)
    heard = send(sandbox, KEY, text="Another text.")
    assert (heard.status, heard.name) == (409, "invalid_idempotent_request")
    assert sandbox.ledger(KEY).accepted == 1


def test_eight_at_once_get_one_acceptance_and_seven_conflicts(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="during", kind="delay", seconds=1.0)
    with ThreadPoolExecutor(8) as threads:
        heard = list(threads.map(lambda _: send(sandbox, KEY), range(8)))
    assert sorted(answer.status for answer in heard) == [200] + [409] * 7
    assert {answer.name for answer in heard if answer.status == 409} == {"concurrent_idempotent_requests"}
    assert sandbox.ledger(KEY).accepted == 1
    assert send(sandbox, KEY).status == 200
    assert sandbox.ledger(KEY).accepted == 1


def test_a_key_is_forgotten_at_exactly_24_hours(sandbox: RunningSandbox) -> None:
    first = send(sandbox, KEY)
    sandbox.clock(86_399)
    assert send(sandbox, KEY).raw == first.raw
    sandbox.clock(1)
    assert send(sandbox, KEY).raw != first.raw
    assert sandbox.ledger(KEY).accepted == 2


def test_many_expired_keys_are_dropped_and_stay_in_the_ledger(sandbox: RunningSandbox) -> None:
    for number in range(5):
        send(sandbox, f"old-{number}")
    sandbox.clock(90_000)
    send(sandbox, "new")
    assert [sandbox.ledger(f"old-{number}").accepted for number in range(5)] == [1] * 5


def test_the_scope_of_a_key_is_the_endpoint(sandbox: RunningSandbox) -> None:
    send(sandbox, KEY)
    batch = call(sandbox, "POST", "/emails/batch", [MESSAGE], idempotency_key=KEY)
    assert batch.status == 200
    assert sandbox.ledger(KEY).accepted == 2


def test_the_api_key_is_not_part_of_the_scope(sandbox: RunningSandbox) -> None:
    first = send(sandbox, KEY)
    assert call(sandbox, "POST", "/emails", MESSAGE, idempotency_key=KEY).raw == first.raw


def test_strict_digest_sees_every_byte_and_the_lenient_one_only_meaning() -> None:
    reordered = dict(reversed(MESSAGE.items())) | {"to": [MESSAGE["to"]], "cc": None, "tags": []}
    with running_sandbox() as strict:
        send(strict, KEY)
        assert call(strict, "POST", "/emails", reordered, idempotency_key=KEY).status == 409
    with running_sandbox(strict_digest=False) as lenient:
        first = send(lenient, KEY)
        assert call(lenient, "POST", "/emails", reordered, idempotency_key=KEY).raw == first.raw
        assert send(lenient, KEY, subject="Other").status == 409


def test_a_refused_request_lets_its_key_go(sandbox: RunningSandbox) -> None:
    assert send(sandbox, KEY, to="nobody").status == 422
    assert send(sandbox, KEY).status == 200
    assert sandbox.ledger(KEY).accepted == 1


def test_a_remembered_refusal_is_replayed_and_conflicts_with_the_mended_body() -> None:
    with running_sandbox(remember_errors=True) as sandbox:
        first = send(sandbox, KEY, to="nobody")
        assert send(sandbox, KEY, to="nobody").raw == first.raw
        assert send(sandbox, KEY).name == "invalid_idempotent_request"


def test_a_request_broken_while_it_runs_lets_its_key_go(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="during", kind="status", status=500, name="application_error")
    assert send(sandbox, KEY).status == 500
    assert send(sandbox, KEY).status == 200
    assert sandbox.ledger(KEY).accepted == 1


def test_messages_without_a_key_are_accepted_each_time(sandbox: RunningSandbox) -> None:
    assert send(sandbox).json["id"] != send(sandbox).json["id"]


def test_a_strict_batch_is_all_or_nothing(sandbox: RunningSandbox) -> None:
    bad = [MESSAGE, {**MESSAGE, "to": "nobody"}]
    assert call(sandbox, "POST", "/emails/batch", bad, idempotency_key=KEY).status == 422
    assert sandbox.ledger(KEY).accepted == 0
    good = call(sandbox, "POST", "/emails/batch", [MESSAGE, MESSAGE], idempotency_key=KEY)
    assert [list(item) for item in good.json["data"]] == [["id"], ["id"]]
    assert "errors" not in good.json
    assert sandbox.ledger(KEY).ids == [item["id"] for item in good.json["data"]]


def test_a_permissive_batch_accepts_the_good_and_names_the_bad(sandbox: RunningSandbox) -> None:
    body = [{**MESSAGE, "to": "nobody"}, MESSAGE, 5]
    heard = call(sandbox, "POST", "/emails/batch", body, idempotency_key=KEY, x_batch_validation="permissive")
    assert heard.status == 200
    assert len(heard.json["data"]) == 1
    assert [error["index"] for error in heard.json["errors"]] == [0, 2]
    again = call(sandbox, "POST", "/emails/batch", body, idempotency_key=KEY, x_batch_validation="permissive")
    assert again.raw == heard.raw
    assert sandbox.ledger(KEY).accepted == 1


def test_a_batch_holds_1_to_100_messages_without_attachments(sandbox: RunningSandbox) -> None:
    for body in ([], [MESSAGE] * 101, MESSAGE, [{**MESSAGE, "attachments": [{"content": "YQ=="}]}]):
        assert call(sandbox, "POST", "/emails/batch", body).status == 422
    assert call(sandbox, "POST", "/emails/batch", [MESSAGE] * 100).status == 200
