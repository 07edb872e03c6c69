"""The rules of receipts over every state and word: nothing good is lost, nothing bad is hidden, nothing moves back."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from notifications.policy import codes
from notifications.policy.receipt import (
    ARRIVED,
    FORGOTTEN,
    ON_ITS_WAY,
    STOPPED,
    WAIT,
    ReceiptFacts,
    decide_receipt,
    merged,
)
from notifications.states import MOVES, DeliveryStatus, EntryKind, Known, Move, State, Who

LAWFUL = {move for move in MOVES if move.who is Who.RECEIPT or move.kind is EntryKind.RESTORED}
PLAIN = ReceiptFacts(
    says=DeliveryStatus.DELIVERED,
    quiet=False,
    message_id="m1",
    generation=1,
    state=State.ACCEPTED,
    current_generation=1,
    attempt_count=1,
    delivery_status=DeliveryStatus.NONE,
    known=None,
    error_code=None,
    accepted_id="m1",
)


def every_case() -> list[ReceiptFacts]:
    """Give every state × word × earlier word × generation × knowledge of the id × quietness."""
    return [
        replace(
            PLAIN, state=state, says=says, delivery_status=before, generation=generation, accepted_id=known_id,
            quiet=quiet, current_generation=2, given_up=given_up,
            known=Known.UNKNOWN if state is State.NEEDS_REVIEW else None,
        )
        for state, says, before, generation, known_id, quiet, given_up in itertools.product(
            State, DeliveryStatus, DeliveryStatus, (None, 1, 2, 3), (None, "m1", "m2"), (True, False), (True, False)
        )
    ]  # fmt: skip


def test_every_entry_is_a_lawful_move_of_the_receipts_role() -> None:
    for facts in every_case():
        found = decide_receipt(facts)
        if found.kind is not None:
            assert found.to_state is not None
            # What a restore lets be owed again is held as the recovery holds it: the appliers' login is a worker too.
            by = Who.WORKER if found is STOPPED else Who.RECEIPT
            assert Move(found.kind, facts.state, found.to_state, by) in LAWFUL, facts


def test_the_status_only_ever_rises() -> None:
    place = list(DeliveryStatus).index
    for facts in every_case():
        found = decide_receipt(facts)
        if found.delivery_status is not None:
            assert place(found.delivery_status) >= place(facts.delivery_status)


def test_another_generation_changes_nothing_of_this_one_but_stops_it_where_the_old_one_arrived() -> None:
    stopped = 0
    for facts in every_case():
        found = decide_receipt(facts)
        if facts.generation == facts.current_generation:
            continue
        assert (found.delivery_status, found.message_id) == (None, None)
        if found in (FORGOTTEN, STOPPED):
            continue
        if found.kind is EntryKind.CONTRADICTED:
            assert facts.generation is not None
            assert facts.generation < facts.current_generation
            is_out = facts.says in ARRIVED or (facts.given_up and facts.says in ON_ITS_WAY)
            assert (facts.state, is_out) == (State.RETRY, True)
            stopped += 1
            continue
        assert (found.to_state or facts.state) is facts.state
        assert (found.code, found.known) == (None, None)
    assert stopped


def test_a_generation_that_a_restore_has_forgotten_stops_what_may_be_sent_once_more_whatever_is_said_of_it() -> None:
    for one, code in itertools.product(every_case(), (None, codes.FORGOTTEN_MESSAGE)):
        facts = replace(one, error_code=code)
        found = decide_receipt(facts)
        is_beyond = facts.generation is not None and facts.generation > facts.current_generation
        stops = is_beyond and (
            facts.state is State.RETRY
            or (facts.state is State.NEEDS_REVIEW and facts.error_code != codes.FORGOTTEN_MESSAGE)
        )
        assert (found is FORGOTTEN) is stops, facts
        assert (found is STOPPED) is (is_beyond and facts.state is State.PENDING), facts
        if is_beyond:
            assert (found is WAIT) is (facts.state is State.SENDING), facts


def test_what_was_never_sent_here_and_is_out_stops_whatever_is_said_of_it() -> None:
    """No state in which it may be claimed lets it wait: the next claim would send it a second time."""
    for one in every_case():
        facts = replace(one, attempt_count=0, accepted_id=None, generation=one.current_generation)
        is_owed = facts.state in (State.PENDING, State.RETRY)
        for said in (facts, replace(facts, message_id=None)):
            assert (decide_receipt(said) is STOPPED) is is_owed, said


def test_a_case_for_a_person_always_says_why() -> None:
    for facts in every_case():
        found = decide_receipt(facts)
        if found.to_state is State.NEEDS_REVIEW and facts.state is not State.NEEDS_REVIEW:
            assert None not in (found.code, found.known, found.next_action), facts


def test_every_bad_word_that_is_new_reaches_a_person() -> None:
    bad = list(DeliveryStatus)[3:]
    assert bad[0] is DeliveryStatus.SOFT_BOUNCED
    for says in bad:
        assert decide_receipt(replace(PLAIN, says=says)).to_state is State.NEEDS_REVIEW
        assert decide_receipt(replace(PLAIN, says=says, delivery_status=says)).to_state is State.ACCEPTED


def test_of_two_words_the_graver_stays_whichever_came_first() -> None:
    for one, other in itertools.product(DeliveryStatus, repeat=2):
        assert merged(one, other) is merged(other, one)
    assert list(DeliveryStatus) == sorted(DeliveryStatus, key=list(DeliveryStatus).index)


@pytest.mark.parametrize("state", [State.PENDING, State.SENDING])
def test_what_cannot_be_said_yet_waits(state: State) -> None:
    assert decide_receipt(replace(PLAIN, state=state)) is WAIT
    assert decide_receipt(replace(PLAIN, state=state, accepted_id=None)) is WAIT


@pytest.mark.parametrize("state", [State.RETRY, State.NEEDS_REVIEW])
def test_without_an_id_nothing_is_proven(state: State) -> None:
    facts = replace(PLAIN, state=state, accepted_id=None)
    assert decide_receipt(replace(facts, message_id=None)) is WAIT
    assert decide_receipt(facts).kind is EntryKind.SETTLED
    # What was never sent here is named only after a restore: what may go out is stopped first.
    never = decide_receipt(replace(facts, attempt_count=0))
    assert never is STOPPED if state is State.RETRY else never.kind is EntryKind.SETTLED


def test_a_late_delivery_ends_the_case_that_waited_for_it_and_no_other() -> None:
    waiting = replace(PLAIN, state=State.NEEDS_REVIEW, known=Known.ACCEPTED, error_code="not_confirmed")
    assert decide_receipt(waiting).kind is EntryKind.SETTLED
    assert decide_receipt(replace(waiting, says=DeliveryStatus.NONE, quiet=True)).kind is None
    other = replace(waiting, error_code="bounced", known=Known.BOUNCED, delivery_status=DeliveryStatus.BOUNCED)
    assert decide_receipt(other).to_state is State.NEEDS_REVIEW
