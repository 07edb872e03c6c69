"""A stand-in of Twilio's Messages and of Telegram's bots in a thread: it answers as told, and remembers what it got."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit


@dataclass
class TextService:
    """`answers` are given one after the other, then each message is taken; None hangs up after it was taken."""

    url: str = ""
    answers: list[tuple[int, dict[str, Any]] | None] = field(default_factory=list)
    got: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    page_size: int = 1000
    reading: tuple[int, dict[str, Any]] | None = None

    def take(self, form: dict[str, str]) -> dict[str, Any]:
        """Keep a message as the list shows it; give it."""
        made = {
            "sid": f"SM{len(self.messages) + 1:032x}", "to": form["To"], "from": form.get("From"),
            "body": form["Body"], "direction": "outbound-api", "status": "sent", "error_code": None,
            "date_created": format_datetime(self.now), "date_sent": None,
        }  # fmt: skip
        self.messages.insert(0, made)
        return made

    def listed(self, query: dict[str, str], path: str) -> dict[str, Any]:
        """Give a page of the list, newest first."""
        found = [one for one in self.messages if one["to"] == query.get("To", one["to"])]
        start = int(query.get("Page", "0")) * self.page_size
        page = found[start : start + self.page_size]
        more = query | {"Page": str(int(query.get("Page", "0")) + 1)}
        following = f"{path}?{urlencode(more)}" if len(found) > start + self.page_size else None
        return {"messages": page, "next_page_uri": following}


class _Handler(BaseHTTPRequestHandler):
    service: TextService
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        is_bot = urlsplit(self.path).path.startswith("/bot")
        form = json.loads(body) if is_bot else dict(parse_qsl(body, keep_blank_values=True))
        self.service.got.append(form)
        self.service.headers.append(dict(self.headers))
        answer = self.service.answers.pop(0) if self.service.answers else (0, {})
        if answer is not None and answer[0]:
            self._say(*answer)
            return
        made = {"message_id": len(self.service.got)} if is_bot else self.service.take(form)
        if answer is None:
            self.close_connection = True
            return
        self._say(*((200, {"ok": True, "result": made}) if is_bot else (201, made)))

    def do_GET(self) -> None:
        self.service.asked.append(self.path)
        parts = urlsplit(self.path)
        if self.service.reading is not None:
            self._say(*self.service.reading)
        elif parts.path.endswith("/Messages.json"):
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            self._say(200, self.service.listed(query, parts.path))
        else:
            sid = parts.path.rpartition("/")[2].removesuffix(".json")
            found = [one for one in self.service.messages if one["sid"] == sid]
            self._say(*((200, found[0]) if found else (404, {"code": 20404, "status": 404})))

    def _say(self, status: int, fields: dict[str, Any]) -> None:
        body = json.dumps(fields).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def running_service() -> Iterator[TextService]:
    """Serve on a free loopback port until the end of the block."""
    service = TextService()
    handler = type("Handler", (_Handler,), {"service": service})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
