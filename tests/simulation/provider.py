"""The simulated provider, whose ledger is the truth, and the adapter through which one process calls it.

It keeps the promise that Resend makes: the same key with the same bytes is one message for 24 hours, counted from its
acceptance. A keyless one takes every request for a new message.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from notifications.providers.base import Capabilities, Message, NotWritten, Request, SendResult
from notifications.providers.resend import CAPABILITIES
from notifications.states import Outcome, Phase, ResultClass
from tests.simulation.faults import Call, Plan
from tests.simulation.scheduler import Process, Scheduler

WINDOW_S: Final = 86_400.0
# Stands before the keys of the account that takes over: its ledger is its own, and so is its weather.
SPARE: Final = "spare:"
SPARE_CALLS: Final = {Call.ACCEPTED: 70, Call.LOST_ANSWER: 12, Call.REFUSED: 6, Call.FAILED_BEFORE: 6, Call.SLOW: 6}
KEYED: Final = CAPABILITIES
KEYLESS: Final = replace(CAPABILITIES, idempotency="none", idempotency_window=None)


def answer(outcome: Outcome, kind: ResultClass, code: str, status: int | None = None, **more: Any) -> SendResult:
    """Give what the real adapter says of an answer with this status, or of none."""
    phase = Phase.ANSWER_READ if status else Phase.REQUEST_WRITTEN
    if outcome is Outcome.NOT_SENT and not status:
        phase = Phase.NOT_CONNECTED
    return SendResult(outcome, kind, code, phase, http_status=status, **more)


NO_ANSWER: Final = answer(Outcome.UNKNOWN, ResultClass.UNKNOWN, "unknown.deadline")
REFUSED: Final = answer(Outcome.NOT_SENT, ResultClass.RETRYABLE, "not_sent.refused")
TOO_LATE: Final = answer(Outcome.NOT_SENT, ResultClass.RETRYABLE, "not_sent.deadline")
IN_FLIGHT: Final = answer(Outcome.IN_FLIGHT, ResultClass.IN_FLIGHT, "resend.409.concurrent_idempotent_requests", 409)
CONFLICT: Final = answer(Outcome.CONFLICT, ResultClass.CONFLICT, "resend.409.invalid_idempotent_request", 409)
FAILED: Final = answer(Outcome.UNKNOWN, ResultClass.UNKNOWN, "resend.500.application_error", 500)
# What is said without looking at the message: nothing was accepted.
SAID: Final[dict[Call, SendResult]] = {
    Call.LOST_REQUEST: NO_ANSWER,
    Call.FAILED_BEFORE: FAILED,
    Call.RATE_LIMITED: answer(
        Outcome.NOT_SENT, ResultClass.RATE_LIMITED, "resend.429.rate_limit_exceeded", 429, retry_after_s=20.0
    ),
    Call.IN_FLIGHT: IN_FLIGHT,
    Call.CONFLICT: CONFLICT,
    Call.INVALID: answer(Outcome.REJECTED, ResultClass.FIX_CONFIG, "resend.422.validation_error", 422),
    Call.BAD_ADDRESS: answer(Outcome.REJECTED, ResultClass.RECIPIENT, "resend.422.invalid_to_address", 422),
    Call.SOFT_REFUSAL: answer(Outcome.REJECTED, ResultClass.RECIPIENT_SOFT, "resend.422.validation_error", 422),
    Call.BAD_KEY: answer(Outcome.REJECTED, ResultClass.FIX_CONFIG, "resend.403.invalid_api_key", 403),
}
# What is said of a message that was accepted all the same.
HIDDEN: Final[dict[Call, SendResult]] = {
    Call.FAILED_AFTER: FAILED,
    Call.GARBLED: answer(Outcome.UNKNOWN, ResultClass.UNKNOWN, "resend.malformed_response", 200),
}


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One message that is on its way to its recipient."""

    at: float
    key: str
    intent: int
    message_id: str
    written_at: float
    sent: dict[str, Any]  # what its bytes say

    @property
    def generation(self) -> int:
        return int(self.sent["tags"]["generation"])

    @property
    def is_spare(self) -> bool:
        return self.key.startswith(SPARE)


@dataclass(slots=True)
class Slot:
    """One remembered key; without an id its first request is still worked on."""

    digest: bytes
    at: float
    message_id: str | None = None


@dataclass(eq=False, slots=True)
class Written:
    """A request that left a machine: nobody else may call for its intent until it ended, at the latest `until`."""

    intent: int
    by: str
    until: float
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Underway:
    """A request that has left us and of which nobody knows yet whether it will be accepted."""

    intent: int
    generation: int
    written_at: float


@dataclass(frozen=True, slots=True)
class Absence:
    """A look-up's "not found" of what was there; `at` is the database's time."""

    intent: int
    at: datetime
    detail: str


@dataclass(slots=True)
class SimulatedProvider:
    """What was accepted, what is remembered, and what was seen that should not have been."""

    scheduler: Scheduler
    keyed: bool
    name: str
    lease_left_s: Callable[[int, str], float]
    on_accepted: Callable[[Acceptance], None] = lambda _: None
    accepted: list[Acceptance] = field(default_factory=list)
    lied_about: set[int] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)
    absences: list[Absence] = field(default_factory=list)
    on_the_way: list[Underway] = field(default_factory=list)
    first_heard: dict[int, float] = field(default_factory=dict)
    requests: int = 0
    _slots: dict[str, Slot] = field(default_factory=dict)
    _digests: dict[str, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    _written: list[Written] = field(default_factory=list)

    def hears(self, request: Request, by: str, left_s: float) -> Written:
        """Note a request at the moment when its bytes are handed over."""
        now, intent = self.scheduler.now, intent_of(request)
        self._written = [one for one in self._written if not one.ended and one.until > now]
        for other in self._written:
            # A clock of the database that was put on ends leases early: by assumption 3 the key alone protects then.
            if other.intent == intent and not self.scheduler.was_stepped:
                self.complaints.append(f"calls overlap: intent {intent} by {other.by} and {by}")
        if self.lease_left_s(intent, by) < left_s and not self.scheduler.was_stepped:
            self.complaints.append(f"outside its lease: intent {intent} by {by}")
        self._digests[request.key].add(hashlib.sha256(request.body).digest())
        if len(self._digests[request.key]) > 1:
            self.complaints.append(f"other bytes under one key: {request.key}")
        self.requests += 1
        self.first_heard.setdefault(intent, now)
        written = Written(intent, by, now + left_s)
        self._written.append(written)
        return written

    def takes(self, request: Request) -> SendResult:
        """Work on a request to its end, as the promise about keys says."""
        now = self.scheduler.now
        held = self._held(request, now)
        return held if held is not None else self._accept(request, now)

    def takes_later(self, request: Request, after_s: float, *, holds_key: bool) -> None:
        """Let a request arrive, or be worked on, when nobody waits for its answer any more."""
        if holds_key and self.keyed:
            if self._held(request, self.scheduler.now) is not None:
                return
            self._slots[request.key] = Slot(_digest(request), self.scheduler.now)
        tags = json.loads(request.body)["tags"]
        underway = Underway(int(tags["intent"]), int(tags["generation"]), self.scheduler.now)
        self.on_the_way.append(underway)
        due_at = self.scheduler.now + after_s

        def arrive() -> None:
            self.on_the_way.remove(underway)
            if holds_key or self._held(request, due_at) is None:
                self._accept(request, due_at, written_at=underway.written_at)

        assert self.scheduler.loop is not None
        self.scheduler.loop.call_at(due_at, arrive)

    def newest_key_left_s(self) -> float:
        """Give how long the newest message's key is still kept; negative where none is."""
        kept = [slot.at for slot in self._slots.values() if slot.message_id is not None]
        return max(kept, default=-WINDOW_S) + WINDOW_S - self.scheduler.now

    def forget_bytes(self) -> None:
        """Compare no bytes with those of a time that the database has forgotten."""
        self._digests.clear()

    def forgets(self, request: Request) -> None:
        """Break the promise: the next request under this key is a new message."""
        self.lied_about.add(intent_of(request))
        self._slots.pop(request.key, None)

    def _held(self, request: Request, now: float) -> SendResult | None:
        slot = self._slots.get(request.key) if self.keyed else None
        if slot is None or (slot.message_id is not None and now - slot.at >= WINDOW_S):
            return None
        if slot.digest != _digest(request):
            return CONFLICT
        return IN_FLIGHT if slot.message_id is None else _accepted(slot.message_id)

    def _accept(self, request: Request, now: float, written_at: float | None = None) -> SendResult:
        message_id = f"{self.name}-mail-{len(self.accepted) + 1}"
        sent = json.loads(request.body)
        one = Acceptance(now, request.key, int(sent["tags"]["intent"]), message_id, written_at or now, sent)
        self.accepted.append(one)
        self._slots[request.key] = Slot(_digest(request), now, message_id)
        self.on_accepted(one)
        return _accepted(message_id)


@dataclass(slots=True)
class Adapter:
    """One process's adapter, at the Provider protocol. `release` stands in its bytes: deploys change templates."""

    world: SimulatedProvider
    plan: Plan
    process: Process
    release: int
    boot_clock: Callable[[], float]
    capabilities: Capabilities
    ledger: str = ""
    name: str = "simulated"

    def prepare(self, message: Message) -> bytes:
        """Give the bytes of this release."""
        shown = {"to": message.to, "subject": message.subject, "tags": dict(message.tags), "release": self.release}
        return json.dumps(shown).encode()

    async def send(self, request: Request) -> SendResult:
        """Connect, check, write, wait for the answer; at most for the request's deadline."""
        call = self.plan._way("call", SPARE_CALLS) if self.ledger else self.plan.call()
        request, turn = replace(request, key=self.ledger + request.key), self.world.scheduler.turn
        ends_at = self.boot_clock() + request.timeout_s
        await turn("send connect")
        if call is Call.REFUSED:
            return REFUSED
        await turn("send write")
        # A process that stood still past its deadline may notice, or may go on to the write: either happens.
        if self.boot_clock() > ends_at and self.world.scheduler.rng.random() < 0.5:
            return TOO_LATE
        try:
            request.may_write()
        except NotWritten as refusal:
            return replace(REFUSED, code=f"not_sent.{refusal.code}")
        written = self.world.hears(request, self.process.name, max(0.0, ends_at - self.boot_clock()))
        result, takes_s = self._handled(call, request)
        await asyncio.sleep(min(takes_s, request.timeout_s))
        await turn("send answer")
        written.ended = True
        if call is Call.BUG:
            raise RuntimeError("a bug of the adapter")
        return NO_ANSWER if takes_s > request.timeout_s else result

    async def close(self) -> None:
        """Nothing is open."""

    def _handled(self, call: Call, request: Request) -> tuple[SendResult, float]:
        """Let the provider do its part now; give what it says, and after how long."""
        dice, provider = self.world.scheduler.rng, self.world
        takes_s = dice.choice((0.1, 0.1, 1.0, 4.0))
        if call in SAID:
            return SAID[call], 60.0 if call is Call.LOST_REQUEST else takes_s
        if call in (Call.DELAYED, Call.QUEUED):
            provider.takes_later(request, dice.choice((5.0, 30.0, 90.0, 300.0)), holds_key=call is Call.QUEUED)
            return NO_ANSWER, 60.0
        if call is Call.LIE_ACCEPTED:
            provider.lied_about.add(intent_of(request))
            return _accepted(f"lie-{provider.requests}"), takes_s
        result = provider.takes(request)
        if call is Call.DOUBLED and provider.keyed:
            result = provider.takes(request)
        elif call is Call.LIE_FORGETS:
            provider.forgets(request)
        if call is Call.LOST_ANSWER:
            takes_s = 60.0
        elif call is Call.SLOW:
            takes_s = dice.choice((8.0, 9.5, 12.0))
        return HIDDEN.get(call, result), takes_s


def intent_of(request: Request) -> int:
    """Give the intent that a request is for, whatever key it has: its tags travel with it."""
    return int(json.loads(request.body)["tags"]["intent"])


def _digest(request: Request) -> bytes:
    return hashlib.sha256(request.body).digest()


def _accepted(message_id: str) -> SendResult:
    return answer(Outcome.ACCEPTED, ResultClass.ACCEPTED, "resend.accepted", 200, provider_message_id=message_id)
