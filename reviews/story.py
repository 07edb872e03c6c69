"""The case page's story, from the log alone: attempts, human actions, and every entry in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from notifications.models import LogEntry
from notifications.policy.causes import FIELDS
from notifications.states import EntryKind, Outcome
from reviews.models import Note, Review
from reviews.refusal_words import told
from reviews.refusals import Sentence
from reviews.words import (
    ANSWERS,
    ENTRIES,
    OUTCOMES,
    REASONS,
    RECEIPTS,
    STATES,
    VERBS,
    Badge,
    person_name,
)

# A case with more entries than this shows its newest; the page says how many are left out.
MAX_ENTRIES: Final = 300
_ENDS: Final = (EntryKind.RESULT, EntryKind.LEASE_LOST)
_UNCLEAR: Final = (Outcome.UNKNOWN, Outcome.IN_FLIGHT)
PHASES: Final[dict[str, Sentence]] = {
    "not_connected": _("not connected"),
    "envelope": _("connected, message not handed over"),
    "request_written": _("request written"),
    "answer_read": _("answer read"),
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call to the provider: its claim, and what became of it (`outcome` None while it runs).

    `trace`: what to look for in the provider's own log.
    """

    number: int
    is_manual: bool
    generation: int
    worker: str
    started_at: datetime
    ended_at: datetime | None
    outcome: Badge | None
    phase: Sentence
    code: str
    http_status: int | None
    duration_ms: int | None
    provider_message_id: str
    late: Badge | None
    trace: str = ""
    field: str = ""

    @property
    def protocol(self) -> str:
        """Give whose the number of the answer is: an SMTP reply is no HTTP status."""
        return "SMTP" if self.code.startswith("smtp.") else "HTTP"

    @property
    def key(self) -> str:
        """Give the generation's mark, as it stands in the provider's key."""
        return f"~g{self.generation}" if self.generation > 1 else ""


@dataclass(frozen=True, slots=True)
class Deed:
    """Something a person did, or was refused."""

    at: datetime
    who: str
    what: Sentence
    was_refused: bool
    why_not: Sentence
    reason: Sentence
    text: str
    before: Sentence
    after: Sentence
    addresses: str = ""
    bulk_id: int | None = None


def attempts(log: Sequence[LogEntry]) -> list[Attempt]:
    """Give the attempts in order, numbered on over automatic and manual ones."""
    ends = {entry.attempt: entry for entry in log if entry.kind in _ENDS}
    lates = {entry.attempt: entry for entry in log if entry.kind == EntryKind.LATE}
    claims = [entry for entry in log if entry.kind == EntryKind.CLAIMED]
    return [_attempt(claim, ends.get(claim.attempt), lates.get(claim.attempt)) for claim in claims]


def unclear(log: Sequence[LogEntry], generation: int) -> list[int]:
    """Give the numbers of this generation's attempts that may have been accepted: no answer says that they were not."""
    ends = {entry.attempt: entry for entry in log if entry.kind in _ENDS and entry.generation == generation}
    return [number for number, end in ends.items() if end.outcome in _UNCLEAR or end.kind == EntryKind.LEASE_LOST]


def _attempt(claim: LogEntry, end: LogEntry | None, late: LogEntry | None) -> Attempt:
    outcome = None
    if end is not None:
        outcome = OUTCOMES.get(end.outcome or Outcome.UNKNOWN)
    return Attempt(
        number=claim.attempt,
        is_manual=claim.trigger == "manual",
        generation=claim.generation,
        worker=claim.worker or "",
        started_at=claim.at,
        ended_at=end.at if end else None,
        outcome=outcome,
        phase=PHASES.get(end.phase or "", "") if end else "",
        code=(end.code or ("worker_lost" if end.kind == EntryKind.LEASE_LOST else "")) if end else "",
        http_status=end.http_status if end else None,
        field=field_of(end),
        duration_ms=end.duration_ms if end else None,
        provider_message_id=(end.provider_message_id or "") if end else "",
        late=OUTCOMES.get(late.outcome or "") if late else None,
        trace=str((end.detail or {}).get("trace", "")) if end else "",
    )


def field_of(end: LogEntry | None) -> str:
    """Give the field of the request that the provider named in its answer; a word of a closed list."""
    named = str((end.detail or {}).get("field", "")) if end else ""
    return named if named in FIELDS else ""


def deeds(reviews: Sequence[Review], notes: Sequence[Note]) -> list[Deed]:
    """Give what people did about this case, in order, refused tries included."""
    found = [_of_review(review) for review in reviews] + [_of_note(note) for note in notes]
    return sorted(found, key=lambda deed: deed.at)


def _of_review(review: Review) -> Deed:
    return Deed(
        at=review.at,
        who=person_name(review.actor),
        what=VERBS[review.action],
        was_refused=review.outcome == "refused",
        why_not=told(review.refusal, review.action, review.before),
        reason=REASONS.get(review.reason_code, review.reason_code),
        text=review.reason,
        before=_state(review.before),
        after=_state(review.after),
        addresses=_addresses(review),
        bulk_id=review.bulk_id,
    )


def _of_note(note: Note) -> Deed:
    return Deed(note.at, person_name(note.actor), VERBS["note"], False, "", "", note.text, "", "")


def _addresses(review: Review) -> str:
    """Give the two masks of a corrected address."""
    masks = [str((shot or {}).get("recipient", "")) for shot in (review.before, review.after)]
    return f"{masks[0] or '–'} → {masks[1]}" if masks[1] else ""


def _state(snapshot: dict[str, str] | None) -> Sentence:
    badge = STATES.get((snapshot or {}).get("state", ""))
    return badge.word if badge else ""


@dataclass(frozen=True, slots=True)
class Line:
    """One log entry in words."""

    seq: int
    at: datetime
    what: Sentence
    said: Badge | None
    aside: Sentence
    who: str
    code: str
    reason: Sentence
    moved_to: Sentence


def _answer(entry: LogEntry) -> Sentence:
    """Give what the provider answered, where the entry is about that."""
    found = ANSWERS.get(entry.outcome or "") if entry.kind == EntryKind.EVIDENCE else None
    return found.word if found else ""


def lines(log: Sequence[LogEntry]) -> list[Line]:
    """Give every entry in words. Its free detail stays in the log: only columns and catalogued words are shown."""
    return [
        Line(
            seq=entry.seq,
            at=entry.at,
            what=ENTRIES.get(entry.kind, entry.kind),
            said=_said(entry),
            aside=_aside(entry),
            who=person_name(entry.actor) or entry.worker or "",
            code=entry.code or "",
            reason=REASONS.get(entry.reason_code or "", entry.reason_code or "") or _answer(entry),
            moved_to=STATES[entry.to_state].word if entry.from_state != entry.to_state else "",
        )
        for entry in log[-MAX_ENTRIES:]
    ]


def _said(entry: LogEntry) -> Badge | None:
    """Give what a receipt said; a proof by receipt says it as well."""
    return RECEIPTS.get(str((entry.detail or {}).get("says", "")))


def _aside(entry: LogEntry) -> Sentence:
    detail = entry.detail or {}
    if "may_duplicate" in detail or "possible_duplicate" in detail:
        return gettext("may be a second message")
    if entry.kind == EntryKind.FAILED_OVER:
        return gettext("from %(old)s to %(new)s: nothing of it had left") % {"old": detail["from"], "new": detail["to"]}
    if entry.kind in (EntryKind.CLOSED, EntryKind.SUPERSEDED) and "by" in detail:
        return gettext("in its place: %(key)s") % {"key": detail["by"]}
    if "erased" in detail:
        return gettext("content erased")
    if "second" in detail:
        return gettext("about another message of this notification: %(id)s") % {"id": detail["second"]}
    return _aside_of_a_receipt(entry, detail) if entry.kind == EntryKind.RECEIPT else ""


def _aside_of_a_receipt(entry: LogEntry, detail: dict[str, Any]) -> Sentence:
    if "ids" in detail:
        return gettext("from the provider's answer")
    if detail.get("generation", 0) > entry.generation:
        return gettext("about a later message, forgotten here")
    return gettext("about an earlier generation") if "generation" in detail else ""
