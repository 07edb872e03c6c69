"""Reads what the rules need of one case or of many, in a few queries however many there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import connection
from django.db.models import F
from django.db.models.expressions import RawSQL
from django.db.models.lookups import IsNull

from notifications.models import Intent, LogEntry, Prepared, Question
from notifications.states import EntryKind
from reviews import evidence, holds
from reviews.situation import Situation, situation_of

# Attempts say something only beside an answer, or a request, that stands before or behind them.
_ATTEMPTS: Final = (EntryKind.CLAIMED, EntryKind.RESULT)
_BESIDE: Final = (EntryKind.EVIDENCE, EntryKind.RESEND_ASKED)
_FEW: Final = tuple(kind for kind in evidence.KINDS if kind not in _ATTEMPTS)

_BARRED: Final = """
SELECT id, coalesce(restored, ''), coalesce(earlier, '') FROM notifyops_private.barred_many_v1(%s::bigint[], %s)
"""
# A case that has more to look through costs 3 ms there; a statement of a page has a second, on a loaded machine too.
_ASKED_AT_ONCE: Final = 200


def situations(intents: Sequence[Intent]) -> dict[int, Situation]:
    """Give what the rules need, by intent."""
    ids = [intent.pk for intent in intents]
    log = _log(intents)
    questions = {question.intent_id: question for question in Question.objects.filter(intent_id__in=among(ids))}
    generations = {intent.pk: intent.generation for intent in intents}
    bodies = {
        intent_id: (mode, erased)
        for intent_id, generation, mode, erased in Prepared.objects.filter(intent_id__in=among(ids)).values_list(
            "intent_id", "generation", "site_mode", IsNull(F("body"), True)
        )
        if generation == generations[intent_id]
    }
    barred, held = barred_of(ids), holds.of_many(ids)
    found = {}
    for intent in intents:
        intent_id = intent.pk
        read = situation_of(intent, log.get(intent_id, ()), questions.get(intent_id), bodies.get(intent_id))
        if intent_id in barred or intent_id in held:  # few are, and a copy of each costs as much as its reading
            restored, earlier = barred.get(intent_id, ("", ""))
            read = replace(read, barred=restored, earlier=earlier, held=held.get(intent_id))
        found[intent_id] = read
    return found


def among(ids: Sequence[int]) -> RawSQL:
    """Give ids for an `__in` as one parameter: of thousands, each on its own costs more than the query."""
    return RawSQL("SELECT unnest(%s::bigint[])", [list(ids)])


def now() -> datetime:
    """Give the database's time."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT notifyops_private.clock_v1()")
        found: datetime = cursor.fetchone()[0]
    return found


def barred_of(ids: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Give the database's own words: why a restore lets nobody send some of them, and what of them is out already."""
    found: dict[int, tuple[str, str]] = {}
    with connection.cursor() as cursor:
        for start in range(0, len(ids), _ASKED_AT_ONCE):
            cursor.execute(_BARRED, [list(ids[start : start + _ASKED_AT_ONCE]), settings.NOTIFYOPS_SITE_MODE])
            found |= {intent_id: (restored, earlier) for intent_id, restored, earlier in cursor.fetchall()}
    return found


def _log(intents: Sequence[Intent]) -> dict[int, list[LogEntry]]:
    found: dict[int, list[LogEntry]] = defaultdict(list)
    ids, months = [intent.pk for intent in intents], {intent.month for intent in intents}
    few = LogEntry.objects.filter(intent_id__in=among(ids), month__in=months, kind__in=_FEW)
    for entry in few.order_by("intent_id", "seq"):
        found[entry.intent_id].append(entry)
    asked = [intent_id for intent_id, log in found.items() if any(entry.kind in _BESIDE for entry in log)]
    attempts = LogEntry.objects.filter(intent_id__in=among(asked), month__in=months, kind__in=_ATTEMPTS)
    for entry in attempts if asked else ():
        found[entry.intent_id].append(entry)
    for intent_id in asked:
        found[intent_id].sort(key=lambda entry: entry.seq)
    return found
