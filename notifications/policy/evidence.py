"""What follows from a provider's answer to "did you get this?": facts in, entries to write out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from notifications.policy import codes
from notifications.policy.receipt import ARRIVED, BAD, STOPPED, ReceiptDecision, ReceiptFacts, decide_receipt
from notifications.providers.base import LookupResult
from notifications.states import FINAL, DeliveryStatus, EntryKind, Found, Known, NextAction, State
from notifications.types import NotificationType

# After an answer that proves nothing: soon at first, since providers recover; then a person decides.
ASK_AGAIN_S: Final = (60.0, 300.0, 1800.0, 7200.0, 28_800.0)
# A receipt normally comes within minutes; a day without one is worth a question.
CONFIRM_S: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Held:
    """How an intent stood when a restore held it for the provider's answer: what it goes back to if that is "no"."""

    ambiguous: bool = False
    known: Known | None = None
    code: str | None = None
    attempted: bool = False
    next_action: NextAction | None = None

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Held:
        """Read what the entry that holds it says."""
        known, action = said.get("known"), said.get("next_action")
        return cls(
            ambiguous=bool(said.get("ambiguous")),
            known=Known(known) if known else None,
            code=said.get("code"),
            attempted=bool(said.get("attempted")),
            next_action=NextAction(action) if action else None,
        )


@dataclass(frozen=True, slots=True)
class EvidenceFacts:
    """What the decision needs of the intent, as it stands now.

    `recorded` is the provider's id that it has already. `confirming`: it was accepted long ago, and is asked about
    because no receipt came. `is_last`: it is not asked again by itself. `id_taken`: the id found is another intent's.
    `held`: a restore holds it. `aside`: a person has set it aside, for a time that is not over.
    """

    state: State
    delivery_status: DeliveryStatus = DeliveryStatus.NONE
    known: Known | None = None
    error_code: str | None = None
    recorded: str | None = None
    confirming: bool = False
    is_last: bool = False
    id_taken: bool = False
    held: Held | None = None
    aside: bool = False


@dataclass(frozen=True, slots=True)
class Consequence:
    """One entry that follows the evidence. `confirmed` ends the wait for a receipt.

    `ambiguous` False: nothing of the present generation is in doubt any more.
    """

    kind: EntryKind
    to_state: State | None = None
    code: str | None = None
    known: Known | None = None
    next_action: NextAction | None = None
    provider_message_id: str | None = None
    delivery_status: DeliveryStatus | None = None
    confirmed: bool = False
    ambiguous: bool | None = None


def decide_evidence(result: LookupResult, facts: EvidenceFacts) -> tuple[Consequence, ...]:
    """Give what is to be written after the evidence, in order; mostly nothing where nothing was proven."""
    if result.answer is Found.FOUND and facts.state is State.PENDING:
        # Only a restored database can owe what the provider has: it must not go out while this is written.
        stopped = replace(facts, state=State.NEEDS_REVIEW, known=Known.UNKNOWN, error_code=codes.RESTORED)
        return (_STOPPED, *_found(result, stopped))
    if result.answer is Found.FOUND:
        return _found(result, facts)
    proven = result.answer is Found.NOT_FOUND
    held = facts.held if facts.state is State.NEEDS_REVIEW and facts.recorded is None else None
    if proven and held is not None and not facts.aside:
        return (_freed(held),)
    if facts.state is State.ACCEPTED and facts.confirming and (proven or facts.is_last):
        return (_UNCONFIRMED,)
    return ()


def decide_older(result: LookupResult, state: State) -> tuple[Consequence, ...]:
    """Give what follows where a message of an older generation was found: the newer one must not leave after it."""
    if state is not State.RETRY or result.status not in ARRIVED:
        return ()  # the claim asks once more, by all that the log says
    stopped = (codes.ARRIVED_BEFORE, Known.ACCEPTED, NextAction.CLOSE_DUPLICATE)
    return (Consequence(EntryKind.CONTRADICTED, State.NEEDS_REVIEW, *stopped),)


def confirm_s(kind: NotificationType | None, *, declares_receipts: bool) -> float | None:
    """Give in how many seconds an accepted message is asked about where no receipt comes; None: never."""
    return CONFIRM_S if kind is not None and kind.confirm and declares_receipts else None


def ask_again_s(asked_count: int) -> float | None:
    """Give the seconds until the next question, `asked_count` having proven nothing so far; None: no more."""
    return ASK_AGAIN_S[asked_count - 1] if 1 <= asked_count <= len(ASK_AGAIN_S) else None


def blocks_for(status: DeliveryStatus) -> str | None:
    """Give why the address must be left alone after this word of the provider; None where it need not."""
    if status is DeliveryStatus.COMPLAINED:
        return "complained"
    return "bounced" if status in (DeliveryStatus.BOUNCED, DeliveryStatus.SUPPRESSED) else None


def told_status(result: LookupResult, before: DeliveryStatus) -> DeliveryStatus:
    """Give what the answer says of the message's fate, beside what receipts have said before.

    A look-up does not say which kind of bounce it was, and a receipt does: its "for now" stays.
    """
    soft = result.status is DeliveryStatus.BOUNCED and before is DeliveryStatus.SOFT_BOUNCED
    return before if soft else result.status


def _freed(held: Held) -> Consequence:
    """Give back what a restore held: it stands as it stood, and nothing of the forgotten time is out."""
    return Consequence(
        EntryKind.FREED,
        State.RETRY if held.attempted else State.PENDING,
        held.code,
        held.known or (Known.UNKNOWN if held.ambiguous else Known.NOT_SENT),
        held.next_action,
        ambiguous=held.ambiguous,
    )


_CAME_BACK: Final = (Known.SOFT_BOUNCED, Known.INVALID)
_UNCONFIRMED: Final = Consequence(
    EntryKind.UNCONFIRMED, State.NEEDS_REVIEW, codes.NOT_CONFIRMED, Known.ACCEPTED, NextAction.ASK_LEAD
)


def _found(result: LookupResult, facts: EvidenceFacts) -> tuple[Consequence, ...]:
    if len(result.ids) > 1 or (facts.recorded is not None and facts.recorded not in result.ids):
        return _contradicted(codes.SECOND_MESSAGE, Known.ACCEPTED, facts)
    if facts.recorded is None and facts.id_taken:
        return _contradicted(codes.ID_OF_ANOTHER, Known.UNKNOWN, facts)
    status = told_status(result, facts.delivery_status)
    if facts.held is not None and facts.held.known in _CAME_BACK and status in BAD:
        # Nothing newer is known at the provider: it is the message that had come back before, and stands so again.
        return (Consequence(EntryKind.RECEIPT, State.NEEDS_REVIEW, *BAD[status], delivery_status=status),)
    entries = _as_a_receipt(result.ids[0], status, facts)
    if facts.state is State.ACCEPTED and facts.confirming and not entries:
        if status is not DeliveryStatus.DELIVERED:
            return (_UNCONFIRMED,)
        return (Consequence(EntryKind.RECEIPT, State.ACCEPTED, confirmed=True),)
    if facts.state is State.ACCEPTED and facts.confirming and status is DeliveryStatus.DEFERRED:
        return (*entries, _UNCONFIRMED)
    return entries


def _as_a_receipt(message_id: str, status: DeliveryStatus, facts: EvidenceFacts) -> tuple[Consequence, ...]:
    """Give what a receipt with these words would do: the same rules judge both."""
    asked = ReceiptFacts(
        says=status,
        quiet=True,
        message_id=message_id,
        generation=1,
        state=facts.state,
        current_generation=1,
        attempt_count=1,
        delivery_status=facts.delivery_status,
        known=facts.known,
        error_code=facts.error_code,
        accepted_id=facts.recorded,
        heard=True,  # the answer itself says so in the log
    )
    first = decide_receipt(asked)
    if first.kind is None:
        return ()
    if not first.goes_on:
        return (_consequence(first),)
    settled = replace(asked, state=State.ACCEPTED, known=None, error_code=None, accepted_id=message_id)
    return (_consequence(first), _consequence(decide_receipt(settled)))


def _consequence(decision: ReceiptDecision) -> Consequence:
    assert decision.kind is not None
    return Consequence(
        decision.kind,
        decision.to_state,
        decision.code,
        decision.known,
        decision.next_action,
        decision.message_id,
        decision.delivery_status,
        confirmed=decision.delivery_status is DeliveryStatus.DELIVERED,
    )


_STOPPED: Final = replace(_consequence(STOPPED), ambiguous=True)


def _contradicted(code: str, known: Known, facts: EvidenceFacts) -> tuple[Consequence, ...]:
    """Give the contradiction, once; what a person has ended stays ended."""
    if facts.state in FINAL or facts.state is State.SENDING or facts.error_code == code:
        return ()
    return (Consequence(EntryKind.CONTRADICTED, State.NEEDS_REVIEW, code, known, NextAction.ASK_LEAD),)
