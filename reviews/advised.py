"""Reads what the advice on rows of the queue rests on, in the query of the rows themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.contrib.postgres.fields import ArrayField
from django.db.models import (
    BooleanField,
    Case,
    CharField,
    Exists,
    Expression,
    F,
    JSONField,
    OuterRef,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import JSONObject
from django.db.models.lookups import IsNull

from notifications.models import ConfigRevision, Intent, LogEntry, Prepared, Question
from notifications.states import State
from reviews import evidence
from reviews.advice import Advice, advise
from reviews.person import Person
from reviews.reading import barred_of
from reviews.situation import Situation, situation_of

_ENTRY = ("kind", "seq", "attempt", "generation", "outcome", "actor", "from_state", "to_state")


def columns() -> dict[str, Expression]:
    """Give what a row needs to be advised on beside `tell`; each is looked up for cases in review alone."""
    current = Prepared.objects.filter(intent_id=OuterRef("pk"), generation=OuterRef("generation")).order_by()
    asked = Question.objects.filter(intent_id=OuterRef("pk")).order_by()
    log = (
        LogEntry.objects.filter(intent_id=OuterRef("pk"), month=OuterRef("month"), kind__in=evidence.KINDS)
        .order_by()  # sorted here, so that the plan of a page holds no sort
        .values(one=JSONObject(**{name: name for name in _ENTRY}, at="at", ids="detail__ids"))
    )
    since = ConfigRevision.objects.filter(
        account_id=OuterRef("account_id"), at__gt=OuterRef("review_since"), revision__gt=1
    )
    return {
        "told": _in_review(ArraySubquery(log), ArrayField(JSONField())),
        "question_told": _in_review(
            Subquery(
                asked.values(one=JSONObject(asked_at="asked_at", wanted_at="wanted_at", wanted_by="wanted_by"))[:1]
            ),
            JSONField(),
        ),
        "body_mode": _in_review(Subquery(current.values("site_mode")[:1]), CharField()),
        "body_is_erased": _in_review(Subquery(current.values(gone=IsNull(F("body"), True))[:1]), BooleanField()),
        "was_mended": _in_review(Exists(since), BooleanField()),
    }


def _in_review(then: Any, field: Any) -> Case:
    return Case(When(state=State.NEEDS_REVIEW, then=then), default=Value(None), output_field=field)


def tell(rows: Sequence[Intent]) -> None:
    """Add to rows that were read with `columns` what the database alone can say of each; one query for all of them."""
    ids = [row.pk for row in rows if row.state == State.NEEDS_REVIEW]
    told = barred_of(ids)
    for row in rows:
        row.barred, row.earlier = told.get(row.pk, ("", ""))  # type: ignore[attr-defined]  # as annotations are


def advice_on(row: Intent, person: Person, now: datetime) -> Advice:
    """Give the advice on a row that was read with `columns` and told with `tell`."""
    return advise(_situation(row), person, now) if row.state == State.NEEDS_REVIEW else Advice(None)


def _situation(row: Intent) -> Situation:
    told = sorted(getattr(row, "told", None) or (), key=lambda said: int(said["seq"]))
    log = [_entry(row, said) for said in told]
    mode = getattr(row, "body_mode", None)
    body = None if mode is None else (mode, bool(getattr(row, "body_is_erased", False)))
    found = situation_of(row, log, _question(getattr(row, "question_told", None)), body)
    return replace(found, barred=getattr(row, "barred", None) or "", mended=bool(getattr(row, "was_mended", False)))


def _entry(row: Intent, said: Mapping[str, Any]) -> LogEntry:
    facts = {name: said[name] for name in _ENTRY}
    return LogEntry(intent_id=row.pk, at=datetime.fromisoformat(said["at"]), detail={"ids": said["ids"] or []}, **facts)


def _question(said: Mapping[str, Any] | None) -> Question | None:
    if said is None:
        return None
    times = {name: _time(said[name]) for name in ("asked_at", "wanted_at")}
    return Question(wanted_by=said["wanted_by"] or "", **times)


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
