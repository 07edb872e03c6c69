"""One answer of the provider beside the intent as it stands when the answer is written."""

from __future__ import annotations

from typing import Any, NamedTuple

from notifications.delivery.questions import Due
from notifications.policy.evidence import Consequence, told_status
from notifications.providers.base import LookupResult
from notifications.states import DeliveryStatus, Found, State


class Now(NamedTuple):
    """One intent as it stands when its answer is written; the answer counts only where it has not moved since."""

    id: int
    state: str
    seq: int
    generation: int
    known: str | None
    error_code: str | None
    delivery_status: str
    provider_message_id: str | None
    confirming: bool
    # What a restore wrote when it held the intent.
    held: dict[str, Any] | None
    # What the account's list shows of later generations is not known yet: nothing is freed before.
    unread: bool | None
    # A person has set it aside for a time that is not over.
    aside: bool


class Judged(NamedTuple):
    """One answer with what was asked, what is so now, and what follows."""

    row: Due
    result: LookupResult
    now: Now
    after: tuple[Consequence, ...]
    # Whether the one message that was found is this intent's, and no contradiction.
    is_its_own: bool

    @property
    def outlived(self) -> bool:
        """Whether what was found must be asked for again: its attempt still runs, or the generation is another."""
        if self.result.answer is not Found.FOUND or self.row.older:
            return False
        return self.is_of_an_older or self.now.state == State.SENDING

    @property
    def is_kept(self) -> bool:
        """Whether the answer is written: of an older generation, only what is this intent's and no other's."""
        is_found = self.is_of_an_older and self.result.answer is Found.FOUND
        return self.is_its_own if is_found else not self.outlived

    @property
    def is_answered(self) -> bool:
        """Whether the question is dealt with: what was asked beside it answers none."""
        return not (self.outlived or self.row.older)

    @property
    def is_of_an_older(self) -> bool:
        """Whether there is a newer generation, by now or since long: a fact, and no proof of that one."""
        return self.now.generation != self.row.generation

    @property
    def told(self) -> DeliveryStatus:
        """What the answer says of its message, beside receipts, as far as these were about the same generation."""
        before = DeliveryStatus.NONE if self.is_of_an_older else DeliveryStatus(self.now.delivery_status)
        return told_status(self.result, before)
