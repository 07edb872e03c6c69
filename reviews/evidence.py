"""What the provider has answered about a case, read from the log: what of it still counts, and what is being asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from notifications.models import LogEntry, Question
from notifications.states import EntryKind, Found, Outcome, State
from reviews import hints
from reviews.refusals import Sentence
from reviews.words import ANSWERS, METHODS, Badge, person_name

# Ten minutes, as the door counts them; and how long a second question must wait.
FRESH: Final = timedelta(minutes=10)
PAUSE: Final = timedelta(seconds=30)
# A page looks for the answer by itself for so long; a scan that takes longer waits behind an outage.
WATCHED: Final = timedelta(minutes=2)
# The entries that say something about evidence.
KINDS: Final = (
    EntryKind.EVIDENCE,
    EntryKind.RETRIED,
    EntryKind.CLAIMED,
    EntryKind.RESULT,
    EntryKind.ADOPTED,
    EntryKind.REOPENED,
    EntryKind.RESEND_ASKED,
    EntryKind.RESEND_DROPPED,
)
_DEFINITE: Final = (Found.FOUND, Found.NOT_FOUND)
_HARMLESS: Final = (Outcome.NOT_SENT, Outcome.REJECTED)


@dataclass(frozen=True, slots=True)
class Proof:
    """The last answer that proves anything of the present generation.

    `used`: a retry was ordered on it. `outdated`: an attempt began after it that may have reached the provider.
    """

    answer: str
    at: datetime
    ids: tuple[str, ...]
    used: bool
    outdated: bool

    def counts(self, now: datetime) -> bool:
        """Whether a decision may rest on it now; the door asks the same."""
        return not self.outdated and now - self.at < FRESH


@dataclass(frozen=True, slots=True)
class Told:
    """One answer, as the page shows it. `until`: how long a decision may rest on it, None where it proves nothing."""

    at: datetime
    by: str
    how: Sentence
    answer: Badge
    meaning: str
    ids: tuple[str, ...]
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Asked:
    """Everything about asking: the proof, when it was last asked, and who waits for an answer since when.

    `last_answer` is the newest one of the present generation, of whatever worth; `was_found`: the provider named the
    message at any time.
    """

    proof: Proof | None = None
    last_answer: str = ""
    last_at: datetime | None = None
    last_is_outdated: bool = False
    was_found: bool = False
    asked_at: datetime | None = None
    wanted_by: str = ""
    wanted_at: datetime | None = None

    def is_awaited(self, now: datetime) -> bool:
        """Whether an answer is about to come, so that a page should look for it by itself."""
        return self.wanted_at is not None and now - self.wanted_at < WATCHED

    def last_is_fresh(self, now: datetime) -> bool:
        """Whether a decision may rest on the newest answer now."""
        return self.last_at is not None and not self.last_is_outdated and now - self.last_at < FRESH


def asked(log: Sequence[LogEntry], generation: int, question: Question | None) -> Asked:
    """Give what is known from asking; `log` holds at least the entries of KINDS, in order."""
    said = [entry for entry in log if entry.kind == EntryKind.EVIDENCE and entry.generation == generation]
    last = said[-1] if said else None
    claims = [entry.seq for entry in log if entry.kind == EntryKind.CLAIMED]
    return Asked(
        proof=_proof(log, generation),
        last_answer=(last.outcome or "") if last else "",
        last_at=last.at if last else None,
        last_is_outdated=last is not None and bool(claims) and claims[-1] > last.seq,
        was_found=any(entry.outcome == Found.FOUND for entry in said),
        asked_at=question.asked_at if question else None,
        wanted_by=(question.wanted_by or "") if question else "",
        wanted_at=question.wanted_at if question else None,
    )


def _proof(log: Sequence[LogEntry], generation: int) -> Proof | None:
    said = [entry for entry in log if entry.kind == EntryKind.EVIDENCE and entry.generation == generation]
    last = next((entry for entry in reversed(said) if entry.outcome in _DEFINITE), None)
    if last is None:
        return None
    later = [entry for entry in log if entry.seq > last.seq]
    untried = {one.attempt for one in later if one.kind == EntryKind.RESULT and one.outcome in _HARMLESS}
    return Proof(
        answer=last.outcome or "",
        at=last.at,
        ids=ids_of(last),
        used=any(entry.kind == EntryKind.RETRIED for entry in later),
        outdated=any(entry.kind == EntryKind.CLAIMED and entry.attempt not in untried for entry in later),
    )


def was_adopted(log: Sequence[LogEntry]) -> bool:
    """Tell whether a person's adoption is why the case counts as accepted."""
    moves = [entry for entry in log if entry.from_state != entry.to_state]
    return bool(moves) and moves[-1].kind == EntryKind.ADOPTED and moves[-1].to_state == State.ACCEPTED


def ids_of(entry: LogEntry) -> tuple[str, ...]:
    """Give the messages that an answer named."""
    named: Any = (entry.detail or {}).get("ids", [])
    return tuple(str(each) for each in named) if isinstance(named, list) else ()


def told(log: Sequence[LogEntry], proof: Proof | None) -> list[Told]:
    """Give the answers, newest first."""
    return [_told(entry, proof) for entry in reversed(log) if entry.kind == EntryKind.EVIDENCE]


def _told(entry: LogEntry, proof: Proof | None) -> Told:
    detail: dict[str, Any] = entry.detail or {}
    counts = proof is not None and proof.at == entry.at and not (proof.used or proof.outdated)
    return Told(
        at=entry.at,
        by=person_name(str(detail.get("asked_by", ""))),
        how=METHODS.get(str(detail.get("method")), ""),
        answer=ANSWERS.get(entry.outcome or "", ANSWERS[Found.INCONCLUSIVE]),
        meaning=hints.meaning(entry.code),
        ids=ids_of(entry),
        until=entry.at + FRESH if counts else None,
    )
