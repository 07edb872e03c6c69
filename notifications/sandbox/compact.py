"""Make the journal as short as what a restart needs of it, so that the next start is quick."""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from notifications.sandbox.ledger import Slot
from notifications.sandbox.recall import SLICE, without_collection
from notifications.sandbox.world import World

# A busy sandbox writes five lines for a message and needs one; shorter journals are read in no time.
WORTH_IT_LINES = 1_000
Scope = tuple[str, str, str]


async def compacted(world: World) -> None:
    """Rewrite the journal of a world that has just been recalled, where at least half of its lines say nothing more.

    Nothing may be remembered meanwhile; the event loop gets its turn in between. A disk that takes no second copy
    leaves the journal as it was.
    """
    needed = len(world.mailbox.mails) + len(world.hooks.unsent)
    if world.journal.read_lines < max(WORTH_IT_LINES, 2 * needed):
        return
    try:
        with without_collection(), world.journal.rewritten() as write:
            for number, fact in enumerate(_facts(world)):
                write(fact)
                if number % SLICE == 0:
                    await asyncio.sleep(0)
    except OSError as problem:
        sys.stderr.write(f"sandbox: the journal stays as long as it is: {problem.strerror}\n")


def _facts(world: World) -> Iterator[dict[str, Any]]:
    yield {"fact": "clock", "offset_s": world.clock.offset_s}
    for endpoint in world.hooks.endpoints.values():
        yield {"fact": "webhook", "endpoint": asdict(endpoint)}
    for suppressed in world.suppressions.values():
        yield {"fact": "suppression", "row": suppressed}
    yield from _accepted(world)
    for key, row in world.ledger.rows():
        if not row.ids:
            yield {"fact": "counted", "key": key, "counted": [row.http_requests, row.replays]}
    for message_id, hook in world.hooks.unsent.items():
        if hook["endpoint"] in world.hooks.endpoints:
            yield {"fact": "hook", "id": message_id, **hook}


def _accepted(world: World) -> Iterator[dict[str, Any]]:
    """Give the messages in their order, each key's counts with its first and its live slots with its last."""
    slots: dict[str, list[tuple[Scope, Slot]]] = defaultdict(list)
    for scope, slot in world.slots.live(world.clock.now_s(), world.knobs.key_retention_s):
        slots[scope[2]].append((scope, slot))
    for mail in world.mailbox.mails:
        fact: dict[str, Any] = {"fact": "accepted", "mails": [mail.fact()], "slot": None}
        if mail.key is None:
            yield fact
            continue
        row = world.ledger.of(mail.key)
        if mail.id == row.ids[0]:
            fact["counted"] = [row.http_requests, row.replays]
        ending = slots[mail.key] if mail.key in slots and mail.id == row.ids[-1] else []
        yield fact if not ending else fact | {"slot": _kept(*ending[0])}
        for scope, slot in ending[1:]:
            yield {"fact": "accepted", "mails": [], "slot": _kept(scope, slot)}


def _kept(scope: Scope, slot: Slot) -> list[Any]:
    assert slot.answer is not None
    return [*scope, slot.digest, slot.answer.body.decode(), slot.at_s]
