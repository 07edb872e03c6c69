"""What is to be done with a due intent before anything is sent: send it, or stop it, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from notifications.policy import causes, codes
from notifications.states import EntryKind, Known, LossModel, NextAction, ResultClass, State


class Block(StrEnum):
    """Why nothing may be sent to an address; kept by receipts and preferences."""

    UNSUBSCRIBED = codes.UNSUBSCRIBED
    OPTED_OUT = codes.OPTED_OUT
    BOUNCED = codes.ADDRESS_BOUNCED
    COMPLAINED = codes.ADDRESS_COMPLAINED
    GONE = codes.ADDRESS_GONE


# A person's own wish ends the matter; a dead or complaining address is a fact that a person should see.
_WISHES = frozenset({Block.UNSUBSCRIBED, Block.OPTED_OUT})


class Arrived(StrEnum):
    """Which earlier message the recipient has: this notification's own, or one of the same key to another address."""

    OWN = "own"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """What the guards need of a due intent.

    `state` is PENDING or RETRY. `ambiguous`: some attempt may have been accepted. `window_left_s` as in
    AttemptFacts. `excused`: a person ordered this attempt past the window, on fresh evidence that nothing arrived.
    `forced`: two persons ordered a new generation although the old one may have arrived.
    `arrived`: the recipient has an earlier message of this notification, and no two persons overruled that.
    `doubted`: one that was given up may be out. `overdue`: so it is, and no order of two persons for this generation
    is younger than half an hour. `still_wanted` is the application's answer where it was asked. `known` is what was
    proven of the generation so far. `ordered`: a person ordered this attempt. `insisted`: and has outweighed the
    application's no with a text that says why.
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
    forced: bool = False
    arrived: Arrived | None = None
    doubted: bool = False
    overdue: bool = False
    ordered: bool = False
    insisted: bool = False


@dataclass(frozen=True, slots=True)
class ClaimDecision:
    """The entry to append: `claimed` means send; any other kind stops the intent and says why.

    `anew`: as a new generation, although the old one is not proven to be lost.
    """

    kind: EntryKind
    to_state: State
    error_code: str | None = None
    known: Known | None = None
    next_action: NextAction | None = None
    possible_duplicate: bool = False
    anew: bool = False

    @property
    def sends(self) -> bool:
        """Whether the intent may be prepared and sent."""
        return self.kind is EntryKind.CLAIMED


# What a person's retry prepares anew: nothing of the old bytes was or will be delivered.
_ANEW = frozenset({Known.INVALID, Known.SOFT_BOUNCED})


def is_prepared_anew(known: str | None, *, ambiguous: bool, unusable: bool) -> bool:
    """Say whether a person's retry makes new bytes under a new key.

    `unusable`: the old bytes belong to another site mode, or were erased, so that new ones are made as soon as nothing
    was accepted. Where something may have been, they cannot, and the retry is refused.
    """
    return not ambiguous and (known in _ANEW or (unusable and known == Known.NOT_SENT))


def still_doubted(known: str | None) -> Known:
    """Give what is known of what a restore holds: what came back before is no doubt, and adopting it would be false."""
    return Known(known) if known in _ANEW else Known.UNKNOWN


# What `decide_claim` gives where nothing at all speaks against sending.
PLAIN = ClaimDecision(EntryKind.CLAIMED, State.SENDING)


def decide_claim(facts: ClaimFacts) -> ClaimDecision:
    """Decide on a due intent. The recipient's wish comes before the business's, and both before our own limits."""
    if facts.blocked_by is not None:
        return _blocked(facts.blocked_by, facts)
    if facts.expired:
        return _ended(codes.EXPIRED, facts)
    if not facts.still_wanted and not facts.insisted:
        return _ended(codes.NO_LONGER_WANTED, facts)
    if facts.arrived is not None or facts.overdue:
        return _not_again(facts)
    if facts.forced:
        return ClaimDecision(EntryKind.CLAIMED, State.SENDING, possible_duplicate=True, anew=True)
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
    return ClaimDecision(EntryKind.CLAIMED, State.SENDING, possible_duplicate=unprotected or facts.doubted)


def decide_unprepared(code: str, result_class: ResultClass, *, ambiguous: bool) -> ClaimDecision:
    """Decide on an intent that could not be turned into bytes; `code` is Unsendable's, or `invalid_data`."""
    if ambiguous:
        # The provider of another mode cannot be asked from here: only the setting brings its answer.
        is_asked = code != codes.SITE_MODE_CHANGED
        known, action = Known.UNKNOWN, NextAction.QUERY_PROVIDER if is_asked else NextAction.FIX_CONFIG
    else:
        usual = NextAction.CORRECT_ADDRESS if result_class is ResultClass.RECIPIENT else causes.action_of(code)
        # Of erased bytes somebody must say what was in them.
        known, action = Known.INVALID, NextAction.ASK_LEAD if code == codes.BYTES_ERASED else usual
    return ClaimDecision(EntryKind.INVALID, State.NEEDS_REVIEW, code, known, action)


def _key_protects(facts: ClaimFacts) -> bool:
    return facts.idempotent and (facts.window_left_s is None or facts.window_left_s > 0)


def _blocked(block: Block, facts: ClaimFacts) -> ClaimDecision:
    may_be_out = facts.ambiguous or facts.doubted
    if block in _WISHES and not may_be_out:
        return ClaimDecision(EntryKind.BLOCKED, State.CANCELLED, block.value, _still_known(facts))
    if may_be_out:
        known, action = _in_doubt(facts)
    else:
        known = _still_known(facts)
        action = NextAction.CORRECT_ADDRESS if block in (Block.BOUNCED, Block.GONE) else NextAction.ASK_LEAD
    return ClaimDecision(EntryKind.BLOCKED, State.NEEDS_REVIEW, block.value, known, action)


def _in_doubt(facts: ClaimFacts) -> tuple[Known, NextAction]:
    """Give what is known where a message may be out; the provider is asked about the present generation alone."""
    return Known.UNKNOWN, NextAction.QUERY_PROVIDER if facts.ambiguous else NextAction.ASK_LEAD


def _not_again(facts: ClaimFacts) -> ClaimDecision:
    """Stop what would be a second message, or what two persons ordered too long ago to be carried out unseen."""
    if facts.arrived is Arrived.OWN:
        known, action = Known.ACCEPTED, NextAction.CLOSE_DUPLICATE
    else:
        known = Known.UNKNOWN if facts.ambiguous else _still_known(facts)
        action = NextAction.ASK_LEAD if facts.arrived is None else NextAction.CLOSE_DUPLICATE
    code = codes.ORDER_OVERDUE if facts.arrived is None else codes.ARRIVED_BEFORE
    return ClaimDecision(EntryKind.BLOCKED, State.NEEDS_REVIEW, code, known, action)


def _ended(code: str, facts: ClaimFacts) -> ClaimDecision:
    """End what is not wanted any more; a person decides where the message may already be out.

    What a person ordered never ends so in silence: what the application says since goes back to the queue.
    """
    if facts.ambiguous or facts.doubted:
        return ClaimDecision(EntryKind.EXPIRED, State.NEEDS_REVIEW, code, *_in_doubt(facts))
    if facts.ordered and code == codes.NO_LONGER_WANTED:
        return ClaimDecision(EntryKind.EXPIRED, State.NEEDS_REVIEW, code, _still_known(facts), NextAction.ASK_LEAD)
    return ClaimDecision(EntryKind.EXPIRED, State.CANCELLED, code, _still_known(facts))


def _still_known(facts: ClaimFacts) -> Known:
    """Keep that the generation's message was refused or came back: the next one must be a new generation."""
    return facts.known if facts.known in (Known.INVALID, Known.SOFT_BOUNCED) else Known.NOT_SENT
