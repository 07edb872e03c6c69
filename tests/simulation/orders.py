"""What people order on the provider's word, and what logs must tell of so that a part of the world is not idle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from notifications.states import Approval, LossModel, State
from tests.simulation.faults import Deed
from tests.simulation.violation import Violation
from tests.simulation.world import World

GOOD_FOR: Final = timedelta(minutes=30)
_DEEDS: Final[dict[tuple[str, str | None], Deed]] = {
    ("evidence", "not_found"): Deed.SAID_ABSENT,
    ("retried", "evidence_not_sent"): Deed.RETRIED_ON_ABSENCE,
    ("adopted", None): Deed.ADOPTED,
    ("unconfirmed", None): Deed.UNCONFIRMED,
    ("contradicted", None): Deed.CONTRADICTED,
    ("blocked", None): Deed.BLOCKED,
    ("re_prepared", None): Deed.ANEW,
    ("closed", "address_corrected"): Deed.CORRECTED,
    ("resend_asked", None): Deed.RESEND_ASKED,
    ("retried", "forced_resend"): Deed.RESENT,
}
Log = list[dict[str, Any]]


@dataclass(slots=True)
class Proof:
    """The provider's last word about one generation, and whether a retry was ordered on it."""

    answer: str | None = None
    at: datetime | None = None
    is_used: bool = False


def violations(world: World, intent: dict[str, Any], log: Log) -> Iterator[Violation]:
    """Past the window nothing goes out but on the provider's last word that it has no such message, each used once."""
    kind = world.types.get(intent["type"])
    repeats = kind is not None and kind.loss_model is LossModel.MUST_ARRIVE
    unsent = {one["attempt"] for one in log if one["kind"] == "result" and one["outcome"] in ("not_sent", "rejected")}
    if kind is not None and kind.approval is Approval.REQUIRED:
        yield from _unapproved(intent, log)
    proof, tried = Proof(), False
    for entry in log:
        if entry["generation"] != intent["generation"]:
            continue
        past = tried and intent["safe_until"] is not None and entry["at"] > intent["safe_until"]
        name = f"{intent['report_id']}, entry {entry['seq']}"
        if entry["kind"] == "evidence" and entry["outcome"] in ("found", "not_found"):
            proof = Proof(entry["outcome"], entry["at"])
        elif entry["kind"] == "retried" and past and entry["reason_code"] != "forced_resend":
            yield from _ordered(name, proof)
            proof.is_used = True
        elif entry["kind"] == "claimed":
            if past and not repeats:
                yield from _sent(name, proof, entry["at"])
            tried = tried or entry["attempt"] not in unsent


def _unapproved(intent: dict[str, Any], log: Log) -> Iterator[Violation]:
    kinds = [entry["kind"] for entry in log]
    if "claimed" in kinds and "released" not in kinds[: kinds.index("claimed")]:
        yield Violation("sent_without_approval", intent["report_id"])


def _ordered(name: str, proof: Proof) -> Iterator[Violation]:
    if proof.answer != "not_found" or proof.is_used:
        used = "used" if proof.is_used else "not used"
        yield Violation("ordered_on_no_evidence", f"{name}: {proof.answer}, {used} before")


def _sent(name: str, proof: Proof, at: datetime) -> Iterator[Violation]:
    if proof.answer != "not_found" or proof.at is None:
        yield Violation("sent_against_evidence", f"{name}: the provider's last word was {proof.answer}")
    elif at - proof.at > GOOD_FOR:
        yield Violation("sent_on_old_evidence", f"{name}: of {at - proof.at} ago")


def deeds(intent: dict[str, Any], log: Log) -> Iterator[Deed]:
    """Give what one log tells of."""
    for place, entry in enumerate(log):
        told = (entry["kind"], entry["outcome"] or entry["reason_code"])
        if entry["kind"] == "claimed" and place and log[place - 1]["reason_code"] == "evidence_not_sent":
            if intent["safe_until"] is not None and entry["at"] > intent["safe_until"]:
                yield Deed.SENT_ON_ABSENCE
        elif entry["kind"] in ("settled", "receipt", "evidence") and told not in _DEEDS:
            yield from _of_an_answer(intent, entry)
        elif told in _DEEDS or (entry["kind"], None) in _DEEDS:
            yield _DEEDS.get(told) or _DEEDS[entry["kind"], None]


def _of_an_answer(intent: dict[str, Any], entry: dict[str, Any]) -> Iterator[Deed]:
    detail = entry["detail"] or {}
    if entry["kind"] == "settled":
        yield Deed.SETTLED_BY_RECEIPT if "event" in detail else Deed.SETTLED_BY_ASKING
    elif entry["kind"] == "evidence" and entry["outcome"] == "found" and intent["state"] == State.ACCEPTED:
        yield Deed.CONFIRMED
    elif entry["kind"] == "receipt" and entry["code"] == "second_message":
        yield Deed.SECOND_MESSAGE
    elif entry["kind"] == "receipt" and "generation" in detail:
        yield Deed.OLD_RECEIPT
