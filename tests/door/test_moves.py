"""Every kind of entry × state × target × login against the real door: MOVES and nothing else."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from notifications.door import Entry, append_call
from notifications.states import MOVES, EntryKind, Move, State, Who
from tests.door.conftest import Owner
from tests.door.fallback import down, told
from tests.door.logins import LOGINS, Login, acting_as
from tests.door.story import BODY, Story

pytestmark = pytest.mark.django_db(databases=["default", "owner"])
PAST = "2020-01-01T00:00:00Z"
SOON = datetime.now(UTC) + timedelta(hours=1)
LAWFUL = {(move.kind, move.from_state, move.to_state): set[str]() for move in MOVES}
for _move in MOVES:
    LAWFUL[_move.kind, _move.from_state, _move.to_state].add(_move.who.value)
KNOWN_NOT_SENT: dict[str, Any] = {"known": "not_sent", "code": "not_sent.dns", "next_action": "retry_same_key"}


def standing(admin: Owner, state: State, kind: EntryKind) -> Story:
    """Give a story in that state in which the guards of that kind have nothing to say."""
    special: dict[tuple[EntryKind, State], Callable[[Owner], Story]] = {
        (EntryKind.RELEASED, State.NEEDS_REVIEW): held,
        (EntryKind.RE_PREPARED, State.PENDING): released,
        (EntryKind.FAILED_OVER, State.PENDING): lambda _: down(admin, fresh(admin)),
        (EntryKind.FAILED_OVER, State.RETRY): lambda _: down(
            admin, fresh(admin).claim().result("not_sent", State.RETRY, delay_s=0)
        ),
        (EntryKind.WINDOW_OVER, State.RETRY): lambda _: fresh(admin).unknown(window_s=-1),
        (EntryKind.UNDONE, State.RETRY): lambda _: person(in_review(admin), EntryKind.RETRIED, State.RETRY, delay_s=0),
        (EntryKind.ADOPTED, State.NEEDS_REVIEW): lambda _: in_review(admin).evidence("found", "pm-1"),
        (EntryKind.REOPENED, State.ACCEPTED): lambda _: person(
            in_review(admin).evidence("found", "pm-1"), EntryKind.ADOPTED, State.ACCEPTED, provider_message_id="pm-1"
        ),
        (EntryKind.FREED, State.NEEDS_REVIEW): lambda _: restored(admin).evidence("not_found"),
        (EntryKind.RESEND_ASKED, State.NEEDS_REVIEW): undecided,
        (EntryKind.RESEND_DROPPED, State.NEEDS_REVIEW): lambda _: stated(undecided(admin), EntryKind.RESEND_ASKED),
        (EntryKind.RESUMED, State.NEEDS_REVIEW): lambda _: stated(in_review(admin), EntryKind.SNOOZED, until=SOON),
        (EntryKind.UNCONFIRMED, State.ACCEPTED): lambda _: fresh(admin).accepted(confirm_s=0).evidence("unavailable"),
    }
    usual: dict[State, Callable[[Owner], Story]] = {
        State.PENDING: fresh,
        State.SENDING: lambda _: fresh(admin).claim(lease_s=-1),
        State.RETRY: lambda _: fresh(admin).claim().result("not_sent", State.RETRY, delay_s=0, **KNOWN_NOT_SENT),
        State.ACCEPTED: lambda _: fresh(admin).accepted(),
        State.NEEDS_REVIEW: in_review,
        State.CLOSED: lambda _: person(fresh(admin), EntryKind.CLOSED, State.CLOSED),
        State.CANCELLED: lambda _: person(fresh(admin), EntryKind.WITHDRAWN, State.CANCELLED),
    }
    return special.get((kind, state), usual[state])(admin)


def fresh(admin: Owner) -> Story:
    return Story(admin).enqueue(expires_at=PAST)


def held(admin: Owner) -> Story:
    return Story(admin, "report_approved").enqueue(expires_at=PAST)


def released(admin: Owner) -> Story:
    return person(held(admin), EntryKind.RELEASED, State.PENDING, known="not_sent")


def in_review(admin: Owner) -> Story:
    return fresh(admin).claim().result("not_sent", State.NEEDS_REVIEW, **KNOWN_NOT_SENT)


def restored(admin: Owner) -> Story:
    story = fresh(admin)
    held: dict[str, Any] = {"code": "restored", "known": "unknown", "next_action": "query_provider", "ambiguous": True}
    assert story.append(EntryKind.RESTORED, State.NEEDS_REVIEW, **held) is None
    return story


def undecided(admin: Owner) -> Story:
    """Give what may have arrived, and of which the provider cannot tell."""
    return fresh(admin).unknown(State.NEEDS_REVIEW, window_s=-1).evidence("inconclusive")


def stated(story: Story, kind: EntryKind, **columns: Any) -> Story:
    assert story.append(kind, actor="user:lena", seq=story.seq, **columns) is None
    return story


def person(story: Story, kind: EntryKind, to: State, **columns: Any) -> Story:
    refused = story.append(kind, to, actor="user:lena", seq=story.seq, reason_code="other", **columns)
    assert refused is None
    return story


def entry(story: Story, seq: int, kind: EntryKind, to: State, login: Login) -> Entry:
    """Give an entry in which nothing but the move itself can be refused."""
    columns: dict[str, Any] = {"code": "code", "fence": story.attempts, "attempt": 1, "delay_s": 0.0}
    if login.actor:
        columns["seq"] = seq
    if kind is EntryKind.FAILED_OVER:
        columns["detail"] = told(story)
    if kind is EntryKind.SNOOZED:
        columns["until"] = SOON
    if to is State.ACCEPTED:
        columns["provider_message_id"] = "pm-1"
    if to is State.NEEDS_REVIEW:
        columns |= {"known": "not_sent", "next_action": "query_provider"}
    if kind is EntryKind.CLAIMED and not story.attempts:
        columns |= {"body": BODY, "detail": {"sha256": hashlib.sha256(BODY).hexdigest()}}
    return Entry(id=story.id, to_state=to, **columns)


def states_of(admin: Owner) -> dict[int, tuple[str, int, bytes]]:
    rows = admin.execute("SELECT id, state, seq, head FROM notifyops_private.notifications_intent").fetchall()
    return {row[0]: row[1:] for row in rows}


@pytest.mark.parametrize("kind", list(EntryKind), ids=str)
def test_a_kind_makes_its_moves_for_its_writers_and_no_other(admin: Owner, kind: EntryKind) -> None:
    taken: set[Move] = set()
    with acting_as(admin, "owner"):
        stories = {state: standing(admin, state, kind) for state in State}
    before = states_of(admin)
    assert {state: before[story.id][0] for state, story in stories.items()} == {state: state for state in State}
    for to_state, login in itertools.product(State, LOGINS):
        query, values = append_call(
            kind,
            [entry(one, before[one.id][1], kind, to_state, login) for one in stories.values()],
            worker="w1",
            actor=login.actor,
        )
        with admin.transaction(force_rollback=True):
            with acting_as(admin, login.role):
                refused = {row[0]: row[-1] for row in admin.execute(query.encode(), values).fetchall()}
            after = states_of(admin)
        for from_state, story in stories.items():
            writers = LAWFUL.get((kind, from_state, to_state), set())
            if writers & login.may_be:
                assert refused[story.id] is None, (from_state, to_state, login)
                assert after[story.id][:2] == (to_state, before[story.id][1] + 1)
                taken |= {Move(kind, from_state, to_state, Who(who)) for who in writers & login.may_be}
            else:
                assert refused[story.id] == ("role" if writers else "move"), (from_state, to_state, login)
                assert after[story.id] == before[story.id]
    assert taken == {move for move in MOVES if move.kind is kind}


def test_the_databases_table_of_moves_is_the_codes(admin: Owner) -> None:
    rows = admin.execute("SELECT kind, from_state, to_state, who FROM notifyops_private.move").fetchall()
    assert {Move(EntryKind(k), State(f), State(t), Who(w)) for k, f, t, w in rows} == set(MOVES)
    assert len(rows) == len(MOVES)


def test_every_state_but_the_first_can_be_reached_and_every_state_but_none_left() -> None:
    moving = [move for move in MOVES if move.from_state is not move.to_state]
    assert {move.to_state for move in moving} == set(State)
    assert {move.from_state for move in moving} == set(State) - {State.CANCELLED}
