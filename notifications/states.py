"""The words of delivery: states, entries, outcomes, and every legal move between states.

This file imports nothing of ours, so that every layer may speak its words. The table `MOVES` is copied into the
database by a migration and printed in docs/state-machine.md; tests compare the three.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
    RATE_LIMITED = "rate_limited"
    QUOTA = "quota"
    FIX_CONFIG = "fix_config"
    RECIPIENT = "recipient"
    RECIPIENT_SOFT = "recipient_soft"
    CONFLICT = "conflict"


class Phase(StrEnum):
    """How far one call got."""

    NOT_CONNECTED = "not_connected"
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
    FIX_CONFIG = "fix_config"
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
    CLAIMED = "claimed"
    RESULT = "result"
    LATE = "late"
    SETTLED = "settled"
    LEASE_LOST = "lease_lost"
    WINDOW_OVER = "window_over"
    EXPIRED = "expired"
    RECEIPT = "receipt"
    UNCONFIRMED = "unconfirmed"
    EVIDENCE = "evidence"
    RETRIED = "retried"
    UNDONE = "undone"
    RE_PREPARED = "re_prepared"
    ADOPTED = "adopted"
    SNOOZED = "snoozed"
    RESUMED = "resumed"
    CLOSED = "closed"
    REOPENED = "reopened"
    WITHDRAWN = "withdrawn"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Move:
    """One row of MOVES: an entry of `kind`, written by `who`, takes an intent from one state to another.

    `to_state` equal to `from_state` means that the entry states a fact and moves nothing.
    """

    kind: EntryKind
    from_state: State
    to_state: State
    who: Who


def _moves() -> tuple[Move, ...]:
    kind, state, who = EntryKind, State, Who
    table: list[tuple[EntryKind, set[State], set[State], set[Who]]] = [
        (kind.HELD, {state.PENDING}, {state.NEEDS_REVIEW}, {who.INTAKE}),
        (kind.RELEASED, {state.NEEDS_REVIEW}, {state.PENDING}, {who.PERSON}),
        (kind.INVALID, {state.PENDING, state.RETRY}, {state.NEEDS_REVIEW}, {who.WORKER}),
        (kind.BLOCKED, {state.PENDING, state.RETRY}, {state.CANCELLED, state.NEEDS_REVIEW}, {who.WORKER}),
        (kind.CLAIMED, {state.PENDING, state.RETRY}, {state.SENDING}, {who.WORKER}),
        (kind.RESULT, {state.SENDING}, {state.ACCEPTED, state.RETRY, state.NEEDS_REVIEW}, {who.WORKER}),
        (kind.SETTLED, {state.RETRY, state.NEEDS_REVIEW}, {state.ACCEPTED}, {who.WORKER, who.RECEIPT}),
        (kind.LEASE_LOST, {state.SENDING}, {state.RETRY, state.NEEDS_REVIEW}, {who.WORKER}),
        (kind.WINDOW_OVER, {state.RETRY}, {state.NEEDS_REVIEW}, {who.WORKER}),
        (kind.EXPIRED, {state.PENDING, state.RETRY}, {state.CANCELLED, state.NEEDS_REVIEW}, {who.WORKER}),
        (kind.RECEIPT, {state.ACCEPTED}, {state.ACCEPTED, state.NEEDS_REVIEW}, {who.RECEIPT}),
        (kind.UNCONFIRMED, {state.ACCEPTED}, {state.NEEDS_REVIEW}, {who.WORKER}),
        (kind.RETRIED, {state.NEEDS_REVIEW}, {state.RETRY}, {who.PERSON}),
        (kind.UNDONE, {state.RETRY}, {state.NEEDS_REVIEW}, {who.PERSON}),
        (kind.ADOPTED, {state.NEEDS_REVIEW}, {state.ACCEPTED}, {who.PERSON}),
        (
            kind.CLOSED,
            {state.PENDING, state.RETRY, state.ACCEPTED, state.NEEDS_REVIEW},
            {state.CLOSED},
            {who.PERSON},
        ),
        (kind.REOPENED, {state.CLOSED, state.ACCEPTED}, {state.NEEDS_REVIEW}, {who.PERSON}),
        (
            kind.WITHDRAWN,
            {state.PENDING, state.RETRY, state.NEEDS_REVIEW},
            {state.CANCELLED},
            {who.PERSON, who.INTAKE},
        ),
        (kind.SUPERSEDED, {state.PENDING, state.RETRY}, {state.CANCELLED}, {who.INTAKE}),
    ]
    moves = [
        Move(entry, from_state, to_state, by)
        for entry, from_states, to_states, writers in table
        for from_state in sorted(from_states)
        for to_state in sorted(to_states)
        for by in sorted(writers)
    ]
    facts: list[tuple[EntryKind, set[State], set[Who]]] = [
        (kind.LATE, set(State), {who.WORKER}),
        (kind.RECEIPT, {state.NEEDS_REVIEW, state.CLOSED, state.CANCELLED}, {who.RECEIPT}),
        (kind.EVIDENCE, set(State), {who.WORKER, who.PERSON}),
        (kind.RE_PREPARED, {state.PENDING, state.RETRY}, {who.WORKER}),
        (kind.SNOOZED, {state.NEEDS_REVIEW}, {who.PERSON}),
        (kind.RESUMED, {state.NEEDS_REVIEW}, {who.PERSON}),
    ]
    moves += [
        Move(entry, here, here, by)
        for entry, heres, writers in facts
        for here in sorted(heres)
        for by in sorted(writers)
    ]
    return tuple(moves)


MOVES = _moves()
