"""The rows that keep who decided what: read by the guard against double submits, written beside each move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from notifications.models import Intent, LogEntry
from notifications.states import EntryKind, State
from reviews.models import Note, Review
from reviews.person import Person
from reviews.refusals import Refused, UnreadableForm


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a form or a command asks for. `seq` is the case's version that the person saw; `token` is used once.

    None stands for a token or version that could not be read: refused, after the permission was checked. `confirmed`:
    the person has taken note of what a risky decision may cost. `address` is where a corrected notification goes, and
    is kept out of whatever prints an order. `typed` is the report ID that a resend wants to be typed; `minutes` says
    how long a case is set aside (None: cannot be read); `erase`: the content goes with what is
    withdrawn. No form says `insists`: the application said no, or nothing, and the reason's text outweighs that.
    """

    token: UUID | None
    seq: int | None
    reason_code: str = ""
    reason: str = ""
    confirmed: bool = False
    address: str = field(default="", repr=False)
    typed: str = ""
    minutes: int | None = None
    erase: bool = False
    insists: bool = False

    def checked(self) -> tuple[UUID, int]:
        """Give token and version. Raises UnreadableForm."""
        if self.token is None or self.seq is None:
            raise UnreadableForm
        return self.token, self.seq


@dataclass(frozen=True, slots=True)
class Done:
    """A decision that stands. `repeated`: it was made before, by the same form, and nothing was written now.

    `after` is what its record says of the case.
    """

    verb: str
    intent_id: int
    at: datetime
    repeated: bool = False
    after: Mapping[str, Any] = field(default_factory=dict)


def done_before(verb: str, intent_id: int, order: Order, person: Person) -> Done | None:
    """Find what this very form did before. Raises UnreadableForm where its token served for something else."""
    token, _seq = order.checked()
    review = Review.objects.filter(action_token=token).first()
    note = None if review else Note.objects.filter(action_token=token).first()
    found = review or note
    if found is None:
        return None
    same_verb = (review.action if review else "note") == verb
    if not same_verb or found.intent_id != intent_id or found.actor != person.name:
        raise UnreadableForm
    return Done(verb, intent_id, found.at, repeated=True)


def taken_before(order: Order, person: Person) -> Done | None:
    """Find which case this very form was given before, where it did not name one. Raises UnreadableForm."""
    token, _seq = order.checked()
    review = Review.objects.filter(action_token=token).first()
    return None if review is None else done_before("take", review.intent_id or 0, order, person)


def write_review(review: Review) -> Done:
    """Write what was decided about a case; the caller's transaction holds the move."""
    assert review.intent_id is not None
    review.save(force_insert=True)
    at = Review.objects.values_list("at", flat=True).get(pk=review.pk)
    return Done(review.action, review.intent_id, at, after=review.after or {})


def write_note(note: Note) -> Done:
    """Write a remark."""
    note.save(force_insert=True)
    return Done("note", note.intent_id, Note.objects.values_list("at", flat=True).get(pk=note.pk))


def write_refusal(verb: str, intent: Intent, order: Order, person: Person, refused: Refused) -> None:
    """Keep who tried what, in a transaction of its own; not the text, which may be what was refused."""
    known_code = order.reason_code if order.reason_code.isidentifier() and len(order.reason_code) <= 40 else ""
    with transaction.atomic():
        Review.objects.create(
            **review_fields(verb, intent, order, person),
            outcome="refused",
            refusal=refused.word,
            reason_code=known_code,
        )


def review_fields(verb: str, intent: Intent, order: Order, person: Person) -> dict[str, Any]:
    """Give what every row of a decision holds, refused or not."""
    return {
        "intent_id": intent.pk,
        "action": verb,
        "actor": person.name,
        "user": person.user,
        "seq_seen": order.seq,
        "before": snapshot(intent),
    }


def snapshot(intent: Intent) -> dict[str, Any]:
    """Give the state that a decision met or left. No personal data stands in these columns."""
    names = ("state", "known", "error_code", "next_action", "seq", "attempt_count", "generation", "delivery_status")
    found = {name: getattr(intent, name) for name in names}
    if intent.state == State.CANCELLED and (intent.may_be_out or _was_sent_anew(intent)):
        found["maybe_sent"] = True
    return found


def _was_sent_anew(intent: Intent) -> bool:
    """Tell whether two people ordered a second message: then nobody knows whether the first one arrived."""
    if intent.generation == 1:
        return False
    made = LogEntry.objects.filter(intent_id=intent.pk, month=intent.month, kind=EntryKind.RE_PREPARED)
    return made.filter(detail__has_key="may_duplicate").exists()
