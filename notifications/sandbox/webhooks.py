"""The webhook endpoints that were registered, and what was, is and will be sent to each."""

from __future__ import annotations

import re
import uuid
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from notifications.sandbox.clock import iso_form, postgres_form
from notifications.sandbox.refusals import Misused, Refusal
from notifications.sandbox.signing import checked_secret, new_secret

# Svix keeps a rotated secret valid for a day; Resend does not state its grace period.
OLD_SECRET_S = 86_400.0
MAX_MESSAGES = 50_000
EVENT_NAME = re.compile(r"[a-z_]+(\.[a-z_]+)+")


@dataclass(slots=True)
class Attempt:
    """One try to deliver one message; `status` 0 where there was no HTTP answer."""

    id: str
    at_s: float
    status: int
    response: str

    def shown(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "http_status_code": self.status,
            "response": self.response,
            "sent_at": postgres_form(self.at_s),
        }


@dataclass(slots=True)
class HookMessage:
    """One event on its way to one endpoint. `id` is the svix-id: the same over all tries and replays."""

    id: str
    endpoint_id: str
    type: str
    created_at_s: float
    payload: dict[str, Any]
    body: bytes
    status: str = "pending"
    next_attempt_at_s: float | None = None
    attempts: list[Attempt] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "type": self.type,
            "created_at": postgres_form(self.created_at_s),
            # The API has no word for what a fault has dropped.
            "status": "failed" if self.status == "dropped" else self.status,
        }

    def full(self) -> dict[str, Any]:
        due = self.next_attempt_at_s
        return {
            "object": "webhook_event",
            **self.summary(),
            "next_attempt_at": None if due is None else postgres_form(due),
            "payload": self.payload,
        }


@dataclass(slots=True)
class Endpoint:
    """One registered webhook. `secrets` are newest first, each with the time until which it still signs (or None)."""

    id: str
    url: str
    events: tuple[str, ...]
    secrets: list[tuple[str, float | None]]
    created_at_s: float
    status: str = "enabled"

    def wants(self, event_type: str) -> bool:
        return self.status == "enabled" and (not self.events or event_type in self.events)

    def live_secrets(self, now_s: float) -> list[str]:
        return [secret for secret, until_s in self.secrets if until_s is None or now_s < until_s]

    def rotate(self, now_s: float) -> str:
        """Put a new secret in front; the one before it signs along for a day."""
        kept = [(secret, until_s or now_s + OLD_SECRET_S) for secret, until_s in self.secrets]
        # Svix keeps at most ten old secrets.
        self.secrets = [(new_secret(), None), *kept[:10]]
        return self.secrets[0][0]

    def shown(self) -> dict[str, Any]:
        return {
            "object": "webhook",
            "id": self.id,
            "created_at": iso_form(self.created_at_s),
            "status": self.status,
            "endpoint": self.url,
            "events": list(self.events),
            "signing_secret": self.secrets[0][0],
        }


class Hooks:
    """Endpoints, and the latest messages; `unsent` is what the journal knows of messages that had not arrived."""

    def __init__(self) -> None:
        self.unsent: dict[str, dict[str, Any]] = {}
        self.endpoints: dict[str, Endpoint] = {}
        self.messages: deque[HookMessage] = deque(maxlen=MAX_MESSAGES)

    def register(self, raw: Mapping[str, Any], now_s: float) -> Endpoint:
        """Add an endpoint as POST /webhooks does; a `signing_secret` may be brought along (only here)."""
        try:
            secret = checked_secret(raw["signing_secret"]) if raw.get("signing_secret") else new_secret()
        except Misused as misused:
            raise Refusal("validation_error", str(misused)) from None
        if not raw.get("endpoint"):
            raise Refusal("missing_required_field", "Missing `endpoint` field.")
        url, events = checked_url(raw["endpoint"]), checked_events(raw.get("events"))
        endpoint = Endpoint(str(uuid.uuid4()), url, events, [(secret, None)], now_s)
        self.endpoints[endpoint.id] = endpoint
        return endpoint

    def get(self, endpoint_id: str) -> Endpoint:
        endpoint = self.endpoints.get(endpoint_id)
        if endpoint is None:
            raise Refusal("not_found", "Webhook not found")
        return endpoint

    def message(self, endpoint_id: str, message_id: str) -> HookMessage:
        for message in reversed(self.messages):
            if message.id == message_id and message.endpoint_id == endpoint_id:
                return message
        raise Refusal("not_found", "Webhook event not found")


def checked_url(url: object) -> str:
    """Give the URL back if it can be posted to; raise Refusal otherwise."""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good or not str(url).isascii() or not str(url).isprintable() or " " in str(url):
        raise Refusal("validation_error", "Invalid `endpoint` field. It must be an http or https URL.")
    return str(url)


def checked_events(events: object) -> tuple[str, ...]:
    """Give the subscribed event names; none given means every event."""
    if events is None:
        return ()
    if not isinstance(events, list) or not all(isinstance(name, str) and EVENT_NAME.fullmatch(name) for name in events):
        raise Refusal("validation_error", "Invalid `events` field. It must be a list of event names.")
    return tuple(events)
