"""Bring back from the journal what a restarted sandbox must still know."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from notifications.sandbox.happening import Happening
from notifications.sandbox.ledger import Held
from notifications.sandbox.mailbox import Mail
from notifications.sandbox.refusals import Refusal
from notifications.sandbox.webhooks import Endpoint
from notifications.sandbox.wire import Answer
from notifications.sandbox.world import World

# A signal or a question about our health waits for a hundredth of a second of work at most.
SLICE = 1_000


async def recalled(world: World) -> None:
    """Fill a fresh world from its journal. Raises Misused with the number of a line that means nothing.

    The event loop gets its turn in between, so that a sandbox can be asked and ended while it reads. Measured with
    200,000 messages, 60,000 webhooks of them not sent yet: as they were written (a million lines, 274 MB) nine seconds
    of processor time, then four to shorten the file; after that (260,002 lines, 163 MB) under six at each start.
    """
    with without_collection():
        for line_number, fact in world.journal.facts():
            try:
                _RECALL[fact["fact"]](world, fact)
            except (LookupError, TypeError, ValueError, AttributeError, Refusal):
                raise world.journal.damaged(line_number) from None
            if line_number % SLICE == 0:
                await asyncio.sleep(0)


@contextmanager
def without_collection() -> Iterator[None]:
    """Make many objects that all stay: looking for garbage among them again and again took most of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _recall_accepted(world: World, fact: dict[str, Any]) -> None:
    world.book([Mail(**mail) for mail in fact["mails"]])
    if fact["slot"] is not None:
        method, path, key, digest, answer, at_s = fact["slot"]
        world.slots.complete(Held((method, path, key), digest), Answer(200, answer.encode()), at_s)
    if "counted" in fact:
        _recall_counted(world, {"key": fact["mails"][0]["key"], "counted": fact["counted"]})


def _recall_counted(world: World, fact: dict[str, Any]) -> None:
    row = world.ledger.of(fact["key"])
    row.http_requests, row.replays = (int(count) for count in fact["counted"])


def _recall_request(world: World, fact: dict[str, Any]) -> None:
    world.ledger.of(fact["key"]).http_requests += 1


def _recall_replay(world: World, fact: dict[str, Any]) -> None:
    world.ledger.of(fact["key"]).replays += 1


def _recall_event(world: World, fact: dict[str, Any]) -> None:
    mail = world.mailbox.get(fact["id"])
    mail.last_event = fact["last_event"]
    mail.scheduled_at_s = fact["scheduled_at_s"]


def _recall_suppression(world: World, fact: dict[str, Any]) -> None:
    world.suppressions[fact["row"]["email"]] = fact["row"]


def _recall_unsuppression(world: World, fact: dict[str, Any]) -> None:
    world.suppressions.pop(fact["email"], None)


def _recall_webhook(world: World, fact: dict[str, Any]) -> None:
    raw = fact["endpoint"]
    raw["events"] = tuple(raw["events"])
    raw["secrets"] = [(secret, until_s) for secret, until_s in raw["secrets"]]
    world.hooks.endpoints[raw["id"]] = Endpoint(**raw)


def _recall_no_webhook(world: World, fact: dict[str, Any]) -> None:
    world.hooks.endpoints.pop(fact["id"], None)


def _recall_hook(world: World, fact: dict[str, Any]) -> None:
    if fact["mail"] is not None:
        world.mailbox.get(fact["mail"])
    world.hooks.unsent[fact["id"]] = {name: fact[name] for name in ("endpoint", "type", "at_s", "mail", "detail")}


def _recall_hooked(world: World, fact: dict[str, Any]) -> None:
    for message_id in fact["ids"]:
        world.hooks.unsent.pop(message_id, None)


def unsent(world: World) -> Iterator[tuple[str, str, Happening]]:
    """Give the webhook messages that had not arrived, each once: its id, its endpoint's id and its event."""
    kept, world.hooks.unsent = world.hooks.unsent, {}
    for message_id, row in kept.items():
        mail = None if row["mail"] is None else world.mailbox.get(row["mail"])
        yield message_id, row["endpoint"], Happening(row["type"], row["at_s"], mail, row["detail"], to_webhooks=True)


def _recall_clock(world: World, fact: dict[str, Any]) -> None:
    world.clock.offset_s = fact["offset_s"]


_RECALL = {
    "accepted": _recall_accepted,
    "counted": _recall_counted,
    "request": _recall_request,
    "replay": _recall_replay,
    "event": _recall_event,
    "suppression": _recall_suppression,
    "unsuppression": _recall_unsuppression,
    "webhook": _recall_webhook,
    "no_webhook": _recall_no_webhook,
    "hook": _recall_hook,
    "hooked": _recall_hooked,
    "clock": _recall_clock,
}
