"""What a provider's later word about a message means for its intent: which entry, which state, or wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from notifications.policy import codes
from notifications.states import DeliveryStatus, EntryKind, Known, NextAction, State


@dataclass(frozen=True, slots=True)
class ReceiptFacts:
    """What the rules need of an event and of the intent that it is about.

    `says` is what the event says, NONE where only that the provider has the message. `quiet`: not worth an entry unless
    it brings news. `generation` is the one that the message was of, None where nobody can tell. `message_id` is the
    event's, `accepted_id` the one that the intent's current generation was accepted under, None before that is known.
    """

    says: DeliveryStatus
    quiet: bool
    message_id: str | None
    generation: int | None
    state: State
    current_generation: int
    attempt_count: int
    delivery_status: DeliveryStatus
    known: Known | None
    error_code: str | None
    accepted_id: str | None


@dataclass(frozen=True, slots=True)
class ReceiptDecision:
    """The entry to append: `kind` None appends none. `waits`: too early, come back. `goes_on`: then judge it again.

    `second` says that the event is about another message than the one that was accepted.
    """

    kind: EntryKind | None = None
    to_state: State | None = None
    code: str | None = None
    known: Known | None = None
    next_action: NextAction | None = None
    delivery_status: DeliveryStatus | None = None
    message_id: str | None = None
    waits: bool = False
    goes_on: bool = False
    second: bool = False


WAIT: Final = ReceiptDecision(waits=True)
NO_NEWS: Final = ReceiptDecision()
_SEVERITY: Final = {status: place for place, status in enumerate(DeliveryStatus)}
_MOVING: Final = frozenset({State.PENDING, State.RETRY, State.SENDING})
_UNCONFIRMED: Final = (State.NEEDS_REVIEW, Known.ACCEPTED)
# From here on the message did not arrive, or was not welcome: a person must know.
_BAD: Final[Mapping[DeliveryStatus, tuple[str, Known, NextAction]]] = {
    DeliveryStatus.SOFT_BOUNCED: (codes.SOFT_BOUNCED, Known.SOFT_BOUNCED, NextAction.RETRY_SAME_KEY),
    DeliveryStatus.FAILED: (codes.FAILED, Known.INVALID, NextAction.FIX_CONFIG),
    DeliveryStatus.SUPPRESSED: (codes.SUPPRESSED, Known.SUPPRESSED, NextAction.CORRECT_ADDRESS),
    DeliveryStatus.BOUNCED: (codes.BOUNCED, Known.BOUNCED, NextAction.CORRECT_ADDRESS),
    DeliveryStatus.COMPLAINED: (codes.COMPLAINED, Known.COMPLAINED, NextAction.ASK_LEAD),
}


def merged(old: DeliveryStatus, new: DeliveryStatus) -> DeliveryStatus:
    """Give the graver of two; which came first does not matter."""
    return max(old, new, key=_SEVERITY.__getitem__)


def decide_receipt(facts: ReceiptFacts) -> ReceiptDecision:
    """Decide on one event of a message of ours."""
    if facts.generation is None or facts.generation > facts.current_generation or not facts.attempt_count:
        return WAIT
    if facts.generation < facts.current_generation:
        return _of_an_older_one(facts)
    if facts.state in (State.PENDING, State.SENDING):
        # The call still runs, or its lease must end first: its result may say the same in a moment.
        return WAIT
    if facts.accepted_id is None:
        return _proof(facts)
    if facts.message_id is not None and facts.message_id != facts.accepted_id:
        return _contradiction(facts)
    if facts.state is State.RETRY and facts.known is Known.SOFT_BOUNCED and facts.says is DeliveryStatus.DELIVERED:
        # It arrived after all, before the new generation that a person ordered went out as a second message.
        return ReceiptDecision(EntryKind.SETTLED, State.ACCEPTED, delivery_status=facts.says)
    return WAIT if facts.state is State.RETRY else _same_message(facts)


def _of_an_older_one(facts: ReceiptFacts) -> ReceiptDecision:
    """Keep it as a fact; it must not move or colour the new generation."""
    if facts.quiet:
        return NO_NEWS
    return WAIT if facts.state in _MOVING else ReceiptDecision(EntryKind.RECEIPT, facts.state)


def _proof(facts: ReceiptFacts) -> ReceiptDecision:
    """The answer to our call was lost, and this says that the provider took the message."""
    if facts.message_id is None:
        return WAIT
    status = merged(facts.delivery_status, facts.says)
    if facts.state in (State.RETRY, State.NEEDS_REVIEW):
        is_bad = facts.says in _BAD
        return ReceiptDecision(
            EntryKind.SETTLED,
            State.ACCEPTED,
            delivery_status=None if is_bad else status,
            message_id=facts.message_id,
            goes_on=is_bad,
        )
    return ReceiptDecision(EntryKind.RECEIPT, facts.state, delivery_status=status, message_id=facts.message_id)


def _contradiction(facts: ReceiptFacts) -> ReceiptDecision:
    """Two messages under one key: the provider's promise is broken, or the key's window was; a person must know."""
    if facts.state is State.RETRY:
        return WAIT
    if facts.state not in (State.ACCEPTED, State.NEEDS_REVIEW):
        return ReceiptDecision(EntryKind.RECEIPT, facts.state, second=True)
    return ReceiptDecision(
        EntryKind.RECEIPT,
        State.NEEDS_REVIEW,
        code=codes.SECOND_MESSAGE,
        known=Known.ACCEPTED,
        next_action=NextAction.CLOSE_DUPLICATE,
        second=True,
    )


def _same_message(facts: ReceiptFacts) -> ReceiptDecision:
    status = merged(facts.delivery_status, facts.says)
    is_news = status is not facts.delivery_status
    waits_for_it = (facts.state, facts.known, facts.error_code) == (*_UNCONFIRMED, codes.NOT_CONFIRMED)
    if waits_for_it and facts.says is DeliveryStatus.DELIVERED:
        return ReceiptDecision(EntryKind.SETTLED, State.ACCEPTED, delivery_status=status)
    if facts.quiet and not is_news:
        return NO_NEWS
    if is_news and facts.says in _BAD and facts.state in (State.ACCEPTED, State.NEEDS_REVIEW):
        code, known, action = _BAD[facts.says]
        if facts.error_code == codes.SECOND_MESSAGE:
            # The graver case stays on the screen: a retry stays forbidden.
            return ReceiptDecision(EntryKind.RECEIPT, facts.state, delivery_status=status)
        return ReceiptDecision(EntryKind.RECEIPT, State.NEEDS_REVIEW, code, known, action, status)
    return ReceiptDecision(EntryKind.RECEIPT, facts.state, delivery_status=status if is_news else None)
