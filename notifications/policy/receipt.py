"""What a provider's later word about a message means for its intent: which entry, which state, or wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from notifications.policy import codes
from notifications.states import CLAIMABLE, DeliveryStatus, EntryKind, Known, NextAction, State


@dataclass(frozen=True, slots=True)
class ReceiptFacts:
    """What the rules need of an event and of the intent that it is about.

    `says` is what the event says, NONE where only that the provider has the message. `quiet`: not worth an entry unless
    it brings news. `generation` is the one that the message was of, None where nobody can tell. `message_id` is the
    event's, `accepted_id` the one that the intent's current generation was accepted under, None before that is known.
    `given_up`: two persons had its generation followed by another one, as nobody could tell whether it had arrived.
    `heard`: the log says already that its message arrived. `ambiguous`: the current generation may have been accepted.
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
    given_up: bool = False
    heard: bool = False
    ambiguous: bool = False


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
BAD: Final[Mapping[DeliveryStatus, tuple[str, Known, NextAction]]] = {
    DeliveryStatus.SOFT_BOUNCED: (codes.SOFT_BOUNCED, Known.SOFT_BOUNCED, NextAction.RETRY_NEW_KEY),
    DeliveryStatus.FAILED: (codes.FAILED, Known.INVALID, NextAction.FIND_CAUSE),
    DeliveryStatus.SUPPRESSED: (codes.SUPPRESSED, Known.SUPPRESSED, NextAction.CORRECT_ADDRESS),
    DeliveryStatus.BOUNCED: (codes.BOUNCED, Known.BOUNCED, NextAction.CORRECT_ADDRESS),
    DeliveryStatus.COMPLAINED: (codes.COMPLAINED, Known.COMPLAINED, NextAction.ASK_LEAD),
}

# The graver case stays on the screen: a retry stays forbidden.
_GRAVER: Final = (codes.SECOND_MESSAGE, codes.FORGOTTEN_MESSAGE)

# The recipient has it, however welcome it was.
ARRIVED: Final = frozenset({DeliveryStatus.DELIVERED, DeliveryStatus.COMPLAINED})
# The provider has it, and may deliver it yet.
ON_ITS_WAY: Final = frozenset({DeliveryStatus.NONE, DeliveryStatus.DEFERRED})
# Of these nobody can tell whether it was before the arrival or after it: a lead decides.
_DISPUTED: Final = frozenset({DeliveryStatus.SOFT_BOUNCED, DeliveryStatus.FAILED})
_ARRIVED: Final = ReceiptDecision(
    EntryKind.CONTRADICTED,
    State.NEEDS_REVIEW,
    code=codes.ARRIVED_BEFORE,
    known=Known.ACCEPTED,
    next_action=NextAction.CLOSE_DUPLICATE,
)
# As the provider's list would have it (delivery/forgotten.py).
FORGOTTEN: Final = ReceiptDecision(
    EntryKind.CONTRADICTED,
    State.NEEDS_REVIEW,
    code=codes.FORGOTTEN_MESSAGE,
    known=Known.ACCEPTED,
    next_action=NextAction.ASK_LEAD,
)
# Only a restored database can owe what the provider has: it must not go out while this is written, and then the event
# is judged once more.
STOPPED: Final = ReceiptDecision(
    EntryKind.RESTORED,
    State.NEEDS_REVIEW,
    code=codes.RESTORED,
    known=Known.UNKNOWN,
    next_action=NextAction.QUERY_PROVIDER,
    goes_on=True,
)


def merged(old: DeliveryStatus, new: DeliveryStatus) -> DeliveryStatus:
    """Give the graver of two; which came first does not matter."""
    return max(old, new, key=_SEVERITY.__getitem__)


def came_back(status: DeliveryStatus, code: str | None) -> tuple[str, Known, NextAction] | None:
    """Give what a case is about by its message's fate; None where it did not come back, or something graver stands."""
    return None if code in _GRAVER else BAD.get(status)


def decide_receipt(facts: ReceiptFacts) -> ReceiptDecision:
    """Decide on one event of a message of ours.

    A generation that was never sent here, or is beyond the present one, is named only of a restored database.
    """
    if facts.generation is None:
        return WAIT
    if facts.generation > facts.current_generation:
        return _of_a_forgotten_one(facts)
    if facts.generation < facts.current_generation:
        return _of_an_older_one(facts)
    if not facts.attempt_count and facts.accepted_id is None and facts.state in CLAIMABLE:
        # It went out in the forgotten time, and no recovery holds it: approved since, waived, or given back by a "no".
        return STOPPED
    if facts.state in (State.PENDING, State.SENDING):
        # The call still runs, or its lease must end first: its result may say the same in a moment.
        return WAIT
    if facts.accepted_id is None:
        return _proof(facts)
    if facts.message_id is not None and facts.message_id != facts.accepted_id:
        return _contradiction(facts)
    return _ordered_anew(facts) if facts.state is State.RETRY else _same_message(facts)


def _ordered_anew(facts: ReceiptFacts) -> ReceiptDecision:
    """It arrived after all, before the new generation that a person ordered went out as a second message."""
    if facts.known not in (Known.SOFT_BOUNCED, Known.INVALID) or facts.says not in ARRIVED:
        return WAIT
    if facts.known is Known.SOFT_BOUNCED and facts.says is DeliveryStatus.DELIVERED:
        return ReceiptDecision(EntryKind.SETTLED, State.ACCEPTED, delivery_status=facts.says)
    # What the provider said to have failed for good stays the graver word, and so does a complaint.
    return _ARRIVED


def _of_an_older_one(facts: ReceiptFacts) -> ReceiptDecision:
    """Keep it as a fact, which must not colour the new generation; but what has arrived must not be sent again.

    Of what was given up, it is enough that the provider has it: that it may be with nobody is why there is a new one.
    """
    is_out = facts.says in ARRIVED or (facts.given_up and facts.says in ON_ITS_WAY)
    if facts.state is State.RETRY and is_out:
        return _ARRIVED
    if facts.quiet and (not is_out or facts.heard):
        return NO_NEWS
    if facts.state in _MOVING:
        return WAIT
    if (facts.state, facts.error_code) == (State.NEEDS_REVIEW, codes.ARRIVED_BEFORE) and facts.says in BAD:
        return _came_back_after_all(facts)
    return ReceiptDecision(EntryKind.RECEIPT, facts.state)


def _came_back_after_all(facts: ReceiptFacts) -> ReceiptDecision:
    """What stopped the new generation came back, so that the recipient may have nothing: the case is about that now."""
    code, known, action = BAD[facts.says]
    if facts.heard and facts.says in _DISPUTED:
        action = NextAction.ASK_LEAD
    if facts.ambiguous and facts.says is not DeliveryStatus.COMPLAINED:
        known, action = Known.UNKNOWN, NextAction.QUERY_PROVIDER
    return ReceiptDecision(EntryKind.RECEIPT, State.NEEDS_REVIEW, code, known, action)


def _of_a_forgotten_one(facts: ReceiptFacts) -> ReceiptDecision:
    """It went out in a generation that a restored database does not remember: nothing repeats the one that it knows."""
    if facts.state is State.SENDING:
        return WAIT
    if facts.state is State.PENDING:
        return STOPPED
    if facts.state is State.RETRY or (
        facts.state is State.NEEDS_REVIEW and facts.error_code != codes.FORGOTTEN_MESSAGE
    ):
        return FORGOTTEN
    return NO_NEWS if facts.quiet else ReceiptDecision(EntryKind.RECEIPT, facts.state)


def _proof(facts: ReceiptFacts) -> ReceiptDecision:
    """The answer to our call was lost, and this says that the provider took the message."""
    if facts.message_id is None:
        return WAIT
    status = merged(facts.delivery_status, facts.says)
    if facts.state in (State.RETRY, State.NEEDS_REVIEW):
        is_bad = facts.says in BAD
        return ReceiptDecision(
            EntryKind.SETTLED,
            State.ACCEPTED,
            delivery_status=None if is_bad else status,
            message_id=facts.message_id,
            goes_on=is_bad,
        )
    return ReceiptDecision(EntryKind.RECEIPT, facts.state, delivery_status=status, message_id=facts.message_id)


def _contradiction(facts: ReceiptFacts) -> ReceiptDecision:
    """Two messages: the provider's promise is broken, or the key's window was; a person must know."""
    if facts.state is State.RETRY and facts.says not in ARRIVED | ON_ITS_WAY:
        return WAIT
    if facts.state not in (State.RETRY, State.ACCEPTED, State.NEEDS_REVIEW):
        return ReceiptDecision(EntryKind.RECEIPT, facts.state, second=True)
    return ReceiptDecision(
        # A retry that waits would be a third one.
        EntryKind.CONTRADICTED if facts.state is State.RETRY else EntryKind.RECEIPT,
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
    is_disputed = facts.says in ARRIVED and facts.delivery_status in _DISPUTED
    if facts.quiet and not is_news and (not is_disputed or facts.heard):
        return NO_NEWS
    is_case = facts.state is State.NEEDS_REVIEW and facts.known in (Known.SOFT_BOUNCED, Known.INVALID)
    if is_disputed and is_case and facts.says is DeliveryStatus.DELIVERED:
        # A retry is refused from here on.
        return ReceiptDecision(EntryKind.RECEIPT, facts.state, next_action=NextAction.ASK_LEAD, delivery_status=status)
    if is_news and facts.says in BAD and facts.state in (State.ACCEPTED, State.NEEDS_REVIEW):
        code, known, action = BAD[facts.says]
        if facts.error_code in _GRAVER:
            return ReceiptDecision(EntryKind.RECEIPT, facts.state, delivery_status=status)
        if facts.says in _DISPUTED and facts.delivery_status is DeliveryStatus.DELIVERED:
            action = NextAction.ASK_LEAD
        return ReceiptDecision(EntryKind.RECEIPT, State.NEEDS_REVIEW, code, known, action, status)
    return ReceiptDecision(EntryKind.RECEIPT, facts.state, delivery_status=status if is_news else None)
