"""A client of the API: it holds a token and sees what a program would see."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.test import Client

from notifications.api import tokens
from notifications.models import ApiToken

BASE: Final = "/api/v1"
ADDRESS: Final = "bea@example.com"
WHY: Final = "The shop needs to send its mails."
_AT: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. Every answer is looked through for addresses, and every error for its form."""

    status: int
    headers: Mapping[str, str]
    text: str

    def __post_init__(self) -> None:
        # Hints give ana's as the example; nobody here has it.
        assert set(_AT.findall(self.text)) <= {"ana@example.com"}, self.text
        if self.status >= 400:
            assert self.headers["Content-Type"] == "application/problem+json", self.text
            assert self.document["status"] == self.status
            assert {"type", "title", "code", "detail", "hint"} <= set(self.document)

    @property
    def document(self) -> Any:
        return json.loads(self.text)

    @property
    def code(self) -> str:
        return str(self.document["code"])


@dataclass(slots=True)
class Caller:
    """A program with a token."""

    token: str = ""
    row: ApiToken | None = None
    client: Client = field(default_factory=lambda: Client(enforce_csrf_checks=True, raise_request_exception=False))

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        given = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        given |= {"Content-Type": "application/json"} if method == "POST" else {}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        url = path if path.startswith("/") and path.startswith(BASE) else BASE + path
        made = self.client.generic(method, url, data, headers=given)
        return Answer(made.status_code, dict(made.headers.items()), made.content.decode())

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        return self.ask("POST", path, body, **headers)


def caller(*scopes: str, workspaces: tuple[str, ...] = ("",), **wish: Any) -> Caller:
    """Give a program with a new token."""
    named = {"name": "shop", "reason": WHY, **wish}
    made = tokens.Wish(scopes=scopes or ("enqueue", "read"), workspaces=workspaces, **named)
    row, text = tokens.make(made, by="user:lena")
    return Caller(text, row)


def wish(report: str = "demo-001", **changes: Any) -> dict[str, Any]:
    """Give the body of a good enqueue; `options` as a mapping."""
    plain = {"notification_type": "report_ready", "report_id": report, "recipient": ADDRESS, "data": {"title": "Q3"}}
    return plain | changes
