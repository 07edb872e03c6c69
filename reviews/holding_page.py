"""What a case's page says about who looks after it: read with the case's own row, and shown above it."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import uuid4

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, Subquery

from notifications.models import Intent
from notifications.states import State
from reviews import rules
from reviews.holds import PRESENT_FOR, Held
from reviews.models import HOLDING, Hold, Presence
from reviews.person import Person
from reviews.situation import Situation


def columns(now: datetime) -> dict[str, Any]:
    """Give what the case's own query reads besides, so that holds and presence cost the page no query."""
    hold = Hold.objects.filter(pk=OuterRef("pk")).order_by()
    seen = Presence.objects.filter(intent_id=OuterRef("pk"), seen_at__gt=now - PRESENT_FOR).order_by("person")
    return {
        "held_by": Subquery(hold.values("taken_by")[:1]),
        "held_for": Subquery(hold.values("holder")[:1]),
        "held_until": Subquery(hold.values("expires_at")[:1]),
        "present": ArraySubquery(seen.values("person")),
    }


def held(intent: Intent) -> Held | None:
    """Give who has taken the case, or had until lately, from the columns."""
    until: datetime | None = getattr(intent, "held_until", None)
    return None if until is None else Held(getattr(intent, "held_by", ""), getattr(intent, "held_for", ""), until)


def read(intent: Intent, situation: Situation, person: Person, now: datetime) -> dict[str, Any]:
    """Give the facts of the line above the case."""
    current = situation.held if situation.held is not None and situation.held.stands(now) else None
    is_mine = current is not None and not current.keeps_out(person, now)
    present: list[str] = getattr(intent, "present", [])
    return {
        "held": current,
        "is_mine": is_mine,
        "others": [one for one in present if one != person.identity],
        "hold_verbs": [
            {"verb": verb, "token": str(uuid4())}
            for verb in HOLDING
            # What one has already is renewed by the page itself.
            if rules.missing(verb, situation, person, now) is None and not (verb == "take" and is_mine)
        ],
        "may_take_next": "take" in person.verbs,
        "next_token": str(uuid4()),
        "is_in_review": situation.state == State.NEEDS_REVIEW,
    }
