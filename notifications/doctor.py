"""The invariants of delivery: their names, their meaning, and the intents that break them.

The rules themselves stand in sql/doctor.sql; here are the few that only code can judge, and the ways to run them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from django.db import connections

from notifications.states import MOVES

# What each violation means to the person who reads it.
INVARIANTS: Final[dict[str, str]] = {
    "lease_iff_sending": "An intent has a lease holder exactly while it is being sent.",
    "one_open_attempt": "One attempt is open while an intent is being sent, and none otherwise.",
    "attempts_counted": "The count of attempts is the number of claims in the log.",
    "counts_capped": "Failures and in-flight answers stay within their limits.",
    "attempts_gapless": "Attempts are numbered 1, 2, 3 without a gap.",
    "fences_rise": "Every claim's fence is higher than the one before.",
    "seq_gapless": "Log entries of an intent are numbered 1, 2, 3 without a gap.",
    "chain_linked": "Every log entry carries the hash, and begins in the state, of the one before.",
    "head_is_last": "An intent stands where its last log entry put it.",
    "moves_legal": "Every log entry is a move of the table MOVES.",
    "moves_are_code": "The database's table of moves is the one of this release.",
    "schedule_fits_state": "An intent has a due time exactly in the states that have one.",
    "review_says_why": "A case in review has a code, what is known, a suggestion and a time.",
    "nothing_overdue": "While a loop lives and the account is open, what is due is claimed, in every lane.",
    "result_by_fence": "A result was written under the fence of its own claim.",
    "person_is_named": "An entry that only a person may write names the person.",
    "approver_is_another": "Nobody releases a notification that was asked for in their own name.",
    "resend_by_two": "What may have arrived, of any generation, is sent anew only where one asked, another confirmed.",
    "new_key_is_earned": "A new generation is made only where none before it can arrive, or two persons ordered it.",
    "failover_is_proven": "Another account takes over only what left by none before, and never back.",
    "one_account_accepts": "No notification has messages at two accounts.",
    "one_id_per_key": "One generation has one message at the provider.",
    "one_intent_per_id": "A provider's message belongs to one intent.",
    "provider_key_is_own": "No two intents share a provider key.",
    "bytes_frozen": "The prepared bytes are those whose hash was taken.",
    "sent_only_what_is_frozen": "Every attempt had frozen bytes.",
    "no_send_past_window": "After an ambiguous attempt nothing is sent past the key's window, but must_arrive.",
    "never_twice": "A never_twice type is not sent again by itself after an attempt that may have been accepted.",
    "no_address_in_log": "The log, which is kept for ever, holds no address.",
    "receipts_once_and_verified": "Every receipt in the log is a verified event of the provider, applied once.",
    "content_kept": "Every intent has its content, or the mark that it was erased.",
    "key_kept": "Every intent's key is in the table of keys, which never forgets.",
    "log_has_its_intent": "Every log entry belongs to an intent.",
    "triggers_always": "The guards of the append-only tables are on, also for replication.",
    "owned_by_owner": "Everything of ours in the database belongs to the owner's role.",
    "roles_bounded": "The runtime roles can neither bypass the door nor become the owner.",
    "schedules_are_ours": "django-q2's schedules call our watchdog and nothing else.",
    "partitions_ahead": "The log has partitions for this month and the two to come.",
    "default_partition_empty": "No entry stands outside its month's partition.",
}

# The rules look entries up among those of the call: ten times as many cost a hundred times as much (2,000 notifications
# in one call 3.4 s, in ten 0.2 s).
CHUNK: Final = 200
_ORPHANS: Final = """
    SELECT 'log_has_its_intent', l.intent_id, count(*) || ' entries of an intent that is gone'
    FROM notifyops_private.notifications_logentry l
    WHERE NOT EXISTS (SELECT FROM notifyops_private.notifications_intent i WHERE i.id = l.intent_id)
    GROUP BY l.intent_id
"""


_NEXT: Final = """
    SELECT least((SELECT min(i.id) FROM notifyops_private.notifications_intent i WHERE i.id > %s),
        (SELECT min(l.intent_id) FROM notifyops_private.notifications_logentry l WHERE l.intent_id > %s))
"""


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken invariant; `intent_id` is None where it concerns the installation."""

    invariant: str
    intent_id: int | None
    detail: str


def check_all(*, using: str = "default", progress: Callable[[int], object] = lambda _: None) -> Iterator[Violation]:
    """Check everything, intents in chunks of ids; `progress` hears how many ids each chunk covered."""
    yield from check_site(using=using)
    yield from _rows(_ORPHANS, [], using)
    first, last = id_range(using=using)
    for start, end, covered in chunks(first, last, CHUNK, using=using):
        yield from _rows(
            "SELECT d.* FROM (SELECT coalesce(array_agg(id), '{}') AS ids FROM notifyops_private.notifications_intent"
            " WHERE id BETWEEN %s AND %s) i, notifyops_private.doctor_v1(i.ids) d",
            [start, end],
            using,
        )
        progress(covered)


def chunks(first: int, last: int, size: int, *, using: str = "default") -> Iterator[tuple[int, int, int]]:
    """Give the range in parts of at most `size`, past what is empty: a recovery leaves out a thousand million.

    Each part is its first and its last id, and how many ids it brings the check further, the empty ones before it too.
    """
    start: int | None = first
    done = first - 1
    while start is not None and start <= last:
        end = min(start + size - 1, last)
        yield start, end, end - done
        done = end
        with connections[using].cursor() as cursor:
            cursor.execute(_NEXT, [end, end])
            (start,) = cursor.fetchone() or (None,)


def id_range(*, using: str = "default") -> tuple[int, int]:
    """Give the lowest and the highest intent id; 1 and 0 where there is none."""
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT coalesce(min(id), 1), coalesce(max(id), 0) FROM notifyops_private.notifications_intent")
        first, last = cursor.fetchone() or (1, 0)
    return first, last


def check_site(*, using: str = "default") -> list[Violation]:
    """Check what concerns the installation: guards, roles, schedules, partitions, progress, the table of moves."""
    found = _rows("SELECT * FROM notifyops_private.doctor_v1()", [], using)
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT kind, from_state, to_state, who FROM notifyops_private.move")
        kept = set(cursor.fetchall())
    known = {(move.kind.value, move.from_state.value, move.to_state.value, move.who.value) for move in MOVES}
    for move in sorted(kept ^ known):
        place = "only in the database" if move in kept else "only in the code"
        found.append(Violation("moves_are_code", None, f"{' '.join(move)} is {place}"))
    return found


def check_moved(after_entry: int, *, using: str = "default", limit: int = 5000) -> tuple[list[Violation], int]:
    """Check the intents of the log entries after that one, for a check every minute.

    Gives the violations, and the entry to go on from. Ids are taken before the commit, so go back a little each time.
    """
    with connections[using].cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(array_agg(DISTINCT l.intent_id), '{}'), coalesce(max(l.id), %s) FROM ("
            "SELECT id, intent_id FROM notifyops_private.notifications_logentry WHERE id > %s ORDER BY id LIMIT %s) l",
            [after_entry, after_entry, limit],
        )
        ids, newest = cursor.fetchone() or ([], after_entry)
    found: list[Violation] = []
    for place in range(0, len(ids), CHUNK):
        found += _rows("SELECT * FROM notifyops_private.doctor_v1(%s::bigint[])", [ids[place : place + CHUNK]], using)
    return found, newest


def _rows(query: str, parameters: list[int] | list[list[int]], using: str) -> list[Violation]:
    with connections[using].cursor() as cursor:
        cursor.execute(query, parameters)
        return [Violation(*row) for row in cursor.fetchall()]
