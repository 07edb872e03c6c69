"""The words of delivery: states, entries, outcomes, and every legal move between states.

It imports nothing of ours, so that every layer may speak them. Tests compare `MOVES` with the database and the docs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product


class State(StrEnum):
    """Where an intent stands."""

    PENDING = "pending"
    SENDING = "sending"
    RETRY = "retry"
    ACCEPTED = "accepted"
    NEEDS_REVIEW = "needs_review"
    CLOSED = "closed"
    CANCELLED = "cancelled"


CLAIMABLE = frozenset({State.PENDING, State.RETRY})
OPEN = frozenset({State.PENDING, State.RETRY, State.SENDING, State.NEEDS_REVIEW})
FINAL = frozenset({State.CLOSED, State.CANCELLED})


class Outcome(StrEnum):
    """What is true about one call to a provider."""

    ACCEPTED = "accepted"
    NOT_SENT = "not_sent"
    UNKNOWN = "unknown"
    IN_FLIGHT = "in_flight"
    CONFLICT = "conflict"
    REJECTED = "rejected"


class ResultClass(StrEnum):
    """What kind of answer it was, and so what may be done next (the classes of the classification tables)."""

    ACCEPTED = "accepted"
    RETRYABLE = "retryable"
    UNKNOWN = "unknown"
    UNKNOWN_STOP = "unknown_stop"
    IN_FLIGHT = "in_flight"
    GIVEN_BACK = "given_back"
    RATE_LIMITED = "rate_limited"
    QUOTA = "quota"
    FIX_CONFIG = "fix_config"
    CONTENT = "content"  # the message itself was refused, and says nothing of its account
    RECIPIENT = "recipient"
    RECIPIENT_SOFT = "recipient_soft"
    CONFLICT = "conflict"


class Found(StrEnum):
    """What a provider answered when it was asked "did you get this?"; only the first two prove anything."""

    FOUND = "found"
    NOT_FOUND = "not_found"
    INCONCLUSIVE = "inconclusive"
    UNAVAILABLE = "unavailable"


class Phase(StrEnum):
    """How far one call got."""

    NOT_CONNECTED = "not_connected"
    ENVELOPE = "envelope"  # connected, and the message itself was not handed over
    REQUEST_WRITTEN = "request_written"
    ANSWER_READ = "answer_read"


class DeliveryStatus(StrEnum):
    """What receipts have said so far, in rising severity; never by arrival."""

    NONE = "none"
    DEFERRED = "deferred"
    DELIVERED = "delivered"
    SOFT_BOUNCED = "soft_bounced"
    FAILED = "failed"
    SUPPRESSED = "suppressed"
    BOUNCED = "bounced"
    COMPLAINED = "complained"


class LossModel(StrEnum):
    """Which error costs more: a message that comes twice, or one that never comes."""

    AT_LEAST_ONCE = "at_least_once"
    NEVER_TWICE = "never_twice"
    MUST_ARRIVE = "must_arrive"


class Known(StrEnum):
    """What is proven about a message that a person must decide on."""

    NOT_SENT = "not_sent"
    UNKNOWN = "unknown"
    ACCEPTED = "accepted"
    CONFLICT = "conflict"
    BOUNCED = "bounced"
    SOFT_BOUNCED = "soft_bounced"
    COMPLAINED = "complained"
    SUPPRESSED = "suppressed"
    INVALID = "invalid"
    AWAITING_APPROVAL = "awaiting_approval"


class NextAction(StrEnum):
    """The verb that the queue suggests to the operator."""

    QUERY_PROVIDER = "query_provider"
    RETRY_SAME_KEY = "retry_same_key"
    RETRY_NEW_KEY = "retry_new_key"  # nothing of the old generation was or will be delivered
    FIX_CONFIG = "fix_config"  # of the provider account
    FIX_CONTENT = "fix_content"  # the template; the data stays as it was given
    FIND_CAUSE = "find_cause"  # nobody said what is wrong
    ENQUEUE_ANEW = "enqueue_anew"  # no retry can help
    CORRECT_ADDRESS = "correct_address"
    WAIT_FOR_EVENT = "wait_for_event"
    CLOSE_DUPLICATE = "close_duplicate"
    APPROVE = "approve"
    ASK_LEAD = "ask_lead"


class Approval(StrEnum):
    """Whether a person must release a type's notifications before the first attempt."""

    NONE = "none"
    REQUIRED = "required"


class Priority(StrEnum):
    """The caller's hurry; lower classes get every eighth place."""

    URGENT = "urgent"
    NORMAL = "normal"
    BULK = "bulk"


class Trigger(StrEnum):
    """Who caused an entry: the machine by its rules, or a person."""

    AUTO = "auto"
    MANUAL = "manual"


class Who(StrEnum):
    """Which door-keeper may write an entry; database roles are bound to these."""

    WORKER = "worker"
    PERSON = "person"
    RECEIPT = "receipt"
    INTAKE = "intake"


class EntryKind(StrEnum):
    """What a log entry says happened."""

    HELD = "held"
    RELEASED = "released"
    INVALID = "invalid"
    BLOCKED = "blocked"
    FETCHING = "fetching"
    FETCHED = "fetched"
    CLAIMED = "claimed"
    RESULT = "result"
    LATE = "late"
    SETTLED = "settled"
    LEASE_LOST = "lease_lost"
    WINDOW_OVER = "window_over"
    EXPIRED = "expired"
    RECEIPT = "receipt"
    UNCONFIRMED = "unconfirmed"
    CONTRADICTED = "contradicted"
    EVIDENCE = "evidence"
    RESTORED = "restored"
    FREED = "freed"
    RETRIED = "retried"
    UNDONE = "undone"
    RE_PREPARED = "re_prepared"
    FAILED_OVER = "failed_over"
    ADOPTED = "adopted"
    RESEND_ASKED = "resend_asked"
    RESEND_DROPPED = "resend_dropped"
    SNOOZED = "snoozed"
    RESUMED = "resumed"
    CLOSED = "closed"
    REOPENED = "reopened"
    WITHDRAWN = "withdrawn"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Move:
    """One row of MOVES: an entry of `kind` by `who` moves an intent; to the state where it is, it states a fact."""

    kind: EntryKind
    from_state: State
    to_state: State
    who: Who


_TAKEN_OUT = (EntryKind.BLOCKED, EntryKind.EXPIRED)
_AS_IT_WAITS = (EntryKind.FETCHING, EntryKind.FETCHED, EntryKind.RE_PREPARED, EntryKind.FAILED_OVER)
_ON_A_CASE = (EntryKind.RESEND_ASKED, EntryKind.RESEND_DROPPED, EntryKind.SNOOZED, EntryKind.RESUMED)
_MOVING: dict[EntryKind, tuple[set[State], set[State], set[Who]]] = {  # from any of these, to any of these, by any
    EntryKind.HELD: ({State.PENDING}, {State.NEEDS_REVIEW}, {Who.INTAKE}),
    EntryKind.RELEASED: ({State.NEEDS_REVIEW}, {State.PENDING}, {Who.PERSON}),
    **dict.fromkeys((EntryKind.INVALID, EntryKind.RESTORED), (set(CLAIMABLE), {State.NEEDS_REVIEW}, {Who.WORKER})),
    **dict.fromkeys(_TAKEN_OUT, (set(CLAIMABLE), {State.CANCELLED, State.NEEDS_REVIEW}, {Who.WORKER})),
    EntryKind.CLAIMED: ({State.PENDING, State.RETRY}, {State.SENDING}, {Who.WORKER}),
    EntryKind.RESULT: ({State.SENDING}, {State.ACCEPTED, State.RETRY, State.NEEDS_REVIEW}, {Who.WORKER}),
    EntryKind.SETTLED: ({State.RETRY, State.NEEDS_REVIEW}, {State.ACCEPTED}, {Who.WORKER, Who.RECEIPT}),
    EntryKind.LEASE_LOST: ({State.SENDING}, {State.RETRY, State.NEEDS_REVIEW}, {Who.WORKER}),
    EntryKind.WINDOW_OVER: ({State.RETRY}, {State.NEEDS_REVIEW}, {Who.WORKER}),
    EntryKind.RECEIPT: ({State.ACCEPTED}, {State.ACCEPTED, State.NEEDS_REVIEW}, {Who.RECEIPT}),
    EntryKind.UNCONFIRMED: ({State.ACCEPTED}, {State.NEEDS_REVIEW}, {Who.WORKER}),
    EntryKind.CONTRADICTED: ({State.RETRY, State.ACCEPTED}, {State.NEEDS_REVIEW}, {Who.WORKER, Who.RECEIPT}),
    EntryKind.FREED: ({State.NEEDS_REVIEW}, {State.PENDING, State.RETRY}, {Who.WORKER}),
    EntryKind.RETRIED: ({State.NEEDS_REVIEW}, {State.RETRY}, {Who.PERSON}),
    EntryKind.UNDONE: ({State.RETRY}, {State.NEEDS_REVIEW}, {Who.PERSON}),
    EntryKind.ADOPTED: ({State.NEEDS_REVIEW}, {State.ACCEPTED}, {Who.PERSON}),
    EntryKind.CLOSED: (set(State) - FINAL - {State.SENDING}, {State.CLOSED}, {Who.PERSON}),
    EntryKind.REOPENED: ({State.CLOSED, State.ACCEPTED}, {State.NEEDS_REVIEW}, {Who.PERSON}),
    EntryKind.WITHDRAWN: (set(OPEN - {State.SENDING}), {State.CANCELLED}, {Who.PERSON, Who.INTAKE}),
    EntryKind.SUPERSEDED: ({State.PENDING, State.RETRY, State.NEEDS_REVIEW}, {State.CANCELLED}, {Who.INTAKE}),
}
_STATING: dict[EntryKind, tuple[set[State], set[Who]]] = {  # in any of these, by any of these; it stays where it is
    **dict.fromkeys((EntryKind.LATE, EntryKind.EVIDENCE), (set(State), {Who.WORKER})),
    EntryKind.RECEIPT: ({State.NEEDS_REVIEW, State.CLOSED, State.CANCELLED}, {Who.RECEIPT}),
    EntryKind.CONTRADICTED: ({State.NEEDS_REVIEW}, {Who.WORKER, Who.RECEIPT}),
    **dict.fromkeys(_AS_IT_WAITS, (set(CLAIMABLE), {Who.WORKER})),
    **dict.fromkeys(_ON_A_CASE, ({State.NEEDS_REVIEW}, {Who.PERSON})),
}


def _moves() -> Iterator[Move]:
    for kind, (from_states, to_states, writers) in _MOVING.items():
        yield from (Move(kind, *way) for way in product(sorted(from_states), sorted(to_states), sorted(writers)))
    for kind, (heres, writers) in _STATING.items():
        yield from (Move(kind, here, here, by) for here, by in product(sorted(heres), sorted(writers)))


MOVES = tuple(_moves())
