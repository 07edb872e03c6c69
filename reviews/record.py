"""The rows that keep who decided what: read by the guard against double submits, written beside each move."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from notifications.models import Intent
from reviews.models import Note, Review
from reviews.person import Person
from reviews.refusals import Refused, UnreadableForm


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a form or a command asks for. `seq` is the case's version that the person saw; `token` is used once.

    None stands for a token or version that could not be read: refused, after the permission was checked. `confirmed`:
    the person has taken note of what a risky decision may cost.
    """

    token: UUID | None
    seq: int | None
    reason_code: str = ""
    reason: str = ""
    confirmed: bool = False

    def checked(self) -> tuple[UUID, int]:
        """Give token and version. Raises UnreadableForm."""
        if self.token is None or self.seq is None:
            raise UnreadableForm
        return self.token, self.seq


@dataclass(frozen=True, slots=True)
class Done:
    """A decision that stands. `repeated`: it was made before, by the same form, and nothing was written now."""

    verb: str
    intent_id: int
    at: datetime
    repeated: bool = False


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


def write_review(review: Review) -> Done:
    """Write what was decided; the caller's transaction holds the move."""
    review.save(force_insert=True)
    at = Review.objects.values_list("at", flat=True).get(pk=review.pk)
    return Done(review.action, review.intent_id, at)


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
    return {name: getattr(intent, name) for name in names}
