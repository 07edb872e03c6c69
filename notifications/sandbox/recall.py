"""Bring back from the journal what a restarted sandbox must still know."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from notifications.sandbox.ledger import Held
from notifications.sandbox.mailbox import Mail
from notifications.sandbox.refusals import Refusal
from notifications.sandbox.webhooks import Endpoint
from notifications.sandbox.wire import Answer
from notifications.sandbox.world import World


def recalled(world: World) -> None:
    """Fill a fresh world from its journal. Raises Misused with the number of a line that means nothing.

    100,000 messages come back in about two seconds of processor time.
    """
    with _without_collection():
        for line_number, fact in world.journal.facts():
            try:
                _RECALL[fact["fact"]](world, fact)
            except (LookupError, TypeError, ValueError, AttributeError, Refusal):
                raise world.journal.damaged(line_number) from None


@contextmanager
def _without_collection() -> Iterator[None]:
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


def _recall_clock(world: World, fact: dict[str, Any]) -> None:
    world.clock.offset_s = fact["offset_s"]


_RECALL = {
    "accepted": _recall_accepted,
    "request": _recall_request,
    "replay": _recall_replay,
    "event": _recall_event,
    "suppression": _recall_suppression,
    "unsuppression": _recall_unsuppression,
    "webhook": _recall_webhook,
    "no_webhook": _recall_no_webhook,
    "clock": _recall_clock,
}
