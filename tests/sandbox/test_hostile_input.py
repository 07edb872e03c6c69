"""Input of people and programs that do not know the protocol, or know it too well: never a 500, never a dead server."""

from __future__ import annotations

import json
import random
import socket
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from notifications.sandbox.app import RunningSandbox
from notifications.sandbox.wire import MAX_BODY_BYTES, BadRequest, Framer
from tests.sandbox.callers import MESSAGE, call, request_bytes, send, talk


def status_of(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1.1 "), answer
    return int(answer[9:12])


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"GET /\r\n\r\n", 400),
        (b"GET  / HTTP/1.1\r\n\r\n", 400),
        (b"G\x00T / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 505),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA : b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: b\x00\r\n\r\n", 400),
        (b"GET //[ HTTP/1.1\r\n\r\n", 400),
        (b"POST /emails HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /emails HTTP/1.1\r\nContent-Length: 1_0\r\n\r\n", 400),
        (b"POST /emails HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST /emails HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413),
        (b"POST /emails HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST /emails HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"POST /emails HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
        (b"POST /emails HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
        (b"POST /emails HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n", 400),
        (b"POST /emails HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n", 413),
        (b"POST /emails HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 2_000, 400),
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 70_000, 431),
    ],
)
def test_what_is_not_a_request_is_refused_and_the_connection_ends(
    sandbox: RunningSandbox, sent: bytes, status: int
) -> None:
    came, ended = talk(sandbox, sent)
    assert status_of(came) == status
    assert json.loads(came.partition(b"\r\n\r\n")[2])["statusCode"] == status
    assert ended in ("fin", "rst")
    assert send(sandbox).status == 200


def test_half_a_request_is_waited_for_and_forgotten_with_its_client(sandbox: RunningSandbox) -> None:
    for cut in (1, 20, 100, -1):
        assert talk(sandbox, request_bytes(sandbox, "k")[:cut], for_s=0.05) == (b"", "silence")
    assert sandbox.ledger("k").http_requests == 0


def test_a_request_may_come_byte_by_byte_and_in_chunks(sandbox: RunningSandbox) -> None:
    body = json.dumps(MESSAGE).encode()
    head = (
        f"POST /emails HTTP/1.1\r\nUser-Agent: t\r\nAuthorization: Bearer {sandbox.full_key}\r\n"
        "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    ).encode()
    sent = head + b"%x;ext=1\r\n%s\r\n%x\r\n%s\r\n0\r\nTrailer: x\r\n\r\n" % (10, body[:10], len(body) - 10, body[10:])
    framer = Framer()
    calls = []
    for byte in sent:
        framer.feed(bytes((byte,)))
        if (complete := framer.next_call()) is not None:
            calls.append(complete)
    assert [whole.body for whole in calls] == [body]
    assert status_of(talk(sandbox, sent)[0]) == 200


def test_pipelined_requests_are_answered_in_order(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="during", kind="delay", seconds=0.2, match="first")
    last = request_bytes(sandbox, "second").replace(b"Host:", b"Connection: close\r\nHost:")
    came, _ = talk(sandbox, request_bytes(sandbox, "first") + b"\r\n" + last)
    assert came.index(sandbox.ledger("first").ids[0].encode()) < came.index(sandbox.ledger("second").ids[0].encode())


def test_a_client_that_expects_100_continue_gets_it(sandbox: RunningSandbox) -> None:
    head, _, body = request_bytes(sandbox, "k").partition(b"\r\n\r\n")
    with socket.create_connection(("127.0.0.1", sandbox.port), timeout=60) as connection:
        connection.sendall(head + b"\r\nExpect: 100-continue\r\n\r\n")
        assert connection.recv(1_000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert status_of(connection.recv(1_000)) == 200


def test_an_http_1_0_client_is_answered_and_let_go(sandbox: RunningSandbox) -> None:
    sent = request_bytes(sandbox, "k").replace(b"HTTP/1.1", b"HTTP/1.0")
    came, ended = talk(sandbox, sent)
    assert (status_of(came), ended) == (200, "fin")


def test_a_body_over_the_limit_is_refused_and_one_below_it_is_read(sandbox: RunningSandbox) -> None:
    big = "x" * (5 * 1024 * 1024)
    assert send(sandbox, html=big).status == 200
    head = b"POST /emails HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1)
    assert status_of(talk(sandbox, head)[0]) == 413


@pytest.mark.parametrize(
    "body",
    [
        b"null",
        5,
        "text",
        [],
        [MESSAGE],
        {**MESSAGE, "to": [[["olga@example.com"]]]},
        {**MESSAGE, "to": "a" * 100_000},
        {**MESSAGE, "to": "@" * 10_000 + ".com"},
        {**MESSAGE, "from": "<" * 1_000 + ">" * 1_000},
        {**MESSAGE, "from": "<>"},
        {**MESSAGE, "subject": "\ud800"},
        {**MESSAGE, "subject": "nul\x00"},
        {**MESSAGE, "tags": [{"name": "__class__", "value": None}]},
        {**MESSAGE, "attachments": "x"},
        {**MESSAGE, "attachments": [[]]},
        {**MESSAGE, "scheduled_at": "in 999999 days"},
        {**MESSAGE, "scheduled_at": "9999-12-31T23:59:59-23:59"},
        {**MESSAGE, "scheduled_at": ["x"]},
        {**MESSAGE, "headers": {"A": None}},
        {**MESSAGE, "template": []},
    ],
)
@pytest.mark.parametrize("path", ["/emails", "/emails/batch"])
def test_a_body_of_any_shape_gets_a_client_error_or_an_id(sandbox: RunningSandbox, path: str, body: object) -> None:
    heard = call(sandbox, "POST", path, body)
    assert heard.status in (200, 422)


def test_a_lone_surrogate_goes_all_the_way_to_the_webhooks(sandbox: RunningSandbox) -> None:
    call(sandbox, "POST", "/webhooks", {"endpoint": "http://127.0.0.1:9/"})
    mail_id = call(sandbox, "POST", "/emails", {**MESSAGE, "subject": "\ud800"}).json["id"]
    assert call(sandbox, "GET", f"/emails/{mail_id}").json["subject"] == "\ud800"
    assert call(sandbox, "GET", "/__sandbox__/events").status == 200


@pytest.mark.parametrize(
    "path", ["/emails/%00", "/emails/%ff", "/emails/..%2f..", "/emails?limit=%FF", "/emails?limit=²", "/é"]
)
def test_odd_paths_are_client_errors(sandbox: RunningSandbox, path: str) -> None:
    sent = (
        f"GET {path} HTTP/1.1\r\nUser-Agent: t\r\nAuthorization: Bearer {sandbox.full_key}\r\nConnection: close\r\n\r\n"
    )
    assert 400 <= status_of(talk(sandbox, sent.encode())[0]) < 500


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
fields = ("from", "to", "subject", "text", "html", "cc", "tags", "headers", "attachments", "scheduled_at", "template")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.dictionaries(st.sampled_from(fields), json_values, max_size=4))
def test_no_field_of_any_shape_breaks_the_sandbox(sandbox: RunningSandbox, changes: dict[str, object]) -> None:
    assert call(sandbox, "POST", "/emails", {**MESSAGE, **changes}).status in (200, 403, 422)


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32), noise=st.integers(0, 6))
def test_the_framer_reads_or_refuses_any_bytes(seed: int, noise: int) -> None:
    dice = random.Random(seed)
    sent = bytearray(b"POST /emails HTTP/1.1\r\nTransfer-Encoding: chunked\r\nA: b\r\n\r\n4\r\nabcd\r\n0\r\n\r\n")
    for _ in range(noise):
        sent[dice.randrange(len(sent))] = dice.randrange(256)
    framer = Framer()
    framer.feed(bytes(sent))
    with suppress(BadRequest):
        framer.next_call()
