"""What became of the rows that a list still shows: who took them out of review, when, and to what end."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from django.db.models import OuterRef, Subquery
from django.urls import reverse
from django.utils.translation import gettext as _

from notifications.models import Intent, LogEntry
from notifications.states import State
from reviews import times
from reviews.words import ENTRIES, person_name

# More are counted, and found by the log of human actions.
MOST: Final = 5


def told(ids: Iterable[int]) -> list[dict[str, str]]:
    """Give, for those of these cases that have left review, a sentence and the case's address; one query."""
    last = LogEntry.objects.filter(
        intent_id=OuterRef("pk"), month=OuterRef("month"), from_state=State.NEEDS_REVIEW
    ).exclude(to_state=State.NEEDS_REVIEW)
    last = last.order_by("-seq")
    left = Intent.objects.filter(pk__in=list(ids)).exclude(state=State.NEEDS_REVIEW)
    found = left.annotate(
        left_at=Subquery(last.values("at")[:1]),
        left_by=Subquery(last.values("actor")[:1]),
        left_as=Subquery(last.values("kind")[:1]),
    ).order_by("-left_at", "-pk")[:MOST]
    rows = found.values_list("pk", "notification_id", "left_at", "left_by", "left_as")
    return [
        {"text": _said(key, *how), "url": reverse("reviews:case", args=[number])}
        for number, key, *how in rows
        if how[0]
    ]


def _said(key: str, at: datetime, actor: str | None, kind: str) -> str:
    # An age would grow old on a page that stays as it is.
    facts = {"id": key, "who": person_name(actor), "at": times.clock(at), "what": ENTRIES.get(kind, kind)}
    if actor:
        return _("%(id)s: handled by %(who)s at %(at)s (%(what)s)") % facts
    return _("%(id)s: left the queue at %(at)s (%(what)s)") % facts
