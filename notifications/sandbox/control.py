"""The control plane: script trouble, move the clock, read the ledger.

It has no keys and no limits, so it exists only where the sandbox was started with it. Every call that is understood
answers 200 with JSON; one that is not answers 422 with a sentence.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from notifications.sandbox import receivers
from notifications.sandbox.knobs import tuned
from notifications.sandbox.mailbox import Mail
from notifications.sandbox.refusals import Misused, Refusal
from notifications.sandbox.wire import Answer, Call
from notifications.sandbox.world import World

ROOT = "/__sandbox__"
# Answered while the journal is still being read, too: so not one of ORDERS, which wait for its end.
HEALTH = ("GET", "health")
Order = dict[str, Any]


def answer_order(world: World, call: Call) -> Answer:
    """Carry out one control call."""
    name = call.path.removeprefix(ROOT).strip("/")
    if "origin" in call.headers:
        # There is no password, so a page that an operator happens to visit must not give orders.
        return _said(403, {"error": "The control plane takes no orders from browsers."})
    carry_out = ORDERS.get((call.method, name))
    if carry_out is None:
        known = ", ".join(sorted(f"{method} {ROOT}/{path}" for method, path in (*ORDERS, HEALTH)))
        return _said(404, {"error": f"There is no {call.method} {call.path}. There are: {known}."})
    try:
        order = json.loads(call.body) if call.body else {}
        if not isinstance(order, dict):
            raise Misused("The body must be a JSON object.")
        return _said(200, carry_out(world, call.query | order))
    except (Misused, Refusal) as misuse:
        return _said(422, {"error": str(misuse)})
    except (ValueError, RecursionError):
        return _said(422, {"error": "The body is not valid JSON."})


def health(world: World, *, is_ready: bool) -> Answer:
    """Tell whether the journal has been read, and how much of it."""
    state = "ready" if is_ready else "reading"
    journal = world.journal
    return _said(200, {"state": state, "read_bytes": journal.read_bytes, "journal_bytes": journal.size_bytes()})


def add_fault(world: World, order: Order) -> Order:
    return {"fault": world.faults.add(order).shown()}


def list_faults(world: World, order: Order) -> Order:
    return {"faults": [fault.shown() for fault in world.faults.rules]}


def clear_faults(world: World, order: Order) -> Order:
    world.faults.rules.clear()
    return {"faults": []}


def add_webhook_fault(world: World, order: Order) -> Order:
    return {"fault": world.courier.add_fault(order).shown()}


def list_webhook_faults(world: World, order: Order) -> Order:
    return {"faults": [fault.shown() for fault in world.courier.faults.rules]}


def clear_webhook_faults(world: World, order: Order) -> Order:
    world.courier.faults.rules.clear()
    return {"faults": []}


def move_clock(world: World, order: Order) -> Order:
    """Put the account's clock forward; webhook timestamps and retries keep real time."""
    seconds = order.get("advance", 0)
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or not 0 <= seconds <= 10 * 366 * 86_400:
        raise Misused("`advance` takes a number of seconds from 0 to ten years.")
    world.remember({"fact": "clock", "offset_s": world.clock.offset_s + seconds})
    world.clock.advance(seconds)
    return {"offset_s": world.clock.offset_s, "now_s": world.clock.now_s()}


def read_ledger(world: World, order: Order) -> Order:
    """Give one key's row (zeros if it was never seen), or without `key` the totals."""
    key = order.get("key")
    if key is None:
        return world.ledger.totals()
    if not isinstance(key, str):
        raise Misused("`key` takes a text.")
    return world.ledger.shown(key)


def read_requests(world: World, order: Order) -> Order:
    """Give the latest requests, oldest first; `key` and `limit` narrow them."""
    key, limit = order.get("key"), _whole(order, "limit", 1_000)
    rows = [seen for seen in world.seen if key is None or seen.key == key]
    return {"count": world.seen_count, "requests": [seen.shown() for seen in rows[-limit:]]}


def read_events(world: World, order: Order) -> Order:
    """Give the latest events, oldest first; `id` narrows them to one message."""
    mail_id, limit = order.get("id"), _whole(order, "limit", 1_000)
    rows = [event for event in world.events if mail_id is None or (event.mail and event.mail.id == mail_id)]
    return {"events": [row.payload() | {"to_webhooks": row.to_webhooks} for row in rows[-limit:]]}


def read_attempts(world: World, order: Order) -> Order:
    """Give every webhook message with its tries, oldest first; `id` narrows them to one mail."""
    mail_id, limit = order.get("id"), _whole(order, "limit", 1_000)
    messages = [m for m in world.hooks.messages if mail_id in (None, m.payload["data"].get("email_id"))]
    return {
        "attempts": [
            {
                **message.full(),
                "status": message.status,
                "endpoint_id": message.endpoint_id,
                "tries": [a.shown() for a in message.attempts],
            }
            for message in messages[-limit:]
        ]
    }


def emit(world: World, order: Order) -> Order:
    """Let an event happen to a message: `type`, `id` (of the mail, or `key`), and `opts` merged into its data."""
    event_type, detail = order.get("type"), order.get("opts", {})
    if not isinstance(event_type, str) or "." not in event_type or not isinstance(detail, dict):
        raise Misused("`type` takes an event name such as `email.bounced`, `opts` an object.")
    mail = _mail(world, order)
    receivers.emit(world, mail, event_type, detail)
    return {"id": mail.id, "last_event": mail.last_event}


def configure(world: World, order: Order) -> Order:
    """Turn knobs; `webhooks` registers endpoints, and leaves alone those that are registered already."""
    changes = dict(order)
    endpoints = changes.pop("webhooks", [])
    knobs = tuned(world.knobs, changes)
    if not isinstance(endpoints, list) or not all(isinstance(raw, dict) for raw in endpoints):
        raise Misused(
            "`webhooks` takes a list of objects with `endpoint`, and if wished `signing_secret` and `events`."
        )
    for raw in endpoints:
        world.ensure_endpoint(raw)
    world.turn(knobs)
    return read_config(world, {})


def read_config(world: World, order: Order) -> Order:
    return asdict(world.knobs) | {"webhooks": [endpoint.shown() for endpoint in world.hooks.endpoints.values()]}


def reset(world: World, order: Order) -> Order:
    """Forget everything: mails, keys, faults, webhooks, the moved clock and the journal; the knobs stay."""
    world.courier.stop()
    world.clock.clear()
    world.journal.clear()
    world.start_over(world.knobs)
    return {"reset": True}


def _mail(world: World, order: Order) -> Mail:
    if "key" in order:
        ids = world.ledger.shown(str(order["key"]))["ids"]
        if not ids:
            raise Misused(f"Nothing was accepted under the key {order['key']!r}.")
        return world.mailbox.get(ids[-1])
    return world.mailbox.get(str(order.get("id")))


def _whole(order: Order, name: str, usual: int) -> int:
    value = str(order.get(name, usual))
    if not (value.isascii() and value.isdigit() and 1 <= int(value[:9]) <= 1_000_000):
        raise Misused(f"`{name}` takes a whole number from 1.")
    return int(value)


def _said(status: int, body: Order) -> Answer:
    # With the end of its line: most who ask sit at a terminal with curl.
    return Answer(status, json.dumps(body).encode() + b"\n")


ORDERS: dict[tuple[str, str], Callable[[World, Order], Order]] = {
    ("POST", "faults"): add_fault,
    ("GET", "faults"): list_faults,
    ("DELETE", "faults"): clear_faults,
    ("POST", "webhook-faults"): add_webhook_fault,
    ("GET", "webhook-faults"): list_webhook_faults,
    ("DELETE", "webhook-faults"): clear_webhook_faults,
    ("POST", "clock"): move_clock,
    ("GET", "ledger"): read_ledger,
    ("GET", "requests"): read_requests,
    ("GET", "events"): read_events,
    ("GET", "attempts"): read_attempts,
    ("POST", "emit"): emit,
    ("POST", "config"): configure,
    ("GET", "config"): read_config,
    ("POST", "reset"): reset,
}
