"""Deliver webhook messages: at least once, unordered, signed, tried again on the provider's schedule."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from typing import Any

from notifications.sandbox.clock import Clock
from notifications.sandbox.faults import Fault, FaultBook, a_count, a_span, a_text
from notifications.sandbox.happening import Happening
from notifications.sandbox.knobs import Knobs
from notifications.sandbox.post import post
from notifications.sandbox.signing import new_secret, signature
from notifications.sandbox.webhooks import Attempt, Endpoint, HookMessage, Hooks

# Source: resend.com/docs/webhooks/retries-and-replays: 8 tries over 27 h 35 min 5 s.
SCHEDULE_S = (0, 5, 300, 1_800, 7_200, 18_000, 36_000, 36_000)
# The endpoint is usually one small web server on the same machine.
MAX_AT_ONCE = 16

KINDS: dict[str, dict[str, Any]] = {
    "drop": {},
    "duplicate": {"n": a_count},
    "delay": {"seconds": a_span},
    "shuffle": {"window_s": a_span},
    "unknown_type": {"type": a_text},
    "whitespace": {},
    "bad_signature": {},
    "stale_timestamp": {"seconds": a_span, "s": a_span},
    "old_secret_only": {},
    "missing_header": {"header": a_text},
}
# These change what is sent of an event; the others bend one try to deliver it.
PER_MESSAGE = frozenset({"drop", "duplicate", "delay", "shuffle", "unknown_type", "whitespace"})


class Courier:
    """Send messages in the background of the event loop that `dispatch` is called on."""

    def __init__(self, hooks: Hooks, clock: Clock) -> None:
        self.hooks = hooks
        self.clock = clock
        self.faults = FaultBook(("message", "attempt"), KINDS)
        self._at_once = asyncio.Semaphore(MAX_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()

    def dispatch(self, happening: Happening, knobs: Knobs) -> None:
        """Send one event to every endpoint that wants it."""
        for endpoint in tuple(self.hooks.endpoints.values()):
            if not endpoint.wants(happening.type):
                continue
            payload = happening.payload()
            message = HookMessage(
                f"msg_{uuid.uuid4().hex[:27]}", endpoint.id, happening.type, happening.at_s, payload, _compact(payload)
            )
            self.hooks.messages.append(message)
            self._start(message, endpoint, knobs)

    def add_fault(self, raw: dict[str, Any]) -> Fault:
        """Add a rule; its kind says whether it strikes a message or one try."""
        stage = "message" if raw.get("kind") in PER_MESSAGE else "attempt"
        return self.faults.add({**raw, "stage": stage})

    def replay(self, message: HookMessage, endpoint: Endpoint, knobs: Knobs) -> None:
        """Send a message once more from the start of the schedule, under the same svix-id."""
        message.status = "pending"
        self._spawn(self._deliver(message, endpoint, 0.0, knobs))

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _start(self, message: HookMessage, endpoint: Endpoint, knobs: Knobs) -> None:
        copies, wait_s = 1, 0.0
        for twist in self.faults.striking("message", _subject(message, endpoint), message.body):
            if twist.kind == "drop":
                message.status = "dropped"
                return
            if twist.kind == "duplicate":
                copies += twist.options.get("n", 1)
            wait_s += _holding(twist)
            _rewrite(message, twist)
        for _ in range(copies):
            self._spawn(self._deliver(message, endpoint, wait_s, knobs))

    def _spawn(self, delivery: Any) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(delivery)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _deliver(self, message: HookMessage, endpoint: Endpoint, wait_s: float, knobs: Knobs) -> None:
        """Try until one try succeeds or the schedule ends."""
        for pause_s in SCHEDULE_S:
            wait_s += pause_s * knobs.retry_scale
            message.next_attempt_at_s = time.time() + wait_s
            await asyncio.sleep(wait_s)
            wait_s = 0.0
            if endpoint.id not in self.hooks.endpoints or endpoint.status != "enabled":
                break
            message.next_attempt_at_s = None
            message.status = "attempting"
            if 200 <= await self._try(message, endpoint, knobs.webhook_timeout_s) < 300:
                message.status = "success"
                return
        message.status = "failed"

    async def _try(self, message: HookMessage, endpoint: Endpoint, timeout_s: float) -> int:
        async with self._at_once:
            bent = list(self.faults.striking("attempt", _subject(message, endpoint), message.body))
            headers = _signed(message, endpoint, bent, self.clock.now_s())
            at_s = time.time()
            try:
                status, response = await post(endpoint.url, headers, message.body, timeout_s)
            except (OSError, ValueError, TimeoutError) as problem:
                status, response = 0, type(problem).__name__
        message.attempts.append(Attempt(f"atmpt_{uuid.uuid4().hex[:27]}", at_s, status, response))
        return status


def _holding(twist: Fault) -> float:
    """Give the seconds that a rule holds a message back."""
    if twist.kind == "delay":
        return float(twist.options.get("seconds", 1.0))
    if twist.kind == "shuffle":
        return twist.dice.uniform(0.0, twist.options.get("window_s", 1.0))
    return 0.0


def _rewrite(message: HookMessage, twist: Fault) -> None:
    if twist.kind == "unknown_type":
        message.payload = message.payload | {"type": twist.options.get("type", "email.teleported")}
        message.body = _compact(message.payload)
    elif twist.kind == "whitespace":
        # The same JSON in another spelling: a receiver that verifies a re-serialised body fails on it.
        message.body = json.dumps(dict(reversed(message.payload.items())), indent=3).encode()


def _signed(message: HookMessage, endpoint: Endpoint, bent: list[Fault], account_now_s: float) -> dict[str, str]:
    """Give the headers of one try. The timestamp is real time: receivers compare it with their own clock."""
    timestamp = int(time.time())
    secrets = endpoint.live_secrets(account_now_s)
    missing: set[str] = set()
    for twist in bent:
        if twist.kind == "stale_timestamp":
            timestamp -= int(twist.options.get("seconds", twist.options.get("s", 360)))
        elif twist.kind == "old_secret_only":
            # Never rotated, there is no old secret: then one that nobody knows.
            secrets = [secret for secret, _ in endpoint.secrets[1:2]] or [new_secret()]
        elif twist.kind == "bad_signature":
            secrets = [new_secret()]
        elif twist.kind == "missing_header":
            missing.add(twist.options.get("header", "svix-signature").lower())
    headers = {
        "content-type": "application/json",
        "user-agent": "Svix-Webhooks/1.0",
        "svix-id": message.id,
        "svix-timestamp": str(timestamp),
        "svix-signature": " ".join(signature(secret, message.id, timestamp, message.body) for secret in secrets),
    }
    return {name: value for name, value in headers.items() if name not in missing}


def _compact(payload: dict[str, Any]) -> bytes:
    return json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")


def _subject(message: HookMessage, endpoint: Endpoint) -> str:
    data = message.payload["data"]
    return f"{message.type} {endpoint.url} {data.get('email_id', '')} {' '.join(map(str, data.get('to', [])))}"
