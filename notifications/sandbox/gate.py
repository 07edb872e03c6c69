"""Who may come in: the checks that every request passes before its body is looked at."""

from __future__ import annotations

import json
import time

from notifications.sandbox.refusals import Refusal
from notifications.sandbox.wire import Answer, Call
from notifications.sandbox.world import World

SENDING = frozenset({("POST", "/emails"), ("POST", "/emails/batch")})


def turned_away_at_the_edge(call: Call) -> Answer | None:
    """Give the edge's plain-text 403 to a caller without a User-Agent. Source: resend-skills references/logs.md."""
    if call.headers.get("user-agent"):
        return None
    return Answer(403, b"error code: 1010", "text/plain; charset=UTF-8")


def counted(world: World) -> list[tuple[str, str]]:
    """Count a request in the current second; give the rate headers for its answer and raise no refusal.

    The window is the second of the machine's monotonic clock, for the whole team, without any burst.
    Source: resend.com/docs/api-reference/rate-limit; recorded answers of resend-node.
    """
    rate = world.knobs.rate_per_s
    if rate is None:
        return []
    second = int(time.monotonic())
    window, count = world.rate_window
    count = count + 1 if window == second else 1
    world.rate_window = (second, count)
    headers = [
        ("ratelimit-policy", f"{rate};w=1"),
        ("ratelimit-limit", str(rate)),
        ("ratelimit-remaining", str(max(0, rate - count))),
        ("ratelimit-reset", "1"),
    ]
    return [*headers, ("retry-after", "1")] if count > rate else headers


def admit(world: World, call: Call, rate_headers: list[tuple[str, str]]) -> None:
    """Raise Refusal for too many requests, and for a caller without the permission the endpoint needs."""
    if rate_headers and rate_headers[-1][0] == "retry-after":
        raise Refusal("rate_limit_exceeded")
    sending = (call.method, call.path) in SENDING
    scheme, _, token = call.headers.get("authorization", "").partition(" ")
    token = token.strip()
    if not scheme:
        raise Refusal("missing_api_key")
    if scheme.lower() != "bearer" or not token:
        raise Refusal("validation_error", "API key is invalid", status=401 if sending else 400)
    knobs = world.knobs
    if token in knobs.suspended_keys:
        raise Refusal("suspended_api_key")
    if token == knobs.full_key:
        return
    if token != knobs.sending_key:
        raise Refusal("validation_error", "API key is invalid", status=401 if sending else 400)
    if not sending:
        raise Refusal("restricted_api_key")


def put_off() -> Answer:
    """Ask a caller to come again, while the journal is read: the one refusal that costs nobody an attempt."""
    answer = refused(Refusal("rate_limit_exceeded"))
    answer.headers = [("retry-after", "5")]
    return answer


def refused(refusal: Refusal) -> Answer:
    """Give the API's error answer."""
    body = {"statusCode": refusal.status, "message": refusal.message, "name": refusal.name}
    return Answer(refusal.status, json.dumps(body).encode("utf-8", "replace"))
