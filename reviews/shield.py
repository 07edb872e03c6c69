"""What the panel “Protection” says: whether the provider has accepted anything under the present key, by the log alone.

A clock matters only while something may be out that nobody has confirmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from notifications.models import Intent, LogEntry
from notifications.policy.windows import protection
from notifications.states import EntryKind, Outcome, State

_ENDS: Final = (EntryKind.RESULT, EntryKind.LEASE_LOST)
_UNCLEAR: Final = (Outcome.UNKNOWN, Outcome.IN_FLIGHT)
# More numbers than this nobody reads.
_MOST_NAMED: Final = 6


@dataclass(frozen=True, slots=True)
class Shield:
    """What the panel says. `at`: since when, or when it was learned. `clock`: where the key's window stands, empty
    where a clock says nothing any more. `earlier`: what is out, or may be, under the keys before.
    """

    accepted: str
    at: datetime | None
    clock: str
    earlier: tuple[str, ...] = ()


def shield(intent: Intent, log: Sequence[LogEntry], now: datetime) -> Shield:
    """Give it for the present generation; `log` is all of the case's, in order."""
    at: datetime | None = None
    outcomes = _outcomes(log, intent.generation)
    settled = _settled(log, intent.generation)
    if Outcome.ACCEPTED in outcomes.values():
        said, clock = _was_accepted(outcomes), ""
    elif settled is not None:
        said, at, clock = _by_whom(settled), settled.at, ""
    elif Outcome.CONFLICT in outcomes.values():
        said, clock = _("an earlier request with this key was accepted, with other content"), ""
    else:
        said, at = _open(intent, log, outcomes)
        clock = protection(intent.safe_until, now).value
    return Shield(said, at, clock, _earlier(log, intent.generation))


def _outcomes(log: Sequence[LogEntry], generation: int) -> dict[int, str | None]:
    """Give what became of each attempt of a generation; None while it runs. A late answer outdoes a lost one."""
    found: dict[int, str | None] = {}
    for entry in log:
        if entry.kind == EntryKind.CLAIMED and entry.generation == generation:
            found[entry.attempt] = None
        elif entry.attempt in found and entry.kind in _ENDS:
            found[entry.attempt] = entry.outcome or Outcome.UNKNOWN
        elif entry.attempt in found and entry.kind == EntryKind.LATE and entry.outcome == Outcome.ACCEPTED:
            found[entry.attempt] = entry.outcome
    return found


def _settled(log: Sequence[LogEntry], generation: int) -> LogEntry | None:
    """Give the entry by which the provider's word was taken for an answer that was lost, about this generation."""
    kinds = (EntryKind.SETTLED, EntryKind.ADOPTED)
    moves = [entry for entry in log if entry.kind in kinds and entry.generation == generation]
    return moves[-1] if moves and (moves[-1].detail or {}).get("generation", generation) == generation else None


def _by_whom(settled: LogEntry) -> str:
    if settled.kind == EntryKind.ADOPTED:
        return _("yes, by the provider's answer, which a person adopted")
    if (settled.detail or {}).get("says"):
        return _("yes: a receipt of the provider says so")
    return _("yes: the provider says so, when asked")


def _was_accepted(outcomes: dict[int, str | None]) -> str:
    numbers = [number for number, outcome in outcomes.items() if outcome == Outcome.ACCEPTED]
    return ngettext("attempt %(n)s was accepted", "attempts %(n)s were accepted", len(numbers)) % {"n": _named(numbers)}


def _open(intent: Intent, log: Sequence[LogEntry], outcomes: dict[int, str | None]) -> tuple[str, datetime | None]:
    """Say what may be out of what nobody has confirmed."""
    unclear = _unclear(outcomes)
    if unclear:
        return _may_be(unclear), intent.first_ambiguous_at
    if intent.first_ambiguous_at is not None:
        return _("an attempt that is not remembered here may have been"), intent.first_ambiguous_at
    if intent.state == State.SENDING:
        return _("attempt %(n)s runs now, and its answer is awaited") % {
            "n": max(outcomes, default=intent.attempt_count)
        }, None
    if not outcomes:
        return _("nothing was sent under this key yet"), None
    return _("none: no attempt was accepted"), None


def _earlier(log: Sequence[LogEntry], generation: int) -> tuple[str, ...]:
    said = []
    for before in range(1, generation):
        outcomes = _outcomes(log, before)
        if Outcome.ACCEPTED in outcomes.values():
            said.append(_was_accepted(outcomes))
        elif _unclear(outcomes):
            said.append(_may_be(_unclear(outcomes)))
    return tuple(said)


def _unclear(outcomes: dict[int, str | None]) -> list[int]:
    return [number for number, outcome in outcomes.items() if outcome in _UNCLEAR]


def _may_be(numbers: list[int]) -> str:
    said = ngettext("attempt %(n)s may have been accepted", "attempts %(n)s may each have been accepted", len(numbers))
    return said % {"n": _named(numbers)}


def _named(numbers: Sequence[int]) -> str:
    begin = "…, " if len(numbers) > _MOST_NAMED else ""
    return begin + ", ".join(str(number) for number in numbers[-_MOST_NAMED:])
