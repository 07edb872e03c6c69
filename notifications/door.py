"""The only callers of the database's door, hence the only way to move state.

`pick` locks due intents; `append` writes one entry per intent and moves them. Both run inside the caller's
transaction. Entries of one call are of one kind; a refusal concerns its own intent only and is returned, not raised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from django.db import connections
from psycopg import AsyncConnection

from notifications.states import EntryKind, State


# Values of the hot path are named tuples: a frozen dataclass of this many fields costs five times as much to make.
class Entry(NamedTuple):
    """What one entry says about one intent; None leaves the door's rule for the kind.

    `to_state` None states a fact and moves nothing. `fence` is required for result, late and lease_lost, `seq` (what
    the person saw) for a person's moves. `delay_s` makes it due that many seconds from the database's now, or is the
    lease's length for `claimed`. `window_s` is how long the provider's key protects, margin taken off; it counts only
    with `ambiguous`. A `body` needs its SHA-256 in `detail`.
    """

    id: int
    to_state: State | None = None
    fence: int | None = None
    seq: int | None = None
    attempt: int | None = None
    outcome: str | None = None
    code: str | None = None
    phase: str | None = None
    http_status: int | None = None
    duration_ms: int | None = None
    provider_message_id: str | None = None
    detail: Mapping[str, Any] | None = None
    reason_code: str | None = None
    known: str | None = None
    next_action: str | None = None
    delay_s: float | None = None
    window_s: float | None = None
    failure: bool | None = None
    in_flight: bool | None = None
    ambiguous: bool | None = None
    delivery_status: str | None = None
    confirm_s: float | None = None
    until: datetime | None = None
    subject: str | None = None
    template_version: str | None = None
    site_mode: str | None = None
    body: bytes | None = None


class Appended(NamedTuple):
    """What became of one entry: the new seq and state, or the word in `refused` that says why nothing was written.

    `window_left_s`: how long the provider's key still protects, None while nothing is ambiguous.
    """

    intent_id: int
    new_seq: int | None
    new_state: str | None
    window_left_s: float | None
    refused: str | None


_SAID = Entry._fields[:-1]  # all but the body, which is the last
_APPEND = "SELECT * FROM notifyops_private.append_v1(%s, %s::jsonb, %s, %s, %b::bytea[])"


def append_call(
    kind: EntryKind, entries: Sequence[Entry], *, worker: str | None = None, actor: str | None = None
) -> tuple[str, list[Any]]:
    """Give the SQL and the parameters of one append."""
    # The bytes travel on their own: as text they would be a third longer.
    said = [{name: value for name, value in zip(_SAID, entry, strict=False) if value is not None} for entry in entries]
    bodies = [entry.body for entry in entries]
    has_bodies = any(body is not None for body in bodies)
    return _APPEND, [kind.value, orjson.dumps(said).decode(), worker, actor, bodies if has_bodies else None]


def append(
    kind: EntryKind,
    entries: Iterable[Entry],
    *,
    actor: str | None = None,
    worker: str | None = None,
    using: str = "default",
) -> list[Appended]:
    """Append through Django's connection; the caller has opened the transaction. Order is not kept."""
    listed = list(entries)
    if not listed:
        return []
    query, values = append_call(kind, listed, actor=actor, worker=worker)
    with connections[using].cursor() as cursor:
        cursor.execute(query, values)
        return [Appended(*row) for row in cursor.fetchall()]


async def append_async(
    connection: AsyncConnection[Any], kind: EntryKind, entries: Sequence[Entry], *, worker: str
) -> list[Appended]:
    """Append through a loop's own connection. Order is not kept."""
    if not entries:
        return []
    query, values = append_call(kind, entries, worker=worker)
    cursor = await connection.execute(query, values)
    return [Appended(*row) for row in await cursor.fetchall()]


class Picked(NamedTuple):
    """One due intent, locked until the transaction ends. Times are seconds from the database's now.

    `state` is `sending` where another worker's lease ran out. `window_left_s` is None while no attempt is ambiguous.
    `recipient` and `data` are given only where the generation has no `body` yet or a person ordered the
    attempt; `erased` says that they are gone. `data` is JSON, parsed where a fault of it concerns one message only.
    `probe`: the one attempt that tells whether an open circuit may close. `body_mode`: the site mode of the `body`.
    `limited`: its account has a rate, and the caller spends a token for each lease (delivery/rates.py). `attachments`:
    what is kept of them beside their bytes, as JSON, given with `data`. `heavy`: too large to be taken beside the rest.
    """

    id: int
    notification_id: str
    key_suffix: str
    report_id: str
    type: str
    channel: str
    workspace: str
    account_id: int
    lane: int
    state: str
    seq: int
    generation: int
    fence: int
    attempt_count: int
    failure_count: int
    failure_limit: int
    in_flight_count: int
    known: str | None
    manual: bool
    ambiguous: bool
    window_left_s: float | None
    expires_in_s: float | None
    blocked: str | None
    erased: bool
    recipient: str | None
    data: str | None
    locale: str | None
    body: bytes | None
    body_sha256: bytes | None
    probe: bool
    body_mode: str | None = None
    limited: bool = False
    attachments: str | None = None
    heavy: bool = False


_PICK = f"SELECT {', '.join(Picked._fields)} FROM notifyops_private.pick_v1(%s, %s::bigint[], %s::bigint[], %s)"


async def pick(
    connection: AsyncConnection[Any],
    room: int,
    accounts: Sequence[int],
    full_lanes: Sequence[int] = (),
    mode: str = "",
) -> list[Picked]:
    """Lock up to `room` due intents of these accounts, fairly by lane, but for `full_lanes` (account × 64 + lane).

    Of the blocks of addresses those count that were learned in site mode `mode`, or in none; empty: all. What is too
    large beside the rest is left for the next time.
    """
    cursor = connection.cursor(binary=True)
    await cursor.execute(_PICK, (room, list(accounts), list(full_lanes), mode))
    return [one for one in map(Picked._make, await cursor.fetchall()) if not one.heavy]


async def next_due_s(connection: AsyncConnection[Any], accounts: Sequence[int]) -> float | None:
    """Give the seconds until the next intent of these accounts comes due, 0 where one is; None where nothing waits."""
    cursor = await connection.execute("SELECT notifyops_private.next_due_v1(%s::bigint[])", (list(accounts),))
    row = await cursor.fetchone()
    return None if row is None or row[0] is None else float(row[0])


class Corrected(NamedTuple):
    """The notification to the new address, or the word in `refused` that says why there is none."""

    id: int | None
    notification_id: str | None
    refused: str | None


def correct(entry: Entry, address: str, *, actor: str, site_mode: str) -> Corrected:
    """Owe it to another address, and close the one that could not arrive; the caller has opened the transaction.

    `entry` names the old one, the seq that the person saw, the masks for the log, and when the new one is due.
    """
    masks = orjson.dumps(dict(entry.detail or {})).decode()
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "SELECT * FROM notifyops_private.correct_v1(%s, %s, %s, %s::jsonb, %s, %s, %s)",
            [entry.id, entry.seq, address, masks, actor, entry.delay_s or 0.0, site_mode],
        )
        return Corrected(*cursor.fetchone())


def erase(intent_id: int) -> int:
    """Erase the content of what a person has just withdrawn, in that transaction; give how many rows held any."""
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT notifyops_private.erase_v1(%s)", [intent_id])
        erased: int = cursor.fetchone()[0]
    return erased


def unblock(intent_id: int, *, actor: str, site_mode: str) -> list[str]:
    """Lift what a provider's word has put on this notification's address; give the reasons, none where none stood."""
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT reason FROM notifyops_private.unblock_v1(%s, %s, %s)", [intent_id, actor, site_mode])
        return [row[0] for row in cursor.fetchall()]
