"""Registering webhooks, rotating their secrets, and reading and replaying what was sent to them.

Source: resend-python 2.52 `webhooks` (newer than the OpenAPI file).
"""

from __future__ import annotations

from typing import Any

from notifications.sandbox.asked import Asked, route
from notifications.sandbox.mailbox import page
from notifications.sandbox.refusals import Refusal
from notifications.sandbox.webhooks import HookMessage, checked_events, checked_url


def list_webhooks(asked: Asked) -> dict[str, Any]:
    return page([endpoint.shown() for endpoint in asked.world.hooks.endpoints.values()], asked.call.query)


def add_webhook(asked: Asked) -> dict[str, Any]:
    world = asked.world
    endpoint = world.hooks.register(asked.body(), world.clock.now_s())
    world.remember_endpoint(endpoint)
    return {"object": "webhook", "id": endpoint.id, "signing_secret": endpoint.secrets[0][0]}


def get_webhook(asked: Asked) -> dict[str, Any]:
    return asked.world.hooks.get(asked.parts[0]).shown()


def change_webhook(asked: Asked) -> dict[str, Any]:
    endpoint, body = asked.world.hooks.get(asked.parts[0]), asked.body()
    status = body.get("status", endpoint.status)
    if status not in ("enabled", "disabled"):
        raise Refusal("validation_error", "Invalid `status` field. It must be `enabled` or `disabled`.")
    url = checked_url(body.get("endpoint", endpoint.url))
    events = checked_events(body["events"]) if "events" in body else endpoint.events
    endpoint.status, endpoint.url, endpoint.events = status, url, events
    asked.world.remember_endpoint(endpoint)
    return {"object": "webhook", "id": endpoint.id}


def remove_webhook(asked: Asked) -> dict[str, Any]:
    endpoint = asked.world.hooks.get(asked.parts[0])
    asked.world.remember({"fact": "no_webhook", "id": endpoint.id})
    del asked.world.hooks.endpoints[endpoint.id]
    return {"object": "webhook", "id": endpoint.id, "deleted": True}


def rotate_secret(asked: Asked) -> dict[str, Any]:
    endpoint = asked.world.hooks.get(asked.parts[0])
    secret = endpoint.rotate(asked.world.clock.now_s())
    asked.world.remember_endpoint(endpoint)
    return {"object": "webhook", "id": endpoint.id, "signing_secret": secret}


def list_events(asked: Asked) -> dict[str, Any]:
    endpoint = asked.world.hooks.get(asked.parts[0])
    rows = [message.summary() for message in asked.world.hooks.messages if message.endpoint_id == endpoint.id]
    return page(rows, asked.call.query)


def get_event(asked: Asked) -> dict[str, Any]:
    return _message(asked).full()


def list_attempts(asked: Asked) -> dict[str, Any]:
    return page([attempt.shown() for attempt in _message(asked).attempts], asked.call.query)


def replay_event(asked: Asked) -> dict[str, Any]:
    message = _message(asked)
    asked.world.courier.replay(message, asked.world.hooks.get(asked.parts[0]), asked.world.knobs)
    return {"object": "webhook_event", "id": message.id}


def _message(asked: Asked) -> HookMessage:
    endpoint = asked.world.hooks.get(asked.parts[0])
    return asked.world.hooks.message(endpoint.id, asked.parts[1])


ROUTES = (
    route("GET", "/webhooks", list_webhooks),
    route("POST", "/webhooks", add_webhook),
    route("GET", "/webhooks/*", get_webhook),
    route("PATCH", "/webhooks/*", change_webhook),
    route("DELETE", "/webhooks/*", remove_webhook),
    route("POST", "/webhooks/*/signing-secret/rotate", rotate_secret),
    route("GET", "/webhooks/*/events", list_events),
    route("GET", "/webhooks/*/events/*", get_event),
    route("GET", "/webhooks/*/events/*/attempts", list_attempts),
    route("POST", "/webhooks/*/events/*/replay", replay_event),
)
