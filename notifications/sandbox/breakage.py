"""How each fault looks on the wire."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Mapping
from typing import Any

from notifications.sandbox.connection import Connection
from notifications.sandbox.faults import (
    Fault,
    a_count,
    a_span,
    a_status,
    a_text,
    anything,
    some_bytes,
    some_headers,
)
from notifications.sandbox.refusals import STANDARD
from notifications.sandbox.wire import JSON_TYPE, Answer

Reader = Callable[[Any], Any]
_ANSWER: dict[str, Reader] = {
    "status": a_status,
    "name": a_text,
    "message": a_text,
    "headers": some_headers,
    "body": anything,
    "body_text": a_text,
    "body_b64": some_bytes,
    "content_type": a_text,
}

KINDS: Mapping[str, Mapping[str, Reader]] = {
    "delay": {"seconds": a_span},
    "hang": {"seconds": a_span},
    "close": {},
    "rst": {},
    "truncate": _ANSWER | {"declared": a_count, "sent": a_count},
    "partial_headers": _ANSWER,
    "drip": _ANSWER | {"bytes_per_s": a_count},
    "status": _ANSWER,
    "html": {"status": a_status, "headers": some_headers},
    "bad_json": {"status": a_status},
    "wrong_shape": {"status": a_status, "body": anything},
    "redirect": {"status": a_status, "location": a_text},
    "garbage": {},
    "gzip_cut": _ANSWER,
    "informational": {"status": a_status, "count": a_count, "headers": some_headers},
    "raw": {"bytes_b64": some_bytes},
}
"""Every kind with the fields it takes beside those that all faults share."""


async def disturb(fault: Fault, connection: Connection, usual: Answer | None) -> Answer | None:
    """Carry a fault out; give the answer that is still to be sent, or None when the socket has been dealt with.

    `usual` is what would have been answered, None before anything was accepted. `delay` and `informational` only
    hold things up and are left to the caller (see `holds_up`).
    """
    breaking = _BREAKERS.get(fault.kind)
    if breaking is None:
        return _scripted(fault, usual)
    await breaking(fault, connection, usual)
    return None


def holds_up(fault: Fault) -> bool:
    """True for the kinds after which the request goes on as if nothing had been."""
    return fault.kind in ("delay", "informational")


async def hold_up(fault: Fault, connection: Connection) -> None:
    """Wait, or send 1xx answers, before the request goes on."""
    if fault.kind == "delay":
        await asyncio.sleep(fault.options.get("seconds", 1.0))
        return
    hint = Answer(fault.options.get("status", 103), b"", headers=fault.options.get("headers", []))
    for _ in range(fault.options.get("count", 1)):
        connection.send(hint.encoded())


async def _hang(fault: Fault, connection: Connection, usual: Answer | None) -> None:
    await asyncio.sleep(fault.options.get("seconds", 3_600.0))
    connection.close()


async def _close(fault: Fault, connection: Connection, usual: Answer | None) -> None:
    connection.close()


async def _rst(fault: Fault, connection: Connection, usual: Answer | None) -> None:
    connection.reset()


async def _truncate(fault: Fault, connection: Connection, usual: Answer | None) -> None:
    answer = _scripted(fault, usual)
    sent = answer.body[: fault.options.get("sent", 10)]
    connection.send(answer.head(length=fault.options.get("declared", 60)) + sent)
    connection.close()


async def _partial_headers(fault: Fault, connection: Connection, usual: Answer | None) -> None:
    head = _scripted(fault, usual).head()
    connection.send(head[: len(head) // 2])
    connection.close()


async def _drip(fault: Fault, connection: Connection, usual: Answer | None) -> None:
    pause_s = 1.0 / max(1, fault.options.get("bytes_per_s", 10))
    for byte in _scripted(fault, usual).encoded():
        connection.send(bytes((byte,)))
        await asyncio.sleep(pause_s)


async def _garbage(fault: Fault, connection: Connection, usual: Answer | None) -> None:
    connection.send(b"\x00\xff\x16\x03\x01 this is not HTTP \r\n\r\n")
    connection.close()


async def _gzip_cut(fault: Fault, connection: Connection, usual: Answer | None) -> None:
    answer = _scripted(fault, usual)
    # Half of the stream under an honest Content-Length: the HTTP layer is content, the decoder is not.
    answer.body = gzip.compress(answer.body)[: len(gzip.compress(answer.body)) // 2]
    answer.headers = [*answer.headers, ("Content-Encoding", "gzip")]
    connection.send(answer.encoded())


async def _raw(fault: Fault, connection: Connection, usual: Answer | None) -> None:
    connection.send(fault.options.get("bytes_b64", b""))
    connection.close()


_BREAKERS = {
    "hang": _hang,
    "close": _close,
    "rst": _rst,
    "truncate": _truncate,
    "partial_headers": _partial_headers,
    "drip": _drip,
    "garbage": _garbage,
    "gzip_cut": _gzip_cut,
    "raw": _raw,
}


def _scripted(fault: Fault, usual: Answer | None) -> Answer:
    """Give the answer a fault asks for; unasked, the usual one, or a 503 where there is none."""
    options = fault.options
    if fault.kind == "html":
        return Answer(
            options.get("status", 502), b"<html><body>Bad gateway</body></html>", "text/html", _extra(options)
        )
    if fault.kind == "bad_json":
        return Answer(options.get("status", 200), b'{"id":')
    if fault.kind == "wrong_shape":
        return Answer(options.get("status", 200), json.dumps(options.get("body", {"ok": True})).encode())
    if fault.kind == "redirect":
        location = options.get("location", "/login")
        return Answer(options.get("status", 302), b"", "text/html", [("Location", location)])
    if usual is not None and fault.kind != "status" and not {"status", "name", "body"} & options.keys():
        return Answer(usual.status, usual.body, usual.content_type, list(usual.headers))
    return _spelled_out(options)


def _spelled_out(options: Mapping[str, Any]) -> Answer:
    name = options.get("name", "service_unavailable" if options.get("status", 503) == 503 else "application_error")
    usual_status, usual_message = STANDARD.get(name, (503, "This answer was scripted."))
    status, message = options.get("status", usual_status), options.get("message", usual_message)
    body = json.dumps({"statusCode": status, "message": message, "name": name}).encode()
    if "body" in options:
        body = json.dumps(options["body"], ensure_ascii=False).encode("utf-8", "surrogatepass")
    if "body_text" in options:
        body = options["body_text"].encode("utf-8", "surrogatepass")
    if "body_b64" in options:
        body = options["body_b64"]
    return Answer(status, body, options.get("content_type", JSON_TYPE), _extra(options))


def _extra(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    return list(options.get("headers", []))
