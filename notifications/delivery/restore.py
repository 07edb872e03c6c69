"""After a restore: hold what may have been sent since, have the provider asked, and say when sending may go on.

The chores do this for the open recovery (recover_v1.sql), a step at a time, each in a transaction of its own: whoever
is killed in the middle has lost nothing, and the next one goes on where it stopped.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from psycopg import AsyncConnection

from notifications.delivery.questions import MOST
from notifications.delivery.reconcile import SETTLE_S
from notifications.door import Entry, append_async
from notifications.policy import codes
from notifications.policy.claim import still_doubted
from notifications.states import EntryKind, Known, NextAction, Outcome, State

logger = logging.getLogger(__name__)

WORKER: Final = "restore"
BATCH: Final = 500
# Loops look every five seconds whether they may send; one that was seen sending this lately may not have looked yet.
LOOPS_LOOK_S: Final = 15.0
# What stood in the last moments before the restored point may have been lost with it.
MARGIN: Final = timedelta(minutes=10)
# As long as an order can wait for its undo, and a moment (NOTIFYOPS_UNDO_S).
ORDERS_WAIT: Final = timedelta(seconds=330)
_OPEN: Final = """
SELECT id, since, started_at, actor, marked_at IS NOT NULL,
    extract(epoch FROM notifyops_private.clock_v1() - since)::float8
FROM notifyops_private.notifications_recovery WHERE finished_at IS NULL LIMIT 1
"""
_LOOPS_SEND: Final = """
SELECT EXISTS (SELECT FROM notifyops_private.notifications_workerbeat b
    WHERE b.role = 'loop' AND b.sends AND b.beat_at > notifyops_private.clock_v1() - make_interval(secs => %s))
"""
# All that was due while nobody here knows what happened. What is due later was never claimed in that time.
_DUE: Final = """
SELECT i.id, i.account_id, i.state, i.seq, i.fence, i.attempt_count, i.first_ambiguous_at IS NOT NULL, i.known,
    i.error_code, i.next_action
FROM notifyops_private.notifications_intent i, (SELECT notifyops_private.clock_v1() AS now OFFSET 0) t
WHERE i.next_attempt_at <= t.now AND i.created_at <= %(started)s AND i.state = ANY (%(states)s)
  -- What the provider's answer has freed already is not held a second time.
  AND NOT EXISTS (SELECT FROM notifyops_private.notifications_question q
                  WHERE q.intent_id = i.id AND q.about = 'restore' AND q.asked_at >= %(started)s)
ORDER BY i.id LIMIT %(most)s
"""
# Also a lease that runs still: its worker may live, and its end is waited for. And what a person ordered a moment ago,
# as the order may have been given, and carried out, in the forgotten time as well: it is due in seconds.
_LEFT: Final = """
SELECT EXISTS (SELECT FROM notifyops_private.notifications_intent i,
        (SELECT notifyops_private.clock_v1() AS now OFFSET 0) t
    WHERE i.next_attempt_at IS NOT NULL AND (i.next_attempt_at <= t.now OR i.state = 'sending'
            OR ((i.manual OR i.supersedes_id IS NOT NULL) AND i.next_attempt_at <= t.now + %(orders)s::interval))
      AND i.created_at <= %(started)s AND NOT EXISTS (
        SELECT FROM notifyops_private.notifications_question q
        WHERE q.intent_id = i.id AND q.about = 'restore' AND q.asked_at >= %(started)s))
"""
_ASK: Final = """
INSERT INTO notifyops_private.notifications_question AS q
    (intent_id, account_id, about, since, due_at, wanted_by, wanted_at)
SELECT i.id, i.account_id, 'restore', r.since, greatest(t.now, r.started_at + make_interval(secs => %(settle)s)),
    left(r.actor, 200), t.now
FROM notifyops_private.notifications_intent i JOIN notifyops_private.notifications_recovery r ON r.id = %(recovery)s,
    (SELECT notifyops_private.clock_v1() AS now) t
WHERE i.id = ANY (%(ids)s::bigint[])
ON CONFLICT (intent_id) DO UPDATE SET about = 'restore', since = excluded.since, due_at = excluded.due_at,
    wanted_by = excluded.wanted_by, wanted_at = excluded.wanted_at, asked_count = 0, asked_at = NULL
"""
# All cases in review, however many: a person may have approved or retried them in the lost time, and may once more.
# What an earlier recovery has left over is one of them; what this one holds has its question already.
_IN_REVIEW: Final = """
SELECT i.id FROM notifyops_private.notifications_intent i
WHERE i.state = 'needs_review' AND i.created_at <= %(started)s
  AND (i.error_code IS DISTINCT FROM 'restored' OR i.review_since < %(started)s)
  AND i.id > %(after)s ORDER BY i.id LIMIT %(most)s
"""
# Other news that may be lost: what became of messages accepted just before. Nothing of them is sent again by itself, so
# that of many the newest will do. From the newest entry of the log back: it has no index by time.
_ACCEPTED: Final = """
SELECT DISTINCT i.id FROM (
    SELECT l.intent_id, l.at, l.to_state FROM notifyops_private.notifications_logentry l ORDER BY l.id DESC LIMIT 100000
) a JOIN notifyops_private.notifications_intent i ON i.id = a.intent_id
WHERE a.to_state = 'accepted' AND a.at >= %(since)s
  AND i.state = 'accepted' AND i.delivery_status IN ('none', 'deferred')
ORDER BY i.id DESC LIMIT %(most)s + 1
"""
_MARKED: Final = """
UPDATE notifyops_private.notifications_recovery SET marked_at = notifyops_private.clock_v1() WHERE id = %s
"""
_COUNTED: Final = """
UPDATE notifyops_private.notifications_recovery SET marked_count = marked_count + %s WHERE id = %s
"""
_FINISH: Final = "SELECT notifyops_private.finish_recovery_v1(%s)"


class Open(NamedTuple):
    """The open recovery; `age_s` is how long ago the restored point was, by the database's clock."""

    id: int
    since: datetime
    started_at: datetime
    actor: str
    is_marked: bool
    age_s: float


class Terms(NamedTuple):
    """The installation's: how long a key protects, margin off, and the site's mode."""

    window_s: float
    mode: str


class Due(NamedTuple):
    """One intent that may have been sent in the forgotten time, as it stands here."""

    id: int
    account_id: int
    state: str
    seq: int
    fence: int
    attempt_count: int
    ambiguous: bool
    known: str | None
    code: str | None
    next_action: str | None


async def tend_recovery(connection: AsyncConnection[Any], *, window_s: float, mode: str = "") -> None:
    """Take the open recovery as far as it goes now. Opens its own transactions.

    `window_s` is how long a key protects, margin off; `mode` the site's, in which what was forgotten was made.
    """
    row = await (await connection.execute(_OPEN)).fetchone()
    if row is None:
        return
    recovery = Open(*row)
    if not recovery.is_marked and not await _mark(connection, recovery, Terms(window_s, mode)):
        return
    finished = await (await connection.execute(_FINISH, (recovery.id,))).fetchone()
    if finished is not None and finished[0] is not None:
        extra = {"action": "recovery_finished", "recovery": recovery.id, "held": finished[0]}
        logger.warning("recovery finished: the loops send again", extra=extra)


async def _mark(connection: AsyncConnection[Any], recovery: Open, terms: Terms) -> bool:
    """Hold all that may have been sent; give whether that is done. Nothing is held while a loop may still send."""
    row = await (await connection.execute(_LOOPS_SEND, (LOOPS_LOOK_S,))).fetchone()
    if row is not None and row[0]:
        return False
    for states in (("pending", "retry"), ("sending",)):
        while await _hold_some(connection, recovery, states, terms):
            pass
    values = {"started": recovery.started_at, "orders": ORDERS_WAIT, "since": recovery.since - MARGIN, "most": MOST}
    row = await (await connection.execute(_LEFT, values)).fetchone()
    if row is not None and row[0]:
        return False
    async with connection.transaction():
        await _ask_beside(connection, recovery, values)
        await connection.execute(_MARKED, (recovery.id,))
    return True


async def _ask_beside(connection: AsyncConnection[Any], recovery: Open, values: dict[str, Any]) -> None:
    """Leave questions about what need not be held, and say where some were left out."""
    after = 0
    while found := await (await connection.execute(_IN_REVIEW, values | {"after": after})).fetchall():
        await _ask(connection, recovery, [each[0] for each in found])
        after = found[-1][0]
    accepted = [each[0] for each in await (await connection.execute(_ACCEPTED, values)).fetchall()]
    await _ask(connection, recovery, accepted[:MOST])
    if len(accepted) > MOST:
        extra = {"action": "recovery_not_asked", "recovery": recovery.id}
        logger.warning("only the newest %d of what was accepted last are asked about", MOST, extra=extra)


async def _hold_some(connection: AsyncConnection[Any], recovery: Open, states: Sequence[str], terms: Terms) -> int:
    """Hold a batch, and leave the questions about it; one transaction. Give how many are held by it."""
    async with connection.transaction():
        values = {"started": recovery.started_at, "states": list(states), "most": BATCH}
        due = [Due(*each) for each in await (await connection.execute(_DUE, values)).fetchall()]
        kind = EntryKind.LEASE_LOST if "sending" in states else EntryKind.RESTORED
        entries = [_entry(one, recovery, terms) for one in due]
        written = await append_async(connection, kind, entries, worker=WORKER)
        held = [one.intent_id for one in written if one.refused is None]
        await _ask(connection, recovery, held)
        await connection.execute(_COUNTED, (len(held), recovery.id))
    return len(held)


def _entry(one: Due, recovery: Open, terms: Terms) -> Entry:
    """Give the entry that holds it, which says how it stood: the provider's "no" gives it back so."""
    was_sending = one.state == State.SENDING
    return Entry(
        id=one.id,
        to_state=State.NEEDS_REVIEW,
        seq=one.seq,
        fence=one.fence if was_sending else None,
        outcome=Outcome.UNKNOWN if was_sending else None,
        code=codes.RESTORED,
        known=still_doubted(one.known),
        next_action=NextAction.QUERY_PROVIDER,
        ambiguous=True,
        # What was forgotten began no earlier than the restored point: so long its key protects a repeat. Of an attempt
        # that was under way the door knows the beginning.
        window_s=terms.window_s if was_sending else terms.window_s - recovery.age_s - MARGIN.total_seconds(),
        detail={
            "recovery": recovery.id,
            "since": recovery.since.isoformat(timespec="seconds"),
            "attempted": one.attempt_count > 0,
            "ambiguous": one.ambiguous or was_sending,
            "known": one.known if not was_sending else Known.UNKNOWN.value,
            "code": one.code,
            "next_action": one.next_action,
            "mode": terms.mode,
        },
    )


async def _ask(connection: AsyncConnection[Any], recovery: Open, ids: Sequence[int]) -> None:
    values = {"ids": list(ids), "recovery": recovery.id, "settle": SETTLE_S}
    if ids:
        await connection.execute(_ASK, values)
