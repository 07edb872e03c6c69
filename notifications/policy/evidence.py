"""What follows from a provider's answer to "did you get this?": facts in, entries to write out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from notifications.policy import codes
from notifications.providers.base import LookupResult
from notifications.states import DeliveryStatus, EntryKind, Found, Known, NextAction, State
from notifications.types import NotificationType

# After an answer that proves nothing: soon at first, since providers recover; then a person decides.
ASK_AGAIN_S: Final = (60.0, 300.0, 1800.0, 7200.0, 28_800.0)
# A receipt normally comes within minutes; a day without one is worth a question.
CONFIRM_S: Final = 86_400.0

_SEVERITY: Final = list(DeliveryStatus)
# What the provider's own word for a mail's fate means for its case.
_FATES: Final[dict[DeliveryStatus, tuple[str, Known, NextAction]]] = {
    DeliveryStatus.BOUNCED: (codes.BOUNCED, Known.BOUNCED, NextAction.CORRECT_ADDRESS),
    DeliveryStatus.COMPLAINED: (codes.COMPLAINED, Known.COMPLAINED, NextAction.ASK_LEAD),
    DeliveryStatus.SUPPRESSED: (codes.SUPPRESSED, Known.SUPPRESSED, NextAction.CORRECT_ADDRESS),
    DeliveryStatus.FAILED: (codes.FAILED, Known.INVALID, NextAction.FIX_CONFIG),
}


@dataclass(frozen=True, slots=True)
class EvidenceFacts:
    """What the decision needs of the intent, as it stands now.

    `recorded` is the provider's id that it has already. `confirming`: it was accepted long ago, and is asked about
    because no receipt came. `is_last`: it is not asked again by itself. `id_taken`: the id found is another intent's.
    """

    state: State
    delivery_status: DeliveryStatus = DeliveryStatus.NONE
    error_code: str | None = None
    recorded: str | None = None
    confirming: bool = False
    is_last: bool = False
    id_taken: bool = False


@dataclass(frozen=True, slots=True)
class Consequence:
    """One entry that follows the evidence. `confirmed` ends the wait for a receipt."""

    kind: EntryKind
    to_state: State | None = None
    code: str | None = None
    known: Known | None = None
    next_action: NextAction | None = None
    provider_message_id: str | None = None
    delivery_status: DeliveryStatus | None = None
    confirmed: bool = False


def decide_evidence(result: LookupResult, facts: EvidenceFacts) -> tuple[Consequence, ...]:
    """Give what is to be written after the evidence, in order; mostly nothing where nothing was proven."""
    if result.answer is Found.FOUND:
        return _found(result, facts)
    proven = result.answer is Found.NOT_FOUND
    if facts.state is State.ACCEPTED and facts.confirming and (proven or facts.is_last):
        return (_unconfirmed(facts),)
    return ()


def confirm_s(kind: NotificationType | None, *, declares_receipts: bool) -> float | None:
    """Give in how many seconds an accepted message is asked about where no receipt comes; None: never."""
    return CONFIRM_S if kind is not None and kind.confirm and declares_receipts else None


def ask_again_s(asked_count: int) -> float | None:
    """Give the seconds until the next question, `asked_count` having proven nothing so far; None: no more."""
    return ASK_AGAIN_S[asked_count - 1] if 1 <= asked_count <= len(ASK_AGAIN_S) else None


def _found(result: LookupResult, facts: EvidenceFacts) -> tuple[Consequence, ...]:
    status = result.status if _SEVERITY.index(result.status) > _SEVERITY.index(facts.delivery_status) else None
    if facts.state not in (State.RETRY, State.NEEDS_REVIEW, State.ACCEPTED):
        return ()
    if len(result.ids) > 1 or (facts.recorded is not None and facts.recorded not in result.ids):
        return (
            () if facts.error_code == codes.SECOND_MESSAGE else (_contradicted(codes.SECOND_MESSAGE, Known.ACCEPTED),)
        )
    if facts.recorded is None:
        if facts.id_taken:
            return (
                () if facts.error_code == codes.ID_OF_ANOTHER else (_contradicted(codes.ID_OF_ANOTHER, Known.UNKNOWN),)
            )
        return _settled(result.ids[0], status)
    if facts.state is State.ACCEPTED and facts.confirming:
        if result.status is DeliveryStatus.DELIVERED:
            return (Consequence(EntryKind.EVIDENCE, delivery_status=status, confirmed=True),)
        return (_unconfirmed(facts, status),)
    return ()


def _settled(message_id: str, status: DeliveryStatus | None) -> tuple[Consequence, ...]:
    """Give the acceptance, and what the provider says became of it where that is a case of its own."""
    good = Consequence(
        EntryKind.SETTLED,
        State.ACCEPTED,
        provider_message_id=message_id,
        delivery_status=None if status in _FATES else status,
        confirmed=status is DeliveryStatus.DELIVERED,
    )
    if status not in _FATES:
        return (good,)
    code, known, action = _FATES[status]
    return (good, Consequence(EntryKind.RECEIPT, State.NEEDS_REVIEW, code, known, action, delivery_status=status))


def _unconfirmed(facts: EvidenceFacts, status: DeliveryStatus | None = None) -> Consequence:
    usual = (codes.NOT_CONFIRMED, Known.ACCEPTED, NextAction.ASK_LEAD)
    code, known, action = _FATES.get(status or facts.delivery_status, usual)
    return Consequence(EntryKind.UNCONFIRMED, State.NEEDS_REVIEW, code, known, action, delivery_status=status)


def _contradicted(code: str, known: Known) -> Consequence:
    return Consequence(EntryKind.CONTRADICTED, State.NEEDS_REVIEW, code, known, NextAction.ASK_LEAD)
