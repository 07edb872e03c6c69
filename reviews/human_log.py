"""All that people did to cases and runs, and what they paused, newest first, refused tries and notes among it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from django.db import connection, transaction
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from reviews import log_sources
from reviews.deed_words import DEEDS, PAUSE_REASONS
from reviews.models import OUTCOMES
from reviews.refusal_words import told
from reviews.refusals import BadReason, Sentence
from reviews.search import MAX_PASTED, matching_ids
from reviews.words import PAUSED, REASONS, STATES, person_name

FIELDS: Final = ("who", "verb", "outcome", "reason", "case", "since", "until")
SIZES: Final = (25, 50, 100)
DEFAULT_SIZE: Final = 50
_EXPORTED_AT_ONCE: Final = 1000
_LAST_DAY: Final = datetime(9999, 12, 30, tzinfo=UTC)
_CURSOR: Final = re.compile(r"([0-9T:.+-]{19,40})_(r|n|p|e)_([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that a person did, or was refused. No address, subject or body stands in these columns.

    About a run as a whole, or a pause: without a case. `bulk_id`: the run that it was said of, or that carried it out.
    `scope` and `name`: what was paused.
    """

    at: datetime
    source: str
    id: int
    intent_id: int | str
    key: str
    actor: str
    action: str
    outcome: str
    refusal: str
    reason_code: str
    reason: str
    before_state: str
    after_state: str
    bulk_id: int | str = ""
    before_known: str = ""
    workspace: str = ""
    scope: str = ""
    name: str = ""

    @property
    def cursor(self) -> str:
        """Give the place behind it."""
        return f"{self.at.isoformat()}_{self.source}_{self.id}"

    @property
    def run(self) -> str:
        """Name the run in bulk that it was said of, or that carried it out."""
        return f"bulk {self.bulk_id}" if self.bulk_id else ""

    @property
    def about(self) -> Sentence | int:
        """Name the case, the run or what was paused."""
        return self.key or self.intent_id or self.run or self.paused

    @property
    def who(self) -> str:
        """Give the name to show."""
        return person_name(self.actor)

    @property
    def what(self) -> Sentence:
        """Give the verb in words."""
        return DEEDS.get(self.action, self.action)

    @property
    def why(self) -> Sentence:
        """Give the reason's words."""
        words = PAUSE_REASONS if self.scope else REASONS
        return words.get(self.reason_code, self.reason_code)

    @property
    def paused(self) -> Sentence:
        """Give what was paused; empty where it is about something else."""
        if not self.scope:
            return ""
        return format_lazy("{what} {name}", what=PAUSED[self.scope], name=self.name or _("(default)"))

    @property
    def why_not(self) -> Sentence:
        """Give what a refusal said."""
        return told(self.refusal, self.action, {"state": self.before_state, "known": self.before_known})

    @property
    def moved(self) -> tuple[Sentence, Sentence] | None:
        """Give the state before and after, where it moved."""
        states = (STATES.get(self.before_state), STATES.get(self.after_state))
        return (states[0].word, states[1].word) if states[0] and states[1] else None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for, read from a query: conditions with names of columns in them, and their values."""

    conditions: tuple[str, ...]
    values: dict[str, Any]


def read_wanted(given: dict[str, str]) -> Wanted:
    """Read the filters; empty ones are left out. Raises BadReason, with the sentence for what is unreadable."""
    conditions, values = list[str](), dict[str, Any]()
    for name in FIELDS:
        value = given.get(name, "").strip()
        if not value:
            continue
        if not value.isprintable():
            raise BadReason(_("A filter holds a character that cannot be printed: type it anew."))
        condition, values[name] = _CONDITIONS[name](value)
        conditions.append(condition)
    return Wanted(tuple(conditions), values)


def _who(value: str) -> tuple[str, Any]:
    # One name, so that the list is a range of an index: whoever came from a terminal is looked for by `cli:olga@host`.
    name = value if value.startswith(("user:", "cli:")) else f"user:{value}"
    return "{who} = %(who)s", name


def _verb(value: str) -> tuple[str, Any]:
    if value not in DEEDS:
        raise BadReason(format_lazy(_("There is no such verb; there are {known}."), known=", ".join(DEEDS)))
    return "{verb} = %(verb)s", value


def _outcome(value: str) -> tuple[str, Any]:
    if value not in OUTCOMES:
        raise BadReason(_("What came of it is “done” or “refused”."))
    return "{outcome} = %(outcome)s", value


def _reason(value: str) -> tuple[str, Any]:
    if value not in REASONS and value not in PAUSE_REASONS:
        known = ", ".join({**REASONS, **PAUSE_REASONS})
        raise BadReason(format_lazy(_("There is no such reason; there are {known}."), known=known))
    return "{reason} = %(reason)s", value


def _case(value: str) -> tuple[str, Any]:
    ids = matching_ids(value)
    if len(ids) > MAX_PASTED:
        raise BadReason(_("More than 200 notifications match: type more of the ID, or paste fewer."))
    return "{case} = ANY (%(case)s)", ids


def _since(value: str) -> tuple[str, Any]:
    return "{at} >= %(since)s", _day(value)


def _until(value: str) -> tuple[str, Any]:
    return "{at} < %(until)s", min(_day(value), _LAST_DAY) + timedelta(days=1)


def _day(value: str) -> datetime:
    try:
        day = date.fromisoformat(value)
    except ValueError:
        raise BadReason(_("A day is written as 2026-11-30, in UTC.")) from None
    return datetime.fromisoformat(f"{day.isoformat()}T00:00:00+00:00")


_CONDITIONS: Final = {
    "who": _who,
    "verb": _verb,
    "outcome": _outcome,
    "reason": _reason,
    "case": _case,
    "since": _since,
    "until": _until,
}


def read_page(wanted: Wanted, after: str, size: int) -> tuple[list[Entry], str]:
    """Give a page and the cursor of the next one, empty at the end. Raises BadReason for a place that is unreadable."""
    conditions, values = list(wanted.conditions), dict(wanted.values)
    if after:
        found = _CURSOR.fullmatch(after)
        if not found or not _is_moment(found[1]):
            raise BadReason(_("The place in the list cannot be read; start at the first page."))
        values |= {"at": found[1], "source": found[2], "place": int(found[3])}
        conditions.append("({at}, '{source}', {id}) < (%(at)s::timestamptz, %(source)s, %(place)s)")
    sql = log_sources.query(conditions)
    with connection.cursor() as cursor:
        cursor.execute(sql, values | {"limit": size + 1})
        rows = [_entry(row) for row in cursor.fetchall()]
    return rows[:size], rows[size - 1].cursor if len(rows) > size else ""


def _is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _entry(row: tuple[Any, ...]) -> Entry:
    given: list[Any] = ["" if value is None else value for value in row]
    return Entry(*given)


def exported(wanted: Wanted, until: datetime) -> Iterator[Entry]:
    """Give everything wanted up to a moment, a thousand at a time, each in a transaction of its own."""
    after = f"{until.isoformat()}_r_{10**18 - 1}"
    while True:
        with transaction.atomic():
            rows, after = read_page(wanted, after, _EXPORTED_AT_ONCE)
        yield from rows
        if not after:
            return
