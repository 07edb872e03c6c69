"""What people say of plans and runs as a whole, on record beside their decisions: done, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction

from reviews.bulk.models import BulkRun
from reviews.models import Review
from reviews.person import Person
from reviews.refusals import Refused


def keep(deed: str, bulk: BulkRun, person: Person, *, token: UUID | None = None, **facts: Any) -> None:
    """Write what was done, in the transaction that does it. `facts` are of the record's row, such as `after`."""
    who = {"actor": person.name, "user": person.user}
    Review.objects.create(
        action=f"bulk_{deed}", bulk=bulk, outcome="done", action_token=token or uuid4(), **who, **facts
    )


@contextmanager
def refusals_kept(deed: str, person: Person, bulk_id: int | None = None) -> Iterator[None]:
    """Around the transaction of an order: keep who tried what where it is refused, in a transaction of its own.

    Not what was typed, which may be what was refused. What nobody has planned, and a slip, have no place there.
    """
    try:
        yield
    except Refused as refused:
        if refused.is_kept and (bulk_id is None or BulkRun.objects.filter(pk=bulk_id).exists()):
            with transaction.atomic():
                Review.objects.create(
                    action=f"bulk_{deed}",
                    bulk_id=bulk_id,
                    actor=person.name,
                    user=person.user,
                    outcome="refused",
                    refusal=refused.word,
                )
        raise


def said_of(bulk: BulkRun) -> list[Review]:
    """Give what was said of a plan or run, the newest first; of very much the newest hundred."""
    return list(Review.objects.filter(bulk=bulk, intent__isnull=True).order_by("-id")[:100])
