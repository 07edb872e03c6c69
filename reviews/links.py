"""What stands in a notification's place, and in whose place it stands: corrected addresses, and newer ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from notifications.models import Intent, IntentKey, LogEntry
from notifications.states import EntryKind, State
from reviews.words import STATES, Badge

_REPLACED_BY = (EntryKind.CLOSED, EntryKind.SUPERSEDED)


@dataclass(frozen=True, slots=True)
class Link:
    """The notification before or after this one. `is_correction`: what lies between is another address."""

    id: int
    key: str
    state: Badge
    is_correction: bool
    is_cancelled: bool


def read(intent: Intent, log: Sequence[LogEntry]) -> tuple[Link | None, Link | None]:
    """Give what it stands in the place of, and what goes on in its place; one query where there is either."""
    key = next((_key(entry) for entry in reversed(log) if entry.kind in _REPLACED_BY and _key(entry)), "")
    if not key and intent.supersedes_id is None:
        return None, None
    newer = IntentKey.objects.filter(key=key, workspace=intent.workspace).values("intent_id")
    found = {one.pk: one for one in Intent.objects.filter(Q(pk=intent.supersedes_id) | Q(pk__in=newer)).defer("head")}
    before = found.pop(intent.supersedes_id, None) if intent.supersedes_id is not None else None
    after = next(iter(found.values()), None)
    return _link(before, is_correction=intent.is_corrected), _link(after, is_correction="~a" in key)


def _key(entry: LogEntry) -> str:
    return str((entry.detail or {}).get("by", ""))


def _link(other: Intent | None, *, is_correction: bool) -> Link | None:
    if other is None:  # archived
        return None
    is_cancelled = other.state == State.CANCELLED
    return Link(other.pk, other.notification_id, STATES[other.state], is_correction, is_cancelled)
