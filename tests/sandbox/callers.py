"""Plain clients for the sandbox: one over http.client, one over a bare socket."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from notifications.sandbox.app import RunningSandbox

MESSAGE: dict[str, Any] = {
    "from": "Acme <reports@example.com>",
    "to": "olga@example.com",
    "subject": "Report ready",
    "text": "Your report is ready.",
}


@dataclass(frozen=True, slots=True)
class Heard:
    """One answer as it came; header names in lower case, repeated ones in order."""

    status: int
    raw: bytes
    headers: list[tuple[str, str]]

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def name(self) -> str:
        return str(self.json["name"])

    def header(self, name: str) -> str | None:
        return next((value for known, value in self.headers if known == name), None)


def call(sandbox: RunningSandbox, method: str, path: str, body: Any = None, **headers: str | None) -> Heard:
    """Make one request with the full key; `authorization=None` leaves a header out, `_` in names means `-`."""
    wanted: dict[str, str | None] = {"authorization": f"Bearer {sandbox.full_key}", "user-agent": "tests"}
    wanted |= {name.replace("_", "-"): value for name, value in headers.items()}
    raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    connection = http.client.HTTPConnection("127.0.0.1", sandbox.port, timeout=60)
    try:
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in wanted.items():
            if value is not None:
                connection.putheader(name, value)
        connection.putheader("content-length", str(len(raw)))
        connection.endheaders(raw)
        answer = connection.getresponse()
        body_read = answer.read()
        return Heard(answer.status, body_read, [(name.lower(), value) for name, value in answer.getheaders()])
    finally:
        connection.close()


def send(sandbox: RunningSandbox, key: str | None = None, path: str = "/emails", **changes: Any) -> Heard:
    """Send MESSAGE with changes (None removes a field) under a key, with the sending key."""
    body = {name: value for name, value in {**MESSAGE, **changes}.items() if value is not None}
    return call(sandbox, "POST", path, body, idempotency_key=key, authorization=f"Bearer {sandbox.sending_key}")


def order(sandbox: RunningSandbox, method: str, name: str, body: Any = None) -> Heard:
    """Make one call to the control plane, over HTTP."""
    return call(sandbox, method, f"/__sandbox__/{name}", body, authorization=None)


def request_bytes(sandbox: RunningSandbox, key: str, body: bytes | None = None) -> bytes:
    """Give a whole POST /emails as it goes over the wire."""
    raw = json.dumps(MESSAGE).encode() if body is None else body
    head = (
        f"POST /emails HTTP/1.1\r\nHost: sandbox\r\nUser-Agent: tests\r\nIdempotency-Key: {key}\r\n"
        f"Authorization: Bearer {sandbox.sending_key}\r\nContent-Length: {len(raw)}\r\n\r\n"
    )
    return head.encode() + raw


def talk(sandbox: RunningSandbox, sent: bytes, *, for_s: float = 5.0) -> tuple[bytes, str]:
    """Write bytes and read until the other side ends; give what came and how it ended: fin, rst or silence."""
    came = b""
    with socket.create_connection(("127.0.0.1", sandbox.port), timeout=for_s) as connection:
        connection.sendall(sent)
        try:
            while piece := connection.recv(65_536):
                came += piece
        except ConnectionResetError:
            return came, "rst"
        except TimeoutError:
            return came, "silence"
    return came, "fin"


def eventually(what: Callable[[], Any], within_s: float = 60.0) -> Any:
    """Give the first true value; fail when there is none in time."""
    deadline = time.monotonic() + within_s
    while not (found := what()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
    return found
