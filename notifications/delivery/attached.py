"""The attachments of what is about to be prepared: their bytes where these are here, and a question where they are not.

Nothing is fetched in the claim. What lacks bytes gets an entry that says so, and comes due again when they are here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg import AsyncConnection

from notifications.delivery.due import Due
from notifications.door import Entry, append_async
from notifications.policy import codes
from notifications.policy.attachments import encoded_bytes
from notifications.policy.claim import ClaimDecision, decide_unprepared
from notifications.providers.attachment import Attachment
from notifications.states import EntryKind, ResultClass

# Until when a fetch must have told how it ended; if it has not, the next claim asks anew.
FETCH_LEASE_S: Final = 600.0
_BYTES: Final = """
SELECT b.workspace, b.sha256, b.content FROM notifyops_private.notifications_blob b
WHERE (b.workspace, b.sha256) IN (SELECT * FROM unnest(%s::text[], %s::bytea[]))
"""
_ASK: Final = """
INSERT INTO notifyops_private.notifications_fetch AS f (intent_id, seq, manual)
SELECT * FROM unnest(%s::bigint[], %s::integer[], %s::boolean[])
ON CONFLICT (intent_id) DO UPDATE SET seq = excluded.seq, manual = excluded.manual, wanted = true,
    failure_count = CASE WHEN excluded.manual THEN 0 ELSE f.failure_count END
"""
Judged = tuple[Due, ClaimDecision]


@dataclass(frozen=True, slots=True)
class Named:
    """An attachment as its notification names it."""

    name: str
    media_type: str
    size: int
    sha256: str
    url: str | None = None


def named(attachments: str | None) -> list[Named]:
    """Read what is kept of attachments beside their bytes."""
    return [Named(**one) for one in json.loads(attachments or "[]")]


async def attach(connection: AsyncConnection[Any], judged: Iterable[Judged], worker: str) -> list[Judged]:
    """Give what may go on: with its attachments, or with the decision to stop it for them; the rest waits for bytes."""
    cases = list(judged)
    wanted = {place: named(case.picked.attachments) for place, (case, going) in enumerate(cases) if going.sends}
    wanted = {place: files for place, files in wanted.items() if files}
    if not wanted:
        return cases
    here = await _bytes(connection, [(cases[place][0].picked.workspace, files) for place, files in wanted.items()])
    waiting: list[tuple[Due, list[Named]]] = []
    for place, files in wanted.items():
        case = cases[place][0]
        space = case.picked.workspace
        missing = [one for one in files if (space, one.sha256) not in here]
        why = _refusal(case, files, missing)
        if why is not None:
            cases[place] = case, decide_unprepared(*why, ambiguous=case.picked.ambiguous)
        elif missing:
            waiting.append((case, files))
        else:
            case.attachments = tuple(Attachment(one.name, one.media_type, here[space, one.sha256]) for one in files)
    await _ask(connection, waiting, worker)
    asked = {case.picked.id for case, _ in waiting}
    return [(case, going) for case, going in cases if case.picked.id not in asked]


def _refusal(case: Due, files: Sequence[Named], missing: Sequence[Named]) -> tuple[str, ResultClass] | None:
    """Give why it cannot be sent as it is: nothing is fetched for what the account would not take."""
    limit = case.account.provider.capabilities.attachment_limit
    if not limit:
        return codes.ATTACHMENTS_NOT_TAKEN, ResultClass.FIX_CONFIG
    if encoded_bytes(one.size for one in files) > limit:
        return codes.TOO_LARGE, ResultClass.FIX_CONFIG
    if any(one.url is None for one in missing):  # a restored database may have lost what came with the call
        return codes.ATTACHMENT_UNREACHABLE, ResultClass.FIX_CONFIG
    return None


async def _bytes(
    connection: AsyncConnection[Any], wanted: Sequence[tuple[str, Sequence[Named]]]
) -> dict[tuple[str, str], bytes]:
    keys = sorted({(space, one.sha256) for space, files in wanted for one in files})
    spaces, hashes = [space for space, _ in keys], [bytes.fromhex(digest) for _, digest in keys]
    cursor = connection.cursor(binary=True)
    await cursor.execute(_BYTES, (spaces, hashes))
    return {(space, digest.hex()): content for space, digest, content in await cursor.fetchall()}


async def _ask(connection: AsyncConnection[Any], waiting: Sequence[tuple[Due, list[Named]]], worker: str) -> None:
    """Have the bytes fetched beside the loops, and say so in the log: how many, and how large, never which."""
    if not waiting:
        return
    entries = [
        Entry(
            id=case.picked.id,
            delay_s=FETCH_LEASE_S,
            detail={"attachments": len(files), "bytes": sum(one.size for one in files)},
        )
        for case, files in waiting
    ]
    written = await append_async(connection, EntryKind.FETCHING, entries, worker=worker)
    seqs = {one.intent_id: one.new_seq for one in written if one.refused is None}
    manual = {case.picked.id: case.picked.manual for case, _ in waiting}
    asked = sorted(seqs)
    await connection.execute(_ASK, (asked, [seqs[intent] for intent in asked], [manual[intent] for intent in asked]))
