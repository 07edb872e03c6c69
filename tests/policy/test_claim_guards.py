"""What stops a due intent before anything is sent."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from notifications.policy import codes
from notifications.policy.claim import PLAIN, Arrived, Block, ClaimFacts, decide_claim, decide_unprepared
from notifications.states import MOVES, EntryKind, Known, LossModel, NextAction, ResultClass, State, Who

FIRST = ClaimFacts(state=State.PENDING, loss_model=LossModel.AT_LEAST_ONCE, idempotent=True)
AGAIN = replace(FIRST, state=State.RETRY)
AMBIGUOUS = replace(AGAIN, ambiguous=True, window_left_s=60)


def test_what_nothing_forbids_is_sent() -> None:
    for facts in (FIRST, AGAIN, AMBIGUOUS):
        decision = decide_claim(facts)
        assert decision.sends
        assert (decision.to_state, decision.possible_duplicate) == (State.SENDING, False)


@pytest.mark.parametrize("state", [State.PENDING, State.RETRY])
@pytest.mark.parametrize("loss_model", LossModel)
@pytest.mark.parametrize("idempotent", [True, False])
def test_the_short_way_of_plain_intents_ends_where_the_long_one_does(state, loss_model, idempotent) -> None:
    assert decide_claim(ClaimFacts(state=state, loss_model=loss_model, idempotent=idempotent)) == PLAIN


@pytest.mark.parametrize("block", [Block.UNSUBSCRIBED, Block.OPTED_OUT])
def test_a_recipients_wish_cancels_and_an_ambiguous_attempt_makes_it_a_case(block: Block) -> None:
    decision = decide_claim(replace(FIRST, blocked_by=block))
    assert (decision.kind, decision.to_state, decision.error_code) == (EntryKind.BLOCKED, State.CANCELLED, block)
    decision = decide_claim(replace(AMBIGUOUS, blocked_by=block))
    assert (decision.to_state, decision.known) == (State.NEEDS_REVIEW, Known.UNKNOWN)
    assert decision.next_action is NextAction.QUERY_PROVIDER


@pytest.mark.parametrize(
    ("block", "action"), [(Block.BOUNCED, NextAction.CORRECT_ADDRESS), (Block.COMPLAINED, NextAction.ASK_LEAD)]
)
def test_a_dead_or_complaining_address_is_shown_to_a_person(block: Block, action: NextAction) -> None:
    decision = decide_claim(replace(FIRST, blocked_by=block))
    assert (decision.kind, decision.to_state) == (EntryKind.BLOCKED, State.NEEDS_REVIEW)
    assert (decision.known, decision.next_action) == (Known.NOT_SENT, action)


@pytest.mark.parametrize(
    ("changes", "code"), [({"expired": True}, codes.EXPIRED), ({"still_wanted": False}, codes.NO_LONGER_WANTED)]
)
def test_what_is_not_wanted_any_more_ends_and_an_ambiguous_attempt_makes_it_a_case(
    changes: dict[str, Any], code: str
) -> None:
    decision = decide_claim(replace(AGAIN, **changes))
    assert (decision.kind, decision.to_state, decision.error_code) == (EntryKind.EXPIRED, State.CANCELLED, code)
    decision = decide_claim(replace(AMBIGUOUS, **changes))
    assert (decision.to_state, decision.known) == (State.NEEDS_REVIEW, Known.UNKNOWN)


def test_what_a_person_ordered_does_not_end_by_what_the_application_says_since() -> None:
    ordered = replace(AGAIN, ordered=True, still_wanted=False, known=Known.INVALID)
    decision = decide_claim(ordered)
    assert (decision.kind, decision.to_state) == (EntryKind.EXPIRED, State.NEEDS_REVIEW)
    assert (decision.error_code, decision.known) == (codes.NO_LONGER_WANTED, Known.INVALID)
    assert decide_claim(replace(ordered, insisted=True)).sends
    assert decide_claim(replace(ordered, insisted=True, forced=True)).anew
    # Neither outweighs the recipient's wish, or a time that is over.
    for stop in ({"blocked_by": Block.UNSUBSCRIBED}, {"expired": True}):
        assert decide_claim(replace(ordered, insisted=True, **stop)).to_state is State.CANCELLED


@pytest.mark.parametrize("changes", [{"window_left_s": 0.0}, {"window_left_s": -5.0}, {"idempotent": False}])
def test_an_unprotected_repeat_is_not_sent_unless_the_type_says_so_whoever_ordered_it(changes: dict[str, Any]) -> None:
    over = replace(AMBIGUOUS, **changes)
    decision = decide_claim(over)
    assert (decision.kind, decision.to_state) == (EntryKind.WINDOW_OVER, State.NEEDS_REVIEW)
    assert (decision.error_code, decision.known) == (codes.WINDOW_OVER, Known.UNKNOWN)
    excused = decide_claim(replace(over, excused=True))
    assert (excused.sends, excused.possible_duplicate) == (True, False)
    allowed = replace(over, loss_model=LossModel.MUST_ARRIVE)
    assert decide_claim(allowed).sends
    assert decide_claim(allowed).possible_duplicate


def test_a_block_holds_against_a_persons_retry_too() -> None:
    assert not decide_claim(replace(AGAIN, excused=True, blocked_by=Block.UNSUBSCRIBED)).sends


def test_what_cannot_be_prepared_is_for_a_person() -> None:
    decision = decide_unprepared("invalid_recipient", ResultClass.RECIPIENT, ambiguous=False)
    assert (decision.kind, decision.to_state, decision.known) == (
        EntryKind.INVALID,
        State.NEEDS_REVIEW,
        Known.INVALID,
    )
    assert decision.next_action is NextAction.CORRECT_ADDRESS
    decision = decide_unprepared("invalid_data", ResultClass.FIX_CONFIG, ambiguous=True)
    assert (decision.next_action, decision.known) == (NextAction.QUERY_PROVIDER, Known.UNKNOWN)


@pytest.mark.parametrize(
    ("code", "action"),
    [
        ("invalid_data", NextAction.FIX_CONTENT),
        ("invalid_sender", NextAction.FIX_CONFIG),
        ("invalid_key", NextAction.ENQUEUE_ANEW),
        ("site_mode_changed", NextAction.RETRY_NEW_KEY),
        ("bytes_erased", NextAction.ASK_LEAD),
    ],
)
def test_what_is_suggested_is_what_mends_it(code: str, action: NextAction) -> None:
    assert decide_unprepared(code, ResultClass.FIX_CONFIG, ambiguous=False).next_action is action


def test_every_decision_is_a_move_of_the_table() -> None:
    flags = (False, True)
    for state, model, block in itertools.product((State.PENDING, State.RETRY), LossModel, (None, *Block)):
        for ambiguous, expired, wanted, excused, ordered in itertools.product(flags, repeat=5):
            facts = ClaimFacts(
                state,
                model,
                idempotent=True,
                ambiguous=ambiguous,
                window_left_s=-1 if ambiguous else None,
                expired=expired,
                blocked_by=block,
                still_wanted=wanted,
                excused=excused,
                ordered=ordered,
            )
            decision = decide_claim(facts)
            moves = {(move.kind, move.from_state, move.to_state) for move in MOVES if move.who is Who.WORKER}
            assert (decision.kind, state, decision.to_state) in moves
            if decision.to_state is State.NEEDS_REVIEW:
                assert decision.error_code
                assert decision.known
                assert decision.next_action


@pytest.mark.parametrize(
    ("facts", "code", "known"),
    [
        (replace(AGAIN, arrived=Arrived.OWN), codes.ARRIVED_BEFORE, Known.ACCEPTED),
        (replace(FIRST, arrived=Arrived.ELSEWHERE), codes.ARRIVED_BEFORE, Known.NOT_SENT),
        (replace(AMBIGUOUS, arrived=Arrived.ELSEWHERE), codes.ARRIVED_BEFORE, Known.UNKNOWN),
        (replace(AGAIN, overdue=True), codes.ORDER_OVERDUE, Known.NOT_SENT),
    ],
)
def test_what_the_recipient_has_and_an_order_that_grew_old_stop_for_a_person(
    facts: ClaimFacts, code: str, known: Known
) -> None:
    for model in LossModel:
        decision = decide_claim(replace(facts, loss_model=model, forced=True))
        assert (decision.kind, decision.to_state) == (EntryKind.BLOCKED, State.NEEDS_REVIEW)
        assert (decision.error_code, decision.known) == (code, known)
    assert decide_claim(replace(facts, blocked_by=Block.OPTED_OUT)).error_code == Block.OPTED_OUT
