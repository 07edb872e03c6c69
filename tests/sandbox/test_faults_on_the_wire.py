"""Every kind of fault, seen by a client that knows only sockets, with the ledger's word on what was accepted."""

from __future__ import annotations

import base64
import gzip
import socket
import time
import zlib
from typing import Any

import pytest

from notifications.sandbox.app import RunningSandbox
from notifications.sandbox.breakage import KINDS
from tests.sandbox.callers import eventually, request_bytes, send, talk

pytestmark = pytest.mark.slow

KEY = "report-ready/demo-001"

# What a client of one broken answer sees: how the connection ends, and what the bytes begin with.
ENDINGS: dict[str, tuple[dict[str, Any], str, bytes]] = {
    "hang": ({"seconds": 0.1}, "fin", b""),
    "close": ({}, "fin", b""),
    "rst": ({}, "rst", b""),
    "truncate": ({}, "fin", b"HTTP/1.1 200 OK\r\n"),
    "partial_headers": ({}, "fin", b"HTTP/1.1 200 OK\r\n"),
    "garbage": ({}, "fin", b"\x00\xff"),
    "raw": ({"bytes_b64": base64.b64encode(b"HTTP/1.1 200 OK\r\nContent-Le").decode()}, "fin", b"HTTP/1.1 200 OK"),
    "drip": ({"bytes_per_s": 5_000}, "silence", b"HTTP/1.1 200 OK\r\n"),
    "status": ({"status": 500}, "silence", b"HTTP/1.1 500 "),
    "html": ({"status": 200}, "silence", b"HTTP/1.1 200 OK\r\nContent-Type: text/html"),
    "bad_json": ({}, "silence", b"HTTP/1.1 200 OK\r\n"),
    "wrong_shape": ({"body": ["ok"]}, "silence", b"HTTP/1.1 200 OK\r\n"),
    "redirect": ({"location": "/login"}, "silence", b"HTTP/1.1 302 Found\r\nLocation: /login\r\n"),
    "gzip_cut": ({}, "silence", b"HTTP/1.1 200 OK\r\n"),
    "informational": ({}, "silence", b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n"),
    "delay": ({"seconds": 0.1}, "silence", b"HTTP/1.1 200 OK\r\n"),
}


def test_the_table_of_this_file_has_every_kind() -> None:
    assert set(ENDINGS) == set(KINDS)


@pytest.mark.parametrize("kind", ENDINGS)
def test_after_acceptance_the_message_is_out_whatever_the_client_sees(sandbox: RunningSandbox, kind: str) -> None:
    options, ending, beginning = ENDINGS[kind]
    sandbox.fault(stage="after_accept", kind=kind, **options)
    came, ended = talk(sandbox, request_bytes(sandbox, KEY), for_s=0.3)
    assert ended == ending
    assert came.startswith(beginning) if beginning else came == b""
    assert sandbox.ledger(KEY).accepted == 1
    retried = send(sandbox, KEY)
    row = sandbox.ledger(KEY)
    assert retried.json == {"id": row.ids[0]}
    assert (row.accepted, row.http_requests, row.replays) == (1, 2, 1)


@pytest.mark.parametrize("kind", sorted(set(ENDINGS) - {"delay", "informational"}))
@pytest.mark.parametrize("stage", ["before_accept", "during"])
def test_before_acceptance_nothing_is_out_and_a_retry_is_the_first(
    sandbox: RunningSandbox, kind: str, stage: str
) -> None:
    options, ending, _ = ENDINGS[kind]
    sandbox.fault(stage=stage, kind=kind, **options)
    assert talk(sandbox, request_bytes(sandbox, KEY), for_s=0.3)[1] == ending
    assert sandbox.ledger(KEY).accepted == 0
    assert send(sandbox, KEY).status == 200
    assert sandbox.ledger(KEY).replays == 0


@pytest.mark.parametrize("stage", ["before_accept", "during", "after_accept"])
def test_a_delay_only_delays(sandbox: RunningSandbox, stage: str) -> None:
    sandbox.fault(stage=stage, kind="delay", seconds=0.2)
    began = time.monotonic()
    assert send(sandbox, KEY).status == 200
    assert time.monotonic() - began >= 0.2


def test_a_truncated_answer_promises_60_bytes_and_gives_10(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="after_accept", kind="truncate")
    head, body = talk(sandbox, request_bytes(sandbox, KEY))[0].split(b"\r\n\r\n")
    assert b"Content-Length: 60" in head
    assert len(body) == 10


def test_half_of_a_head_has_no_end(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="after_accept", kind="partial_headers")
    assert b"\r\n\r\n" not in talk(sandbox, request_bytes(sandbox, KEY))[0]


def test_a_drip_takes_as_long_as_its_bytes(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="after_accept", kind="drip", bytes_per_s=400)
    began = time.monotonic()
    assert send(sandbox, KEY).json["id"] == sandbox.ledger(KEY).ids[0]
    assert time.monotonic() - began >= 0.3


def test_a_cut_gzip_body_cannot_be_unpacked(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="after_accept", kind="gzip_cut")
    heard = send(sandbox, KEY)
    assert heard.header("content-encoding") == "gzip"
    assert heard.header("content-length") == str(len(heard.raw))
    with pytest.raises((EOFError, zlib.error)):
        gzip.decompress(heard.raw)


@pytest.mark.parametrize("status", [201, 204, 302, 408, 409, 425, 451, 502, 520])
def test_any_status_can_be_scripted(sandbox: RunningSandbox, status: int) -> None:
    sandbox.fault(stage="after_accept", kind="status", status=status, name="odd", message="<img src=x>")
    heard = send(sandbox, KEY)
    assert heard.status == status
    assert heard.raw == b"" if status == 204 else heard.json["message"] == "<img src=x>"
    assert sandbox.ledger(KEY).accepted == 1


@pytest.mark.parametrize(
    ("name", "status"),
    [("rate_limit_exceeded", 429), ("concurrent_idempotent_requests", 409), ("service_unavailable", 503)],
)
def test_a_known_name_brings_its_usual_status(sandbox: RunningSandbox, name: str, status: int) -> None:
    sandbox.fault(stage="before_accept", kind="status", name=name)
    heard = send(sandbox, KEY)
    assert (heard.status, heard.name, heard.json["statusCode"]) == (status, name, status)


def test_a_header_may_come_twice_and_hold_anything(sandbox: RunningSandbox) -> None:
    values = ["120", "Wed, 21 Oct 2015 07:28:00 GMT", "-5", "", "31536000", "１２０"]
    pairs = [["Retry-After", value] for value in values]
    sandbox.fault(stage="before_accept", kind="status", status=429, name="rate_limit_exceeded", headers=pairs)
    came, _ = talk(sandbox, request_bytes(sandbox, KEY), for_s=0.2)
    assert [line for line in came.split(b"\r\n") if line.startswith(b"Retry-After:")] == [
        f"Retry-After: {value}".encode() for value in values
    ]


@pytest.mark.parametrize("raw", [b"boom\x00tail", b"", b"\xff\xfe", b'{"id":""}', b"<html>", b'"ok"', b"[]"])
def test_a_body_may_be_any_bytes(sandbox: RunningSandbox, raw: bytes) -> None:
    sandbox.fault(stage="after_accept", kind="status", status=200, body_b64=base64.b64encode(raw).decode())
    assert send(sandbox, KEY).raw == raw


@pytest.mark.parametrize("body", [{}, {"id": ""}, {"id": None}, [], "ok", None, {"message": "boom\x00tail"}])
def test_a_json_body_may_have_any_shape(sandbox: RunningSandbox, body: Any) -> None:
    sandbox.fault(stage="after_accept", kind="wrong_shape", body=body)
    assert send(sandbox, KEY).json == body


def test_several_early_hints_come_before_the_answer(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="after_accept", kind="informational", status=102, count=3)
    came, _ = talk(sandbox, request_bytes(sandbox, KEY), for_s=0.3)
    assert came.count(b"HTTP/1.1 102 ") == 3
    assert came.count(b"HTTP/1.1 200 OK") == 1


def test_a_client_that_leaves_does_not_stop_the_acceptance(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="during", kind="delay", seconds=1.5)
    talk(sandbox, request_bytes(sandbox, KEY), for_s=0.1)
    assert sandbox.ledger(KEY).accepted == 0
    eventually(lambda: sandbox.ledger(KEY).accepted == 1)


def test_a_client_that_closes_its_half_still_gets_its_answer(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="during", kind="delay", seconds=0.2)
    with socket.create_connection(("127.0.0.1", sandbox.port), timeout=60) as connection:
        connection.sendall(request_bytes(sandbox, KEY))
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200 OK")
        assert connection.recv(65_536) == b""
