"""What is to be done with a due intent before anything is sent: send it, or stop it, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from notifications.policy import codes
from notifications.states import EntryKind, Known, LossModel, NextAction, ResultClass, State


class Block(StrEnum):
    """Why nothing may be sent to an address; kept by receipts and preferences."""

    UNSUBSCRIBED = codes.UNSUBSCRIBED
    OPTED_OUT = codes.OPTED_OUT
    BOUNCED = codes.ADDRESS_BOUNCED
    COMPLAINED = codes.ADDRESS_COMPLAINED


# A person's own wish ends the matter; a dead or complaining address is a fact that a person should see.
_WISHES = frozenset({Block.UNSUBSCRIBED, Block.OPTED_OUT})


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """What the guards need of a due intent.

    `state` is PENDING or RETRY. `ambiguous`: some attempt may have been accepted. `window_left_s` as in
    AttemptFacts. `excused`: a person ordered this attempt past the window, on fresh evidence that nothing arrived.
    `still_wanted` is the application's answer where it was asked. `known` is what was proven of the generation so far.
    """

    state: State
    loss_model: LossModel
    idempotent: bool
    ambiguous: bool = False
    window_left_s: float | None = None
    expired: bool = False
    blocked_by: Block | None = None
    still_wanted: bool = True
    known: Known | None = None
    excused: bool = False


@dataclass(frozen=True, slots=True)
class ClaimDecision:
    """The entry to append: `claimed` means send; any other kind stops the intent and says why."""

    kind: EntryKind
    to_state: State
    error_code: str | None = None
    known: Known | None = None
    next_action: NextAction | None = None
    possible_duplicate: bool = False

    @property
    def sends(self) -> bool:
        """Whether the intent may be prepared and sent."""
        return self.kind is EntryKind.CLAIMED


# What `decide_claim` gives where nothing at all speaks against sending.
PLAIN = ClaimDecision(EntryKind.CLAIMED, State.SENDING)


def decide_claim(facts: ClaimFacts) -> ClaimDecision:
    """Decide on a due intent. The recipient's wish comes before the business's, and both before our own limits."""
    if facts.blocked_by is not None:
        return _blocked(facts.blocked_by, facts)
    if facts.expired:
        return _ended(codes.EXPIRED, facts)
    if not facts.still_wanted:
        return _ended(codes.NO_LONGER_WANTED, facts)
    # Also where a person ordered the attempt: the window that protected it then may be over by now.
    unprotected = facts.ambiguous and not facts.excused and not _key_protects(facts)
    if unprotected and facts.state is State.RETRY and facts.loss_model is not LossModel.MUST_ARRIVE:
        return ClaimDecision(
            EntryKind.WINDOW_OVER,
            State.NEEDS_REVIEW,
            codes.WINDOW_OVER,
            Known.UNKNOWN,
            NextAction.QUERY_PROVIDER,
        )
    return ClaimDecision(EntryKind.CLAIMED, State.SENDING, possible_duplicate=unprotected)


def decide_unprepared(code: str, result_class: ResultClass, *, ambiguous: bool) -> ClaimDecision:
    """Decide on an intent that could not be turned into bytes; `code` is Unsendable's, or `invalid_data`."""
    return ClaimDecision(
        EntryKind.INVALID,
        State.NEEDS_REVIEW,
        code,
        Known.UNKNOWN if ambiguous else Known.INVALID,
        NextAction.CORRECT_ADDRESS if result_class is ResultClass.RECIPIENT else NextAction.FIX_CONFIG,
    )


def _key_protects(facts: ClaimFacts) -> bool:
    return facts.idempotent and (facts.window_left_s is None or facts.window_left_s > 0)


def _blocked(block: Block, facts: ClaimFacts) -> ClaimDecision:
    if block in _WISHES and not facts.ambiguous:
        return ClaimDecision(EntryKind.BLOCKED, State.CANCELLED, block.value, _still_known(facts))
    if facts.ambiguous:
        action = NextAction.QUERY_PROVIDER
    else:
        action = NextAction.CORRECT_ADDRESS if block is Block.BOUNCED else NextAction.ASK_LEAD
    known = Known.UNKNOWN if facts.ambiguous else _still_known(facts)
    return ClaimDecision(EntryKind.BLOCKED, State.NEEDS_REVIEW, block.value, known, action)


def _ended(code: str, facts: ClaimFacts) -> ClaimDecision:
    """End what is not wanted any more; a person decides where the message may already be out."""
    if facts.ambiguous:
        return ClaimDecision(EntryKind.EXPIRED, State.NEEDS_REVIEW, code, Known.UNKNOWN, NextAction.QUERY_PROVIDER)
    return ClaimDecision(EntryKind.EXPIRED, State.CANCELLED, code, _still_known(facts))


def _still_known(facts: ClaimFacts) -> Known:
    """Keep that the generation's message was refused or came back: the next one must be a new generation."""
    return facts.known if facts.known in (Known.INVALID, Known.SOFT_BOUNCED) else Known.NOT_SENT
