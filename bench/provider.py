"""The provider of the measurements: takes POST /emails, dedupes by key, answers an id. A process of its own.

As lean as Python allows, so that it never is the bottleneck: no parsing beyond what it needs, one write per answer.
`GET /reset?delay_ms=50` forgets everything and sets the delay; `GET /stats` counts; `GET /arrivals` gives the moment
of each key's first request on CLOCK_MONOTONIC, which all processes of a machine share. `GET /reset?down=1` begins an
outage: each call is answered 503 until `GET /up`. `POST /hooks/NAME` takes webhooks, each by its webhook-id; the
endpoint `slow` answers after `slow_ms`, and is not counted among the quick ones. `POST /v3/DOMAIN/messages` answers as
Mailgun does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import parse_qs, urlsplit


@dataclass(slots=True)
class Seen:
    """What came in since the last reset."""

    delay_s: float = 0.0
    request_count: int = 0
    is_down: bool = False
    refused_count: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    arrivals: dict[bytes, float] = field(default_factory=dict)
    ids: dict[bytes, bytes] = field(default_factory=dict)
    slow_s: float = 0.0
    hook_count: int = 0
    hooks: dict[bytes, float] = field(default_factory=dict)


class Connection(asyncio.Protocol):
    """One keep-alive connection; a client sends its next request only after the answer."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer each whole request in what has come so far."""
        self._buffer += data
        while True:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self._buffer[:end]
            whole = end + 4 + int(_header(head, b"content-length") or 0)
            if len(self._buffer) < whole:
                return
            self._buffer = self._buffer[whole:]
            self._take(head)

    def _take(self, head: bytes) -> None:
        if head.startswith(b"POST /hooks/"):
            self._accept_hook(head)
        elif head.startswith(b"POST /emails"):
            self._accept(_header(head, b"idempotency-key"))
        elif head.startswith(b"POST /v3/"):
            self._seen.request_count += 1
            self._answer(
                b'{"id":"<%d.bench@mg.example.com>","message":"Queued. Thank you."}' % self._seen.request_count
            )
        else:
            self._answer(_told(self._seen, head.split(b" ", 2)[1].decode()))

    def _accept_hook(self, head: bytes) -> None:
        seen = self._seen
        if head.startswith(b"POST /hooks/slow "):
            asyncio.get_running_loop().call_later(seen.slow_s, self._answer, b"{}")
            return
        seen.hook_count += 1
        seen.hooks.setdefault(_header(head, b"webhook-id"), time.monotonic())
        self._answer(b"{}")

    def _accept(self, key: bytes) -> None:
        seen = self._seen
        if seen.is_down:
            seen.refused_count += 1
            self._answer(b'{"name":"service_unavailable"}', b"503 Service Unavailable")
            return
        seen.request_count += 1
        if key not in seen.arrivals:
            seen.arrivals[key] = time.monotonic()
            # Shaped like a UUID, as Resend's ids are.
            seen.ids[key] = b"00000000-0000-4000-8000-%012x" % len(seen.ids)
        body = b'{"id":"' + seen.ids[key] + b'"}'
        seen.in_flight += 1
        seen.most_in_flight = max(seen.most_in_flight, seen.in_flight)
        if seen.delay_s:
            asyncio.get_running_loop().call_later(seen.delay_s, self._finish, body)
        else:
            self._finish(body)

    def _finish(self, body: bytes) -> None:
        self._seen.in_flight -= 1
        self._answer(body)

    def _answer(self, body: bytes, status: bytes = b"200 OK") -> None:
        if self._transport is not None and not self._transport.is_closing():
            head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            self._transport.write(head % (status, len(body)) + body)


def _header(head: bytes, name: bytes) -> bytes:
    start = head.lower().find(b"\r\n" + name + b":")
    if start < 0:
        return b""
    start += len(name) + 3
    end = head.find(b"\r\n", start)
    return head[start : end if end >= 0 else len(head)].strip()


def _told(seen: Seen, target: str) -> bytes:
    """Do what one of the measurement's own requests asks, and give its answer."""
    parts = urlsplit(target)
    if parts.path == "/reset":
        delay_ms = float(parse_qs(parts.query).get("delay_ms", ["0"])[0])
        seen.delay_s, seen.request_count, seen.most_in_flight = delay_ms / 1000, 0, 0
        seen.arrivals, seen.ids = {}, {}
        seen.slow_s = float(parse_qs(parts.query).get("slow_ms", ["0"])[0]) / 1000
        seen.hooks, seen.hook_count = {}, 0
        seen.is_down, seen.refused_count = "down" in parse_qs(parts.query), 0
    if parts.path == "/up":
        seen.is_down = False
    if parts.path == "/arrivals":
        return json.dumps({key.decode("latin-1"): at for key, at in seen.arrivals.items()}).encode()
    return json.dumps(
        {
            "requests": seen.request_count,
            "refused": seen.refused_count,
            "unique": len(seen.arrivals),
            "most_in_flight": seen.most_in_flight,
            "first_at": min(seen.arrivals.values(), default=0.0),
            "last_at": max(seen.arrivals.values(), default=0.0),
            "quick_requests": seen.hook_count,
            "quick_unique": len(seen.hooks),
            "quick_first_at": min(seen.hooks.values(), default=0.0),
            "quick_last_at": max(seen.hooks.values(), default=0.0),
        }
    ).encode()


async def serve(port: int) -> None:
    """Listen until killed."""
    seen = Seen()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(seen), "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


def main() -> None:
    """Serve on the port of the command line."""
    port = int(sys.argv[1])
    with contextlib.suppress(ImportError):
        import uvloop

        uvloop.run(serve(port))
        return
    asyncio.run(serve(port))


if __name__ == "__main__":
    main()
