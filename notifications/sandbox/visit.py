"""One request on its way through the API, with all that a fault needs to break it."""

from __future__ import annotations

from dataclasses import dataclass

from notifications.sandbox.breakage import disturb, hold_up, holds_up
from notifications.sandbox.connection import Connection
from notifications.sandbox.seen import Seen
from notifications.sandbox.wire import Answer, Call
from notifications.sandbox.world import World


@dataclass(frozen=True, slots=True)
class Visit:
    """A call, where it came in, and the note made of it."""

    world: World
    call: Call
    connection: Connection
    seen: Seen

    async def struck(self, stage: str, usual: Answer | None) -> tuple[Answer | None, bool]:
        """Let the faults of a stage have their way; give the answer to send now, and whether the visit is over.

        The answer is None where the socket has been dealt with, or where nothing has been decided yet.
        """
        subject = f"{self.call.method} {self.call.path} {self.seen.key or ''}"
        for fault in self.world.faults.striking(stage, subject, self.call.body):
            self.seen.fault = fault.kind
            if not holds_up(fault):
                return await disturb(fault, self.connection, usual), True
            await hold_up(fault, self.connection)
        return usual, False
