"""The requests that came in, for GET /logs and for whoever watches from the control plane."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from notifications.sandbox.clock import postgres_form


@dataclass(slots=True)
class Seen:
    """One request as it came in, and what became of it; `status` None while it has no answer.

    `body_sha256` is given where only the start of the body was kept.
    """

    id: str
    number: int
    method: str
    path: str
    key: str | None
    user_agent: str
    body: bytes
    at_s: float
    account_at_s: float
    ended_at_s: float | None = None
    status: int | None = None
    answer: bytes = b""
    fault: str | None = None
    accepted: bool = False
    replayed: bool = False
    body_sha256: str | None = None

    def shown(self) -> dict[str, Any]:
        """Give what the control plane shows; times are real, in seconds since 1970."""
        facts = {name: getattr(self, name) for name in _SHOWN_OF_SEEN}
        return facts | {
            "body_sha256": self.body_sha256 or hashlib.sha256(self.body).hexdigest(),
            "body": self.body.decode("utf-8", "replace"),
        }

    def log_row(self) -> dict[str, Any]:
        """Give the item of GET /logs."""
        return {
            "id": self.id,
            "created_at": postgres_form(self.account_at_s),
            "endpoint": self.path,
            "method": self.method,
            "response_status": self.status,
            "user_agent": self.user_agent,
        }

    def log_full(self) -> dict[str, Any]:
        bodies = {"request_body": _parsed(self.body), "response_body": _parsed(self.answer)}
        return {"object": "log", **self.log_row(), **bodies}


# Everything but the bodies.
_SHOWN_OF_SEEN = (
    *("number", "method", "path", "key", "user_agent"),
    *("at_s", "ended_at_s", "status", "fault", "accepted", "replayed"),
)


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
