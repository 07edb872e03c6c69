"""An HTTP server that keeps the webhooks it gets and answers them as told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook

from notifications.sandbox.app import RunningSandbox
from tests.sandbox.callers import call, eventually


@dataclass(frozen=True, slots=True)
class Got:
    """One webhook as it came in."""

    headers: dict[str, str]
    body: bytes
    at_s: float

    @property
    def type(self) -> str:
        return str(json.loads(self.body)["type"])

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.body)["data"]
        return data

    @property
    def id(self) -> str:
        return self.headers["svix-id"]


@dataclass
class Receiver:
    """`statuses` are answered one after the other, then always 200."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    got: list[Got] = field(default_factory=list)

    def wait_for(self, count: int) -> list[Got]:
        eventually(lambda: len(self.got) >= count)
        return list(self.got)

    def of_type(self, event_type: str, count: int = 1) -> list[Got]:
        """Wait until so many events of a type have come, and give them."""
        eventually(lambda: len([got for got in self.got if got.type == event_type]) >= count)
        return [got for got in self.got if got.type == event_type]


@contextmanager
def running_receiver() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status = receiver.statuses.pop(0) if receiver.statuses else 200
            receiver.got.append(Got(headers, body, time.time()))
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", receiver.url + "/elsewhere")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}/events"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


EVERYTHING = ["email.sent", "email.delivered", "email.bounced", "email.complained"]


def register(sandbox: RunningSandbox, receiver: Receiver, events: list[str] | None = None) -> tuple[str, str]:
    """Register the receiver; give the webhook's id and its secret."""
    body = {"endpoint": receiver.url, "events": EVERYTHING if events is None else events}
    made = call(sandbox, "POST", "/webhooks", body).json
    return made["id"], made["signing_secret"]


def verified(got: Got, secret: str) -> Any:
    """Let the standardwebhooks package verify what came under Svix's header names."""
    headers = {name.replace("svix-", "webhook-"): value for name, value in got.headers.items()}
    return Webhook(secret).verify(got.body.decode(), headers)
