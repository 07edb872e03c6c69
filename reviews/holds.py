"""Who has taken a case: one row, guarded by one lock for each case. All of it runs in the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import connection
from django.db.models.expressions import RawSQL

from reviews.models import Hold, Presence
from reviews.person import Person

# Long enough to read a case and ask a colleague, short enough that nothing waits for somebody who went to lunch.
TAKEN_FOR: Final = timedelta(minutes=15)
# A page beats every 45 s while somebody works on it: two missed beats, and it counts as left.
PRESENT_FOR: Final = timedelta(minutes=2)
_SILENT_FOR: Final = timedelta(minutes=10)
_LOCK: Final = 7807


@dataclass(frozen=True, slots=True)
class Held:
    """That somebody has taken a case. `by` is the name under which it was taken, `holder` whose it is."""

    by: str
    holder: str
    until: datetime

    def stands(self, now: datetime) -> bool:
        """Whether the time is not over; then the case is free, whatever stands here."""
        return self.until > now

    def keeps_out(self, person: Person, now: datetime) -> bool:
        """Whether the case is another person's now."""
        return self.stands(now) and self.holder != person.identity


def lock(intent_id: int) -> None:
    """Wait until nobody else takes or decides this case, to the end of the transaction.

    A lock of its own, since the web role may not lock intents: without it a case could be taken in the moment in which
    somebody decides it, and both would be told that they were right.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [_LOCK, str(intent_id)])


def lock_many(intent_ids: Iterable[int]) -> None:
    """Do so for each of these cases, always in the same order, so that two batches never wait for each other."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(%s, hashtext(one.id::text)) "
            "FROM (SELECT id FROM unnest(%s::bigint[]) AS given(id) ORDER BY id) one",
            [_LOCK, list(intent_ids)],
        )


def try_lock(intent_id: int) -> bool:
    """Take the case's lock if it is free; False where somebody has it now."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, hashtext(%s))", [_LOCK, str(intent_id)])
        found: bool = cursor.fetchone()[0]
    return found


def of(intent_id: int) -> Held | None:
    """Give who has taken the case, or had until lately."""
    return of_many([intent_id]).get(intent_id)


def of_many(intent_ids: Iterable[int]) -> dict[int, Held]:
    """Give who has taken each of these cases, or had until lately; one query."""
    # One parameter: of thousands, each on its own costs more than the query.
    ids = RawSQL("SELECT unnest(%s::bigint[])", [list(intent_ids)])
    found = Hold.objects.filter(pk__in=ids)
    return {hold.intent_id: Held(hold.taken_by, hold.holder, hold.expires_at) for hold in found}


def write(intent_id: int, person: Person, now: datetime) -> datetime:
    """Make the case this person's; give until when. The caller has the lock, and has looked whose it was."""
    until = now + TAKEN_FOR
    Hold.objects.update_or_create(
        pk=intent_id,
        defaults={"holder": person.identity, "taken_by": person.name, "taken_at": now, "expires_at": until},
    )
    return until


def drop(*intent_ids: int) -> None:
    """Make the cases free."""
    Hold.objects.filter(pk__in=intent_ids).delete()


def beat(intent_id: int, person: Person, now: datetime) -> None:
    """Note that the person has the case's page open, and renew what is theirs; nothing of it stands in any record."""
    mine = Hold.objects.filter(pk=intent_id, holder=person.identity, expires_at__gt=now)
    mine.update(expires_at=now + TAKEN_FOR)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO notifyops_private.reviews_presence (intent_id, person, seen_at) VALUES (%s, %s, %s) "
            "ON CONFLICT (intent_id, person) DO UPDATE SET seen_at = excluded.seen_at",
            [intent_id, person.identity, now],
        )
        # Whoever beats sweeps; what another beat holds is swept by the next one.
        cursor.execute(
            "DELETE FROM notifyops_private.reviews_presence p USING ("
            "SELECT s.intent_id, s.person FROM notifyops_private.reviews_presence s WHERE s.seen_at < %s "
            "LIMIT 50 FOR UPDATE SKIP LOCKED) gone WHERE p.intent_id = gone.intent_id AND p.person = gone.person",
            [now - _SILENT_FOR],
        )


def others_at(intent_id: int, person: Person, now: datetime) -> list[str]:
    """Give who else has the case's page open."""
    seen = Presence.objects.filter(intent_id=intent_id, seen_at__gt=now - PRESENT_FOR).exclude(person=person.identity)
    return list(seen.order_by("person").values_list("person", flat=True))
