"""What must hold where a message is sent anew: as another generation, by order of two, or to a corrected address.

Nothing more goes out, and nothing is ordered, once it is proven that the recipient has a message of this notification.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from notifications.states import DeliveryStatus
from tests.simulation.orders import Log
from tests.simulation.provider import Acceptance
from tests.simulation.violation import Violation
from tests.simulation.world import World

_ARRIVED: Final = frozenset({DeliveryStatus.DELIVERED, DeliveryStatus.COMPLAINED})
_GONE: Final = frozenset({DeliveryStatus.BOUNCED, DeliveryStatus.SUPPRESSED})
_BACK: Final = frozenset({*_GONE, DeliveryStatus.SOFT_BOUNCED, DeliveryStatus.FAILED})
CONFIRMED_WITHIN: Final = timedelta(minutes=30)
# The entry of another intent may be committed as long after its own time as the server lets a transaction stand still.
STANDS_STILL: Final = timedelta(seconds=70)


def proofs(log: Log) -> list[tuple[int, int, datetime]]:
    """Give what proves that the recipient has a message: of which generation, in which entry, and when it was said."""
    said = [(_about(one), one) for one in log if _says(one) is not None]
    came_back = {about for about, one in said if _says(one) in _GONE}
    return [(about, one["seq"], one["at"]) for about, one in said if _says(one) in _ARRIVED and about not in came_back]


def violations(world: World, intents: list[dict[str, Any]], logs: dict[int, Log]) -> Iterator[Violation]:
    """Give every message that went out beside one that was known to have arrived, or that may arrive."""
    lied_about, stands = world.provider.lied_about, {one["id"]: one for one in intents}
    for intent in intents:
        line = list(_line(intent, stands))
        if any(one["id"] in lied_about for one in line):
            continue
        yield from _anew(intent, logs[intent["id"]])
        yield from _by_two(intent, logs[intent["id"]])
        for earlier in line[1:]:
            yield from _corrected(world, intent, earlier, logs)
    yield from _once_by_key(world)


def _line(intent: dict[str, Any], stands: dict[int, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Give a notification, and those whose address was corrected for it, newest first."""
    one: dict[str, Any] | None = intent
    while one is not None:
        yield one
        one = stands.get(one["supersedes_id"]) if "~a" in one["notification_id"] else None


def _anew(intent: dict[str, Any], log: Log) -> Iterator[Violation]:
    """A new generation: whoever claims holds the intent's lock, so the order of its log tells what was known."""
    known = proofs(log)
    for one in log:
        before = [seq for about, seq, _ in known if about < one["generation"] and seq < one["seq"]]
        if one["kind"] == "claimed" and before:
            yield Violation("sent_beside_arrival", f"{_name(intent, one)}: an older message arrived, entry {before[0]}")


def _by_two(intent: dict[str, Any], log: Log) -> Iterator[Violation]:
    """A forced resend: asked and confirmed by two persons, while nobody could tell, and nothing had moved."""
    known = proofs(log)
    for place, one in enumerate(log):
        if (one["kind"], one["reason_code"]) != ("retried", "forced_resend"):
            continue
        if any(seq < one["seq"] for _, seq, _ in known):
            yield Violation("ordered_after_arrival", _name(intent, one))
        asked = log[place - 1] if log[place - 1]["kind"] == "resend_asked" else None
        asked = asked or next((each for each in reversed(log[:place]) if each["kind"] == "resend_asked"), None)
        if asked is None or asked["actor"] == one["actor"] or one["at"] - asked["at"] > CONFIRMED_WITHIN:
            yield Violation("not_ordered_by_two", f"{_name(intent, one)}: {asked and asked['actor']}, {one['actor']}")


def _corrected(world: World, new: dict[str, Any], old: dict[str, Any], logs: dict[int, Log]) -> Iterator[Violation]:
    """Another address: of the first nothing has arrived when it is ordered, nor is on its way when it goes out."""
    ordered = next((one for one in logs[old["id"]] if one["reason_code"] == "address_corrected"), None)
    known = proofs(logs[old["id"]])
    if ordered is not None and any(seq < ordered["seq"] for _, seq, _ in known):
        yield Violation("corrected_after_arrival", _name(old, ordered))
    claims = [one["at"] for one in logs[new["id"]] if one["kind"] == "claimed"]
    if not world.scheduler.was_stepped and any(at > said + STANDS_STILL for at in claims for _, _, said in known):
        yield Violation("sent_beside_arrival", f"{new['notification_id']}: {old['notification_id']} had arrived")
    sent = [one.at for one in world.provider.accepted if one.intent == new["id"]]
    if not sent or old["told_duplicates"]:
        return
    for one in world.provider.accepted:
        if one.intent == old["id"] and not _had_come_back(world, one, min(sent)):
            yield Violation("two_may_arrive", f"{new['notification_id']}, beside {one.message_id} of {one.at:.1f}")


def _had_come_back(world: World, message: Acceptance, moment: float) -> bool:
    return any(one.message is message and one.says in _BACK and one.at <= moment for one in world.courier.events)


def _once_by_key(world: World) -> Iterator[Violation]:
    """Whoever's notification it is: one key, one message."""
    owners = {(one.key, one.intent) for one in world.provider.accepted}
    for key, count in Counter(key for key, _ in owners).items():
        if count > 1:
            yield Violation("one_key_of_two", f"{key} served {count} notifications")


def _about(one: dict[str, Any]) -> int:
    return int((one["detail"] or {}).get("generation") or one["generation"])


def _says(one: dict[str, Any]) -> str | None:
    detail = one["detail"] or {}
    if one["kind"] in ("receipt", "settled", "contradicted") and "says" in detail:
        return str(detail["says"])
    return str(detail["status"]) if one["kind"] == "evidence" and one["outcome"] == "found" else None


def _name(intent: dict[str, Any], entry: dict[str, Any]) -> str:
    return f"{intent['notification_id']}, entry {entry['seq']}"
