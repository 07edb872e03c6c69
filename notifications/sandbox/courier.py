"""Deliver webhook messages: at least once, unordered, signed, tried again on the provider's schedule."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from notifications.sandbox.clock import Clock
from notifications.sandbox.faults import Fault, FaultBook, a_count, a_span, a_text
from notifications.sandbox.happening import Happening
from notifications.sandbox.knobs import Knobs
from notifications.sandbox.post import post
from notifications.sandbox.posters import Posters
from notifications.sandbox.signing import new_secret, signature
from notifications.sandbox.webhooks import Attempt, Endpoint, HookMessage, Hooks

# Source: resend.com/docs/webhooks/retries-and-replays: 8 tries over 27 h 35 min 5 s.
SCHEDULE_S = (0, 5, 300, 1_800, 7_200, 18_000, 36_000, 36_000)
# The endpoint is usually one small web server on the same machine.
MAX_AT_ONCE = 16
# It is often started again together with us, and takes its time: refused twice, a message would wait five minutes.
RESUMED_AFTER_S = 20.0
# Some milliseconds of work.
RESUMED_AT_ONCE = 200

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


@dataclass(slots=True)
class Errand:
    """One message to bring to one endpoint, and how often that was tried."""

    message: HookMessage
    endpoint: Endpoint
    knobs: Knobs
    tried: int = 0


class Courier:
    """Send messages in the background of the event loop that `dispatch` is called on.

    `remember` gets a fact for each message, and one for many that need not be sent any more: what is between them is
    sent after a restart, by `resume`.
    """

    def __init__(self, hooks: Hooks, clock: Clock, remember: Callable[[dict[str, Any]], None]) -> None:
        self.hooks = hooks
        self.clock = clock
        self.faults = FaultBook(("message", "attempt"), KINDS)
        self._posters = Posters(self._carry, MAX_AT_ONCE)
        self._remember = remember
        self._settled: list[str] = []
        self._resumption: asyncio.Handle | None = None

    def dispatch(self, happening: Happening, knobs: Knobs) -> None:
        """Send one event to every endpoint that wants it."""
        for endpoint in tuple(self.hooks.endpoints.values()):
            if not endpoint.wants(happening.type):
                continue
            message = _message(f"msg_{uuid.uuid4().hex[:27]}", endpoint, happening)
            self.hooks.messages.append(message)
            self._start(message, endpoint, knobs, happening)

    def resume(self, unsent: Iterable[tuple[str, str, Happening]], knobs: Knobs) -> None:
        """Send what a sandbox before us did not get rid of: message ids with their endpoints' ids and events.

        No fault strikes it: rules are forgotten with the sandbox that had them. Made ready later and in slices, since
        there may be 100,000, and a sandbox that starts has to answer.
        """
        delay_s, loop = RESUMED_AFTER_S * knobs.retry_scale, asyncio.get_running_loop()
        self._resumption = loop.call_later(min(delay_s, 10.0**8), self._take_up, iter(unsent), knobs)

    def add_fault(self, raw: dict[str, Any]) -> Fault:
        """Add a rule; its kind says whether it strikes a message or one try."""
        stage = "message" if raw.get("kind") in PER_MESSAGE else "attempt"
        return self.faults.add({**raw, "stage": stage})

    def replay(self, message: HookMessage, endpoint: Endpoint, knobs: Knobs) -> None:
        """Send a message once more from the start of the schedule, under the same svix-id."""
        message.status = "pending"
        self._put(Errand(message, endpoint, knobs), 0.0)

    def stop(self) -> None:
        """End at once; what is not sent yet is in the journal."""
        if self._resumption is not None:
            self._resumption.cancel()
        self._posters.stop()
        self._tell_settled()

    def _take_up(self, unsent: Iterator[tuple[str, str, Happening]], knobs: Knobs) -> None:
        some = list(itertools.islice(unsent, RESUMED_AT_ONCE))
        for message_id, endpoint_id, happening in some:
            endpoint = self.hooks.endpoints.get(endpoint_id)
            if endpoint is not None:
                message = _message(message_id, endpoint, happening)
                self.hooks.messages.append(message)
                self._put(Errand(message, endpoint, knobs), 0.0, again=True)
        self._resumption = asyncio.get_running_loop().call_soon(self._take_up, unsent, knobs) if some else None

    def _start(self, message: HookMessage, endpoint: Endpoint, knobs: Knobs, happening: Happening) -> None:
        copies, wait_s = 1, 0.0
        for twist in self.faults.striking("message", _subject(message, endpoint), message.body):
            if twist.kind == "drop":
                message.status = "dropped"
                return
            if twist.kind == "duplicate":
                copies += twist.options.get("n", 1)
            wait_s += _holding(twist)
            _rewrite(message, twist)
        self._note(
            {
                "fact": "hook",
                "id": message.id,
                "endpoint": endpoint.id,
                "type": happening.type,
                "at_s": happening.at_s,
                "mail": None if happening.mail is None else happening.mail.id,
                "detail": happening.detail,
            }
        )
        for _ in range(copies):
            self._put(Errand(message, endpoint, knobs), wait_s)

    def _put(self, errand: Errand, wait_s: float, *, again: bool = False) -> None:
        errand.message.next_attempt_at_s = time.time() + wait_s
        self._posters.put(errand, wait_s, again=again)

    async def _carry(self, errand: Errand) -> None:
        """Try once; where it fails, again later, until one try succeeds or the schedule ends."""
        message, endpoint, knobs = errand.message, errand.endpoint, errand.knobs
        if endpoint.id not in self.hooks.endpoints or endpoint.status != "enabled":
            message.status = "failed"
            return
        message.next_attempt_at_s = None
        message.status = "attempting"
        if 200 <= await self._try(message, endpoint, knobs.webhook_timeout_s) < 300:
            message.status = "success"
            self._settle(message)
            return
        errand.tried += 1
        if errand.tried < len(SCHEDULE_S):
            self._put(errand, SCHEDULE_S[errand.tried] * knobs.retry_scale, again=True)
        else:
            message.status = "failed"

    async def _try(self, message: HookMessage, endpoint: Endpoint, timeout_s: float) -> int:
        bent = list(self.faults.striking("attempt", _subject(message, endpoint), message.body))
        headers = _signed(message, endpoint, bent, self.clock.now_s())
        at_s = time.time()
        try:
            status, response = await post(endpoint.url, headers, message.body, timeout_s)
        except (OSError, ValueError, TimeoutError) as problem:
            status, response = 0, type(problem).__name__
        message.attempts.append(Attempt(f"atmpt_{uuid.uuid4().hex[:27]}", at_s, status, response))
        return status

    def _settle(self, message: HookMessage) -> None:
        """Note that a message need not be sent again; a killed sandbox repeats those of its last second."""
        if not self._settled:
            asyncio.get_running_loop().call_later(1.0, self._tell_settled)
        self._settled.append(message.id)

    def _tell_settled(self) -> None:
        if self._settled:
            self._note({"fact": "hooked", "ids": self._settled})
            self._settled = []

    def _note(self, fact: dict[str, Any]) -> None:
        # Full disks are told to whoever sends mail; a webhook is sent all the same, at worst twice.
        with suppress(OSError):
            self._remember(fact)


def _message(message_id: str, endpoint: Endpoint, happening: Happening) -> HookMessage:
    payload = happening.payload()
    return HookMessage(message_id, endpoint.id, happening.type, happening.at_s, payload, _compact(payload))


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
