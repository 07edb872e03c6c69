"""What is new for a page that somebody has open: counted here, where permissions are judged, and said in a sentence."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from notifications.models import Intent, LogEntry
from notifications.states import State
from reviews import gone, groups_page, times
from reviews.filters import QueueFilter
from reviews.models import HOLDING, Review
from reviews.person import Person
from reviews.standing import Standing
from reviews.words import ENTRIES, person_name

OWN: Final = frozenset({"of", "since", "stands", "shown"})
# "1,000+": nobody reads so many, and counting on costs the page's second.
CAP: Final = 1000
# A case may commit a little after the clock was read that its page is as of.
_SLACK: Final = timedelta(seconds=1)
_SHOWN: Final = re.compile(r"([0-9]{1,18})\.([0-9]{1,9})")
_MOST_SHOWN: Final = 200
# In these a case's every entry begins or ends in review, so that the stream tells of it; others are asked after.
_HEARD: Final = frozenset({State.NEEDS_REVIEW, State.CLOSED, State.CANCELLED})


class Unreadable(ValueError):
    """The query does not say which page is open, or as of when."""


@dataclass(frozen=True, slots=True)
class Live:
    """What a page tells its script: which one it is, what it shows in which versions, where `show` puts the rest."""

    of: str
    shown: str
    url: str
    target: str
    swap: str = "innerHTML"
    query: str = ""
    # Whether the stream tells of all that concerns the page; else it asks by itself.
    is_heard: bool = True

    @property
    def streams(self) -> str:
        """Give the stream's address."""
        return reverse("reviews:live")


@dataclass(frozen=True, slots=True)
class Asked:
    """Which page is open, as of when, showing what in which version, with which counts in its header."""

    of: str
    since: datetime
    stands: str
    shown: dict[int, int]
    query: QueryDict


def ask_url(live: Live, standing: Standing) -> str:
    """Give the address of the small answer for a page."""
    own = {"of": live.of, "since": standing.now.isoformat(), "stands": standing.key, "shown": live.shown}
    return f"{live.streams}?{urlencode(own)}" + (f"&{live.query}" if live.query else "")


def read_asked(query: QueryDict) -> Asked:
    """Read the query of a small answer. Raises Unreadable."""
    try:
        since = datetime.fromisoformat(query.get("since", ""))
    except ValueError:
        raise Unreadable from None
    of = str(query.get("of"))
    if since.tzinfo is None or of not in _COUNTS:
        raise Unreadable
    pairs = [_SHOWN.fullmatch(word) for word in query.get("shown", "").split()[:_MOST_SHOWN]]
    rest = query.copy()
    for name in OWN:
        rest.pop(name, None)
    shown = {int(pair[1]): int(pair[2]) for pair in pairs if pair}
    return Asked(of, since, query.get("stands", ""), shown, rest)


def read(asked: Asked, standing: Standing, person: Person) -> dict[str, Any]:
    """Give the counts and the sentence; an empty one where nothing is new."""
    new, changed, said = _COUNTS[asked.of](asked, standing, person)
    words = [said] if said else []
    words += [_stands_otherwise(asked.stands, standing)] if asked.stands != standing.key else []
    # Counts go as they are read; what stands behind the cap is not counted.
    found = {"new": min(new, CAP), "changed": changed, "text": _(". ").join(words), "at": f"{standing.now:%H:%M:%S}"}
    left = gone.told(asked.shown) if asked.of == "queue" and changed else []
    return found | ({"left": left} if left else {})


def shown(pairs: Iterable[tuple[int, int]]) -> str:
    """Write what a page shows, by number and version."""
    return " ".join(f"{number}.{version}" for number, version in pairs)


def of_queue(query: QueryDict, found: dict[str, Any]) -> Live:
    """Give the live part of the queue; lists outside of review ask by themselves, what comes into them is not told."""
    rows = [(row.intent.pk, row.intent.seq) for row in found["rows"]]
    plain = query.urlencode()
    url = reverse("reviews:queue") + (f"?{plain}" if plain else "")
    is_heard = found["filters"].is_of_review
    return Live("queue", shown(rows), url, "#queue", query=plain, is_heard=is_heard)


def of_groups(groups: Iterable[groups_page.Group]) -> Live:
    """Give the live part of the groups."""
    return Live("groups", shown(_lines(groups)), reverse("reviews:groups"), "#groups")


def of_watching(pairs: Iterable[tuple[int, int]], whose: str) -> Live:
    """Give the live part of Watching, where attempts matter as well, of which the stream says nothing."""
    url = f"{reverse('reviews:watching')}?who={whose}"
    return Live("watching", shown(pairs), url, "#watched", query=f"who={whose}", is_heard=False)


def of_case(intent: Intent) -> Live:
    """Give the live part of a case."""
    url = reverse("reviews:case", args=[intent.pk])
    is_heard = intent.state in _HEARD
    return Live("case", shown([(intent.pk, intent.seq)]), url, "#case", "outerHTML", is_heard=is_heard)


def _queue(asked: Asked, standing: Standing, person: Person) -> tuple[int, int, str]:
    changed = _changed(asked.shown)
    filters = QueueFilter(asked.query, queryset=Intent.objects.all(), now=standing.now, me=person.identity)
    new = 0
    if filters.is_of_review and filters.readable():
        came = filters.cases().filter(review_since__gt=asked.since - _SLACK).exclude(pk__in=list(asked.shown))
        new = _capped(came.order_by("review_since", "id"))
    return new, changed, _counted(new, changed)


def _groups(asked: Asked, standing: Standing, _person: Person) -> tuple[int, int, str]:
    now = dict(_lines(groups_page.read(standing)["groups"]))
    new = len(now.keys() - asked.shown.keys())
    changed = sum(now.get(line) != count for line, count in asked.shown.items())
    return new, changed, _counted(new, changed)


def _watching(asked: Asked, _standing: Standing, person: Person) -> tuple[int, int, str]:
    changed = _changed(asked.shown)
    made = Review.objects.filter(outcome="done", at__gt=asked.since).exclude(action__in=HOLDING)
    if asked.query.get("who") == "mine":
        made = made.filter(actor=person.name)
    new = _capped(made.order_by("-at"))
    return new, changed, _counted(new, changed)


def _case(asked: Asked, _standing: Standing, _person: Person) -> tuple[int, int, str]:
    if not asked.shown:
        return 0, 0, ""
    number, version = next(iter(asked.shown.items()))
    month = Intent.objects.filter(pk=number).values("month")[:1]
    last = LogEntry.objects.filter(intent_id=number, month=month, seq__gt=version).order_by("-seq").first()
    if last is None:
        return 0, 0, ""
    facts = {
        "who": person_name(last.actor),
        # An age would grow old on a page that stays as it is.
        "at": times.clock(last.at),
        "what": ENTRIES.get(last.kind, last.kind),
    }
    if last.actor:
        return 0, last.seq - version, _("Changed by %(who)s at %(at)s: %(what)s") % facts
    return 0, last.seq - version, _("Changed at %(at)s: %(what)s") % facts


_COUNTS: Final[dict[str, Callable[[Asked, Standing, Person], tuple[int, int, str]]]] = {
    "queue": _queue,
    "groups": _groups,
    "watching": _watching,
    "case": _case,
}


def _changed(known: dict[int, int]) -> int:
    now = dict(Intent.objects.filter(pk__in=list(known)).values_list("pk", "seq"))
    return sum(now.get(number) != version for number, version in known.items())


def _capped(found: QuerySet[Any]) -> int:
    return len(found.values_list("pk")[: CAP + 1])


def _lines(groups: Iterable[groups_page.Group]) -> list[tuple[int, int]]:
    """A group by a number of its own, and how many cases it shows."""
    return [(zlib.crc32(f"{group.code} {group.account_id}".encode()), group.counted) for group in groups]


def _counted(new: int, changed: int) -> str:
    words = []
    if new:
        number = f"{CAP:,}+" if new > CAP else f"{new:,}"
        words.append(_("%(n)s new") % {"n": number})
    if changed:
        words.append(_("%(n)s changed") % {"n": f"{changed:,}"})
    return _(", ").join(words)


def _stands_otherwise(before: str, standing: Standing) -> str:
    """Say what of the header is not so any more, the gravest first."""
    if not standing.workers_alive and not before.startswith("0."):
        return _("No worker is alive.")
    stopped = re.fullmatch(r"\d+\.(\d+)\.\d+", before)
    if stopped and len(standing.circuits) > int(stopped[1]):
        return _("A provider account is not called any more.")
    return _("What the header says has changed.")
