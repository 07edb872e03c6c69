"""What becomes of accepted messages, and the provider's events that tell us: lost, doubled, late, early, shuffled.

None is forged. An event that nobody acknowledges is posted again, as the provider does for more than a day.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from notifications.receipts.parse import says
from notifications.states import DeliveryStatus
from tests.simulation.database import at
from tests.simulation.faults import Fate, Post
from tests.simulation.provider import Acceptance
from tests.simulation.scheduler import Scheduler

_SENT: Final = ("email.sent", None)
_DELIVERED: Final = ("email.delivered", None)
_SOFT: Final = ("email.bounced", {"type": "Transient", "subType": "MailboxFull"})
# What the provider sees happen, one after the other.
LIVES: Final[dict[Fate, tuple[tuple[str, dict[str, str] | None], ...]]] = {
    Fate.DELIVERED: (_SENT, _DELIVERED),
    Fate.OPENED: (_SENT, _DELIVERED, ("email.opened", None)),
    Fate.DELAYED: (_SENT, ("email.delivery_delayed", None), _DELIVERED),
    Fate.SOFT_BOUNCED: (_SENT, ("email.delivery_delayed", None), _SOFT),
    Fate.ARRIVED: (_SENT, _SOFT, _DELIVERED),
    Fate.BOUNCED: (_SENT, ("email.bounced", {"type": "Permanent", "subType": "General"})),
    Fate.COMPLAINED: (_SENT, _DELIVERED, ("email.complained", None)),
    Fate.SUPPRESSED: (("email.suppressed", {"type": "OnAccountSuppressionList"}),),
    Fate.FAILED: (_SENT, ("email.failed", {"reason": "reached_daily_quota"})),
    Fate.SILENT: (_SENT,),
}
CAME_BACK: Final = frozenset({DeliveryStatus.SOFT_BOUNCED, DeliveryStatus.FAILED})
_REPEATED_AFTER_S: Final = (30.0, 120.0, 300.0)


@dataclass(eq=False, slots=True)
class Event:
    """One thing that the provider saw happen to a message. `kept`: our database has it."""

    number: int
    type: str
    detail: dict[str, str] | None
    message: Acceptance
    at: float
    kept: bool = False

    @property
    def id(self) -> str:
        return f"{self.message.message_id}-event-{self.number}"

    @property
    def says(self) -> DeliveryStatus:
        """Give what it says of its message, by production's own words."""
        told = says(self.type, self.detail["type"].lower() if self.detail and "type" in self.detail else None)
        assert told is not None
        return told

    def body(self, start: timedelta) -> bytes:
        """Give the event as it is posted."""
        data: dict[str, Any] = {"email_id": self.message.message_id, "tags": self.message.sent["tags"]}
        if self.detail is not None:
            data["bounce" if self.type == "email.bounced" else self.type.removeprefix("email.")] = self.detail
        # Each with a moment of its own, by which the judge knows it again.
        moment = at(self.at, start) + timedelta(microseconds=self.number)
        return json.dumps({"type": self.type, "created_at": moment.isoformat(), "data": data}).encode()


@dataclass(eq=False, slots=True)
class Parcel:
    """One post of an event, until somebody acknowledges it."""

    event: Event
    acknowledged: bool = False
    waits: bool = False


@dataclass(slots=True)
class Courier:
    """The provider's events, and those on their way; `waiting` are at our door."""

    scheduler: Scheduler
    start: timedelta
    is_deaf: bool  # our address is not known to the provider: no event ever comes
    events: list[Event] = field(default_factory=list)
    parcels: list[Parcel] = field(default_factory=list)
    waiting: asyncio.Queue[Parcel] = field(default_factory=asyncio.Queue)

    def follow(self, message: Acceptance) -> None:
        """Let a message that was just accepted have its life."""
        dice, plan = self.scheduler.rng, self.scheduler.plan
        occurs_at = self.scheduler.now
        fate = plan.fate()
        for kind, detail in LIVES[fate]:
            # What had come back arrives after a while, in which people go on with it.
            is_late = fate is Fate.ARRIVED and kind == _DELIVERED[0]
            occurs_at += dice.choice((100.0, 200.0, 600.0) if is_late else (0.0, 0.0, 1.0, 20.0, 200.0))
            event = Event(len(self.events), kind, detail, message, occurs_at)
            self.events.append(event)
            self._post(event, plan.post())

    def seen_of(self, message: Acceptance) -> list[Event]:
        """Give what has happened to a message by now."""
        return [one for one in self.events if one.message is message and one.at <= self.scheduler.now]

    def kept_of(self, intent: int) -> Iterator[Event]:
        """Give what our database was told of an intent's messages."""
        return (one for one in self.events if one.kept and one.message.intent == intent)

    @property
    def is_idle(self) -> bool:
        """Whether nothing more will be posted."""
        return all(one.acknowledged for one in self.parcels)

    def _post(self, event: Event, way: Post) -> None:
        if way is Post.LOST or self.is_deaf:
            return
        lag_s = {Post.EARLY: (0.0,), Post.LATE: (300.0, 1800.0)}.get(way, (0.5, 3.0, 15.0, 40.0))
        for _ in range(2 if way is Post.DOUBLED else 1):
            parcel = Parcel(event)
            self.parcels.append(parcel)
            self._later(event.at - self.scheduler.now + self.scheduler.rng.choice(lag_s), parcel)

    def _arrives(self, parcel: Parcel) -> None:
        if parcel.acknowledged:
            return
        if not parcel.waits:
            parcel.waits = True
            self.waiting.put_nowait(parcel)
        self._later(self.scheduler.rng.choice(_REPEATED_AFTER_S), parcel)

    def _later(self, seconds: float, parcel: Parcel) -> None:
        assert self.scheduler.loop is not None
        self.scheduler.loop.call_at(self.scheduler.now + seconds, self._arrives, parcel)
