"""What every adapter must show: the situations that it is put into, and what may be true in each.

A new adapter is one Candidate in `candidates.py`: how it is opened at a local port, and what its service says in each
situation. The suite (`test_conformance*.py`) then asks all that the engine relies on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from notifications.providers.base import Message, Provider
from notifications.states import Outcome, Phase
from tests.providers.attempts import MESSAGE
from tests.providers.scripted_server import Script

# Stands in every scripted answer; nothing of it may be kept.
RAW: Final = "ana@example.com <img src=x> secret-of-the-answer"

# What the service does, and what may be true then. Every adapter that speaks to a network scripts each of them.
SITUATIONS: Final[dict[str, frozenset[Outcome]]] = {
    "accepts": frozenset({Outcome.ACCEPTED}),
    "refuses the recipient": frozenset({Outcome.REJECTED}),
    "refuses the account": frozenset({Outcome.REJECTED}),
    "takes no more for now": frozenset({Outcome.NOT_SENT}),
    "answers garbage": frozenset({Outcome.UNKNOWN}),
    "closes instead of an answer": frozenset({Outcome.UNKNOWN}),
    "resets instead of an answer": frozenset({Outcome.UNKNOWN}),
    "stays silent": frozenset({Outcome.UNKNOWN}),
    "drips without an end": frozenset({Outcome.UNKNOWN}),
    "answers half, then closes": frozenset({Outcome.UNKNOWN}),
    "sends us elsewhere": frozenset({Outcome.REJECTED, Outcome.NOT_SENT, Outcome.UNKNOWN}),
}


@dataclass(frozen=True)
class Trial:
    """One situation as this service plays it, and what the adapter must make of it.

    `messages`: how many whole messages the service got.
    """

    situation: str
    script: Script
    outcome: Outcome
    code: str
    phase: Phase = Phase.ANSWER_READ
    messages: int = 1

    def __str__(self) -> str:
        return f"{self.situation} ({self.code})"


@dataclass(frozen=True)
class Candidate:
    """One adapter: `open` binds it to a port of this machine, `recipients` reads who gets what it has prepared.

    `to` is a recipient, and `sender` a sender, of the kinds that its channel has.
    """

    kind: str
    open: Callable[[int], Provider]
    trials: Sequence[Trial]
    recipients: Callable[[bytes], list[str]]
    to: str = MESSAGE.to
    sender: str | None = None

    @property
    def message(self) -> Message:
        """Give the message that all adapters are asked about, to a recipient of this one's."""
        return self.addressed(MESSAGE)

    def addressed(self, message: Message) -> Message:
        """Give the message from and to whom this channel knows."""
        return replace(message, to=self.to, sender=self.sender or message.sender)

    def __str__(self) -> str:
        return self.kind

    def script(self, situation: str) -> Script:
        return next(trial.script for trial in self.trials if trial.situation == situation)
